import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// What the owner of an engine does, without a socket: packets come out and go in as hexadecimal text.
final class Bearer {
    var engine: TransactionEngine {
        didSet { while let ended = engine.nextEnded() { ended.operation.end(ended.failure) } }
    }
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
        let message = TestMessage(value, "sent", name, endings)
        engine.submit(message as any CommandMessage)
        return message
    }

    /// Submits an indication of handle 3.
    @discardableResult
    func indicate(_ value: String, _ name: String = "") -> TestMessage {
        let message = TestMessage(value, "confirmed", name, endings)
        engine.indicate(message)
        return message
    }

    // MARK: The socket

    /// Takes note of the peer's indication.
    func oweConfirmation() { engine.oweConfirmation() }

    /// Hands in a response to the peer's request; says whether it was taken.
    func respond(_ bytes: [UInt8]) -> Bool { engine.respond(bytes) }

    /// What a full socket is offered: nothing changes.
    func offer() -> String? { next().map { _ in writer.bytes.hexadecimal } }

    /// Sends one PDU.
    func sendOne() -> String? {
        guard let outgoing = next() else { return nil }
        engine.didSend(outgoing)
        return writer.bytes.hexadecimal
    }

    /// What is to be sent next, with values encoded.
    private func next() -> TransactionEngine.Outgoing? {
        while let outgoing = engine.nextToSend(into: &writer) {
            do {
                switch outgoing {
                case .indication(let update):
                    try ATTServerPDU.handleValueIndication(update.characteristic, value: update.value.span.bytes)
                        .encode(into: &writer)
                case .notification(let update):
                    try ATTServerPDU.handleValueNotification(update.characteristic, value: update.value.span.bytes)
                        .encode(into: &writer)
                case .serviceChanged: try writer.write([0x1D, 0x09, 0, 1, 0, 0xFF, 0xFF])
                case .confirmation, .response, .request, .command: break
                }
                return outgoing
            } catch {
                engine.drop(outgoing, .invalid("\(error)"))
            }
        }
        return nil
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
    private var output: Procedure.Output?

    init(_ procedure: Procedure, _ name: String, _ endings: Endings) {
        self.procedure = procedure
        self.name = name
        self.endings = endings
    }

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try procedure.writeRequest(into: &writer)
    }

    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep {
        if givesUpWhileReceiving { isAbandoned = true }
        guard case .done(let output) = try procedure.receive(answer) else { return .next }
        self.output = output
        return .done
    }

    func stop() -> TransactionStep { procedure.stop() ? .next : .done }

    func end(_ failure: TransactionFailure?) {
        if let failure {
            if !isAbandoned { self.failure = failure }
            end(BluetoothGATTTests.ending(failure))
        } else if let output {
            end(BluetoothGATTTests.ending(output))
        } else {
            Issue.record("a request without an answer")
        }
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
final class TestMessage: CommandMessage, ValueUpdate {
    let characteristic: AttributeHandle
    let value: [UInt8]
    /// How it ends when nothing fails.
    private let success: String
    private let name: String
    private let endings: Endings
    var isAbandoned = false
    /// What the caller was told.
    private(set) var ending: String?

    init(
        _ text: String, _ success: String, _ name: String, _ endings: Endings, of characteristic: AttributeHandle = 3
    ) {
        self.characteristic = characteristic
        value = hex(text)
        self.success = success
        self.name = name
        self.endings = endings
    }

    func write(into writer: inout ByteWriter) throws(TransactionFailure) {
        do { try writer.write([0x52, 3, 0] + value) } catch { throw .invalid("\(error)") }
    }

    func end(_ failure: TransactionFailure?) {
        guard !isAbandoned else { return }
        #expect(ending == nil, "a caller is told once")
        ending = failure.map(BluetoothGATTTests.ending) ?? success
        isAbandoned = true
        endings.add(name, ending ?? "")
    }
}
