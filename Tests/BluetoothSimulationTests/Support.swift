import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothSimulation
import Synchronization
import Testing

/// What arrives, for which a test can wait.
final class Received<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiter: CheckedContinuation<Element, Never>?
    }

    private let state = Mutex(State())

    /// The elements that were not waited for yet.
    var pending: [Element] { state.withLock { $0.elements } }

    func add(_ element: Element) {
        let waiter = state.withLock { state in
            if state.waiter == nil { state.elements.append(element) }
            return state.waiter.take()
        }
        waiter?.resume(returning: element)
    }

    func next() async -> Element {
        await withCheckedContinuation { continuation in
            let element = state.withLock { state -> Element? in
                guard state.elements.isEmpty else { return state.elements.removeFirst() }
                state.waiter = continuation
                return nil
            }
            if let element { continuation.resume(returning: element) }
        }
    }
}

/// The events of a socket.
typealias Tap = Received<SocketEvent>

extension Tap {
    var handler: SocketHandler { { [self] event in add(event) } }
}

/// A socket with its events.
struct Channel {
    let socket: any PacketSocket
    let tap: Tap

    var l2cap: (any L2CAPSocket)? { socket as? any L2CAPSocket }

    @discardableResult
    func send(_ packet: [UInt8]) -> SendOutcome { socket.send(packet.span.bytes) }

    func receive() -> [UInt8]? {
        var packet: [UInt8]?
        _ = socket.receive { packet = [UInt8]($0) }
        return packet
    }

    /// The error with which the socket ends.
    func end() async -> KernelError {
        while true {
            if case .closed(let error) = await tap.next() { return error }
        }
    }

    /// The next packet, or nil when the socket ends first.
    func nextPacket() async -> [UInt8]? {
        while true {
            if let packet = receive() { return packet }
            if case .closed = await tap.next() { return receive() }
        }
    }
}

extension SimulatedKernel {
    func connect(to peer: BluetoothAddress, options: L2CAPOptions = L2CAPOptions()) throws -> Channel {
        let tap = Tap()
        return Channel(
            socket: try connectL2CAP(to: peer, channel: .attribute, from: .zero, options: options, tap.handler),
            tap: tap)
    }

    /// Connects, and waits until the link is up.
    func link(
        to peer: BluetoothAddress, options: L2CAPOptions = L2CAPOptions(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Channel {
        let channel = try connect(to: peer, options: options)
        #expect(await channel.tap.next() == .writable, sourceLocation: sourceLocation)
        return channel
    }

    func hci(_ index: UInt16 = 0, filter: HCISocketFilter = .allEvents) throws -> Channel {
        let tap = Tap()
        let socket = try openHCI(adapter: index, tap.handler)
        try socket.setFilter(filter)
        return Channel(socket: socket, tap: tap)
    }
}

extension Channel {
    /// Sends a command and returns the status of its answer.
    func perform<Command: HCICommand>(_ command: Command) async throws -> HCIStatus {
        #expect(send(try command.packet()) == .sent)
        while let packet = await nextPacket() {
            let event = try HCIEventPacket(decoding: packet.span.bytes)
            if let complete = try event.commandComplete(), complete.opcode == Command.opcode {
                return complete.status ?? .unspecifiedError
            }
            if let status = try event.as(HCICommandStatus.self), status.opcode == Command.opcode {
                return status.status
            }
        }
        throw KernelError("recv", .notConnected)
    }

    /// The data of the next advertising report.
    func nextReportedData() async throws -> [UInt8] {
        while let packet = await nextPacket() {
            guard var reports = try HCIEventPacket(decoding: packet.span.bytes).advertisingReports() else { continue }
            guard let report = try reports.next() else { continue }
            return [UInt8](report.data)
        }
        throw KernelError("recv", .notConnected)
    }
}

/// Answers every packet with the same packet, as soon as there is room, and records its events.
final class Echo: SimulatedLinkHandler {
    let log = Mutex<[String]>([])
    private let waiting = Mutex<[[UInt8]]>([])

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        let packet = [UInt8](packet)
        log.withLock { $0.append(packet.hexadecimal) }
        waiting.withLock { $0.append(packet) }
        writable(link)
    }

    func writable(_ link: SimulatedLink) {
        while let packet = waiting.withLock({ $0.first }) {
            guard link.send(packet) == .sent else { return link.notifyWhenWritable() }
            waiting.withLock { _ = $0.removeFirst() }
        }
    }

    func disconnected(_ link: SimulatedLink, reason: HCIStatus) {
        log.withLock { $0.append("disconnected \(reason.rawValue)") }
    }
}

/// Runs a test with a machine, and a device that answers every packet with the same packet.
func withEcho(
    _ story: @escaping @Sendable (SimulatedRadio, SimulatedKernel, SimulatedPeripheral) async throws -> Void
) async throws {
    let radio = SimulatedRadio()
    let kernel = radio.makeKernel()
    let peripheral = SimulatedPeripheral(on: radio) { _ in Echo() }
    try await radio.run { try await story(radio, kernel, peripheral) }
}

let extendedScan = LESetExtendedScanParameters(le1M: LEScanTiming(type: .active, interval: 0x60, window: 0x60))
