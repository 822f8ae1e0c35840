import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// The owner of an engine, without a channel: packets are exchanged in hexadecimal.
final class Bearer {
    var engine: TransactionEngine {
        didSet { while let ended = engine.nextEnded() { ended.operation.end(ended.failure) } }
    }
    private var writer = ByteWriter(capacity: 23)
    /// The transactions in the order they ended: `name: ending`.
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

    // MARK: The channel

    /// Records an indication of the peer.
    func enqueueConfirmation() { engine.enqueueConfirmation() }

    /// Queues a response to the peer's request; returns whether it was accepted.
    func respond(_ bytes: [UInt8]) -> Bool { engine.respond(bytes.span.bytes) }

    /// The PDU offered to a congested channel; changes nothing.
    func offer() -> String? { next().map { _ in writer.bytes.hexadecimal } }

    /// Sends one PDU.
    func sendOne() -> String? {
        guard let outgoing = next() else { return nil }
        engine.didSend(outgoing)
        return writer.bytes.hexadecimal
    }

    /// The next PDU, with values encoded.
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

    /// Sends all PDUs.
    func send() -> [String] {
        var sent: [String] = []
        while let pdu = sendOne() { sent.append(pdu) }
        return sent
    }

    /// Receives a PDU of the peer's server or a confirmation; returns whether the bearer may stay open.
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
            return engine.receiveMalformedResponse(error, to: bytes.count > 1 ? ATTOpcode(bytes[1]) : nil)
        }
    }
}

/// The order in which operations ended.
final class Endings {
    private(set) var list: [String] = []

    func add(_ name: String, _ ending: String) { list.append("\(name): \(ending)") }
}

/// A procedure with its caller.
final class TestRequest<Procedure: ClientProcedure>: ClientTransaction {
    private var procedure: Procedure
    private let name: String
    private let endings: Endings
    /// Set when the caller gives up, and after it received its result.
    var isAbandoned = false
    /// Whether the caller gives up while the response is received.
    var givesUpWhileReceiving = false
    /// The result that the caller received.
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
        #expect(ending == nil, "a caller receives one result")
        ending = text
        isAbandoned = true
        endings.add(name, text)
    }
}

/// A command or an indication with its caller.
final class TestMessage: CommandMessage, ValueUpdate {
    let characteristic: AttributeHandle
    let value: [UInt8]
    /// The description of success.
    private let success: String
    private let name: String
    private let endings: Endings
    var isAbandoned = false
    /// The result that the caller received.
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
        #expect(ending == nil, "a caller receives one result")
        ending = failure.map(BluetoothGATTTests.ending) ?? success
        isAbandoned = true
        endings.add(name, ending ?? "")
    }
}
