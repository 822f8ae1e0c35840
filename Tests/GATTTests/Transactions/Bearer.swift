import ATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import GATT

/// What the owner of an engine does, without a socket: packets come out and go in as hexadecimal text.
final class Bearer {
    var engine: TransactionEngine
    private var writer = ByteWriter(capacity: 23)
    /// In which order the transactions ended: `name: ending`.
    let endings = Endings()

    init(waitingLimit: Int = 1024) {
        engine = TransactionEngine(waitingLimit: waitingLimit)
    }

    // MARK: Callers

    /// Submits a procedure.
    @discardableResult
    func request<Procedure: ClientProcedure>(
        _ procedure: Procedure, _ name: String = ""
    ) -> TestRequest<Procedure> {
        let request = TestRequest(procedure, name, endings)
        engine.submit(request)
        return request
    }

    @discardableResult
    func read(_ handle: AttributeHandle, _ name: String = "") -> TestRequest<ValueRead> {
        request(ValueRead(handle), name)
    }

    /// Submits a Write Command of one byte to handle 3.
    @discardableResult
    func command(_ value: String, _ name: String = "") -> TestMessage {
        let message = TestMessage("52 0300" + value, name, endings)
        engine.submit(message as any UnansweredMessage)
        return message
    }

    /// Submits an indication of handle 3.
    @discardableResult
    func indicate(_ value: String, _ name: String = "") -> TestMessage {
        let message = TestMessage("1D 0300" + value, name, endings)
        engine.submit(message as any ServerTransaction)
        return message
    }

    // MARK: The socket

    /// Takes note of the peer's indication.
    func oweConfirmation() { engine.oweConfirmation() }

    /// Hands in a response to the peer's request; says whether it was taken.
    func respond(_ bytes: [UInt8]) -> Bool { engine.respond(bytes) }

    /// What a full socket is offered: nothing changes.
    func offer() -> String? {
        engine.nextToSend(into: &writer).map { _ in writer.bytes.hexadecimal }
    }

    /// What kind of PDU a full socket is offered.
    func offeredKind() -> TransactionEngine.Outgoing? { engine.nextToSend(into: &writer) }

    /// Sends one PDU.
    func sendOne() -> String? {
        guard let outgoing = engine.nextToSend(into: &writer) else { return nil }
        engine.didSend(outgoing, writer)
        return writer.bytes.hexadecimal
    }

    /// Sends whatever is to be sent.
    func send() -> [String] {
        var sent: [String] = []
        while let pdu = sendOne() { sent.append(pdu) }
        return sent
    }

    /// Receives a PDU of the peer's server or a confirmation; says whether the bearer may live on.
    @discardableResult
    func receive(_ text: String) -> Bool {
        let bytes = hex(text)
        if bytes == [0x1E] {
            engine.receiveConfirmation()
            return true
        }
        do {
            return engine.receive(try ATTServerPDU(decoding: bytes.span.bytes))
        } catch {
            return engine.receiveMalformedAnswer(error)
        }
    }
}

/// In which order things ended.
final class Endings {
    private(set) var list: [String] = []

    func add(_ name: String, _ ending: String) { list.append("\(name): \(ending)") }
}

/// A procedure with its caller.
final class TestRequest<Procedure: ClientProcedure>: ClientTransaction {
    private var procedure: Procedure
    private let name: String
    private let endings: Endings
    /// Set when the caller gives up; a caller who has been told waits no longer, either.
    var isAbandoned = false
    /// Gives up the moment the answer comes in.
    var givesUpWhileReceiving = false
    /// What the caller was told.
    private(set) var ending: String?
    private(set) var failure: TransactionFailure?

    init(_ procedure: Procedure, _ name: String, _ endings: Endings) {
        self.procedure = procedure
        self.name = name
        self.endings = endings
    }

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try procedure.writeRequest(into: &writer)
    }

    func receive(_ answer: ATTServerPDU) -> TransactionStep {
        if givesUpWhileReceiving { isAbandoned = true }
        do throws(TransactionFailure) {
            guard case .done(let output) = try procedure.receive(answer) else { return .next }
            end(GATTTests.ending(output))
        } catch {
            fail(error)
        }
        return .done
    }

    func stop() -> TransactionStep { procedure.stop() ? .next : .done }

    func fail(_ failure: TransactionFailure) {
        if !isAbandoned { self.failure = failure }
        end(GATTTests.ending(failure))
    }

    private func end(_ text: String) {
        guard !isAbandoned else { return }
        #expect(ending == nil, "a caller is told once")
        ending = text
        isAbandoned = true
        endings.add(name, text)
    }
}

/// A command or an indication with its caller.
final class TestMessage: UnansweredMessage, ServerTransaction {
    private let bytes: [UInt8]
    private let name: String
    private let endings: Endings
    var isAbandoned = false
    private(set) var ending: String?

    init(_ text: String, _ name: String, _ endings: Endings) {
        bytes = hex(text)
        self.name = name
        self.endings = endings
    }

    func write(into writer: inout ByteWriter) throws(TransactionFailure) {
        do { try writer.write(bytes) } catch { throw .invalid("\(error)") }
    }

    func writeIndication(into writer: inout ByteWriter) throws(TransactionFailure) { try write(into: &writer) }

    func wasSent() { end("sent") }

    func confirm() { end("confirmed") }

    func fail(_ failure: TransactionFailure) { end(GATTTests.ending(failure)) }

    private func end(_ text: String) {
        guard !isAbandoned else { return }
        #expect(ending == nil, "a caller is told once")
        ending = text
        isAbandoned = true
        endings.add(name, text)
    }
}
