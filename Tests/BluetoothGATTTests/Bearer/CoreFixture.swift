import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// The owner of a bearer's core, with a scripted channel.
final class CoreFixture {
    /// The channel's result for a packet.
    enum Socket { case takes, takesAnswers, isFull }

    var core: ATTBearerCore
    var database: AttributeDatabase
    var channel = Socket.takes
    private var writer = ByteWriter(growingTo: 517)
    let endings = Endings()
    /// The core's steps since the last query, one line each.
    private var steps: [String] = []
    /// The packets that the channel accepted.
    private(set) var sent: [String] = []
    /// The events for the program.
    private(set) var events: [GATTServerEvent] = []

    /// A bearer with the services of ``ServerFixture``, whose battery level can also be indicated.
    init(isEnhanced: Bool = false, waitingLimit: Int = 1024) throws {
        var services = ServerFixture.services
        services[1].characteristics[0].properties.insert(.indicate)
        database = try AttributeDatabase(services)
        core = ATTBearerCore(server: GATTServer(), isEnhanced: isEnhanced, waitingLimit: waitingLimit)
    }

    /// Performs all steps; returns their descriptions.
    @discardableResult
    func run() -> [String] {
        while let step = core.next(into: &writer) {
            switch step {
            case .send: send()
            case .encodeValue: if core.encodeValue(database: database, into: &writer) { send() }
            case .end(let ended): ended.operation.end(ended.failure)
            case .began:
                _ = core.takeBegun()
                steps.append("began")
            case .clientChanged: steps.append("client changed")
            case .setTimer(let timer, let isOn): steps.append("\(timer) timer \(isOn ? "on" : "off")")
            case .setReading(let isOn): steps.append("reading \(isOn ? "on" : "off")")
            case .close(let failure):
                steps.append("close")
                _ = core.close(failure)
            }
        }
        defer { steps = [] }
        return steps
    }

    /// Lets the channel accept packets again; returns the descriptions of the core's steps.
    func becomeWritable() -> [String] {
        channel = .takes
        core.channelIsWritable()
        return run()
    }

    private func send() {
        let pdu = writer.bytes.hexadecimal
        switch channel {
        case .takesAnswers where ![.response, .confirmation].contains(ATTOpcode(writer.bytes[0]).type):
            steps.append("held")
            core.channelHolds()
        case .takes, .takesAnswers:
            sent.append(pdu)
            steps.append(pdu)
            core.didSend()
        case .isFull:
            steps.append("full")
            core.channelIsFull()
        }
    }

    /// Receives a packet; returns the descriptions of the core's steps.
    @discardableResult
    func receive(_ text: String) -> [String] {
        let bytes = hex(text)
        let opcode = ATTOpcode(bytes.first ?? 0)
        if opcode.isSentByClient, opcode != .handleValueConfirmation {
            events = core.receive(bytes.span.bytes, database: &database)
        } else {
            do {
                if let pdu = try core.receive(bytes.span.bytes) { steps.append("\(pdu.opcode)") }
            } catch {
                steps.append("malformed")
            }
        }
        return run()
    }

    /// Sends a command ahead of the queue, if possible.
    func command(_ value: [UInt8]) -> Bool {
        guard core.encodeCommand(value.span.bytes, to: 3, into: &writer) else { return false }
        send()
        return true
    }

    @discardableResult
    func read(
        _ handle: AttributeHandle, _ name: String = "read", reportsBeginning: Bool = false
    ) -> TestRequest<ValueRead> {
        let request = TestRequest(ValueRead(handle), name, endings)
        core.submit(request, reportsBeginning: reportsBeginning)
        return request
    }

    @discardableResult
    func submitCommand(_ value: String, _ name: String = "command") -> TestMessage {
        let message = TestMessage(value, "sent", name, endings)
        core.submit(message as any CommandMessage)
        return message
    }

    @discardableResult
    func notify(_ value: String, of handle: AttributeHandle = 6, _ name: String = "notification") -> TestMessage {
        let message = TestMessage(value, "sent", name, endings, of: handle)
        core.notify(message)
        return message
    }

    @discardableResult
    func indicate(_ value: String, of handle: AttributeHandle = 6, _ name: String = "indication") -> TestMessage {
        let message = TestMessage(value, "confirmed", name, endings, of: handle)
        core.indicate(message)
        return message
    }

    /// Answers the pending read.
    func answer(_ value: [UInt8]) {
        guard case .readRequested? = events.first else { return }
        events = core.answer(events.first, with: .success(value), database: &database)
    }

    /// Accepts the pending write.
    func accept() {
        guard case .writeRequested? = events.first else { return }
        events = core.answer(events.first, with: .success([]), database: &database)
    }

    /// Reports a change of local attributes.
    func change(_ start: AttributeHandle, _ end: AttributeHandle) {
        core.databaseChanged(
            in: AttributeHandleRange(start: start, end: end), database, serviceChanged: 0xFFFE)
    }

    func giveUp() { events = core.answer(nil, with: .failure(.unlikelyError), database: &database) }

    func timeOut() { core.timedOut() }
}
