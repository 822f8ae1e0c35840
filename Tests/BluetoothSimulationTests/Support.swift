import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothSimulation
import Synchronization
import Testing

/// A recorder of a socket's events, for which a test can wait.
final class Tap: Sendable {
    private struct State {
        var events: [SocketEvent] = []
        var waiter: CheckedContinuation<SocketEvent, Never>?
    }

    private let state = Mutex(State())

    var handler: SocketHandler { { [self] event in record(event) } }

    private func record(_ event: SocketEvent) {
        let waiter = state.withLock { state in
            guard let waiter = state.waiter else {
                state.events.append(event)
                return nil as CheckedContinuation<SocketEvent, Never>?
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: event)
    }

    /// The events that were not waited for yet.
    var pending: [SocketEvent] { state.withLock { $0.events } }

    func next() async -> SocketEvent {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state -> SocketEvent? in
                guard state.events.isEmpty else { return state.events.removeFirst() }
                state.waiter = continuation
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }
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
    func connect(
        to peer: BluetoothAddress, channel: L2CAPChannel = .attribute, from adapter: BluetoothAddress = .zero,
        options: L2CAPOptions = L2CAPOptions()
    ) throws -> Channel {
        let tap = Tap()
        return Channel(
            socket: try connectL2CAP(to: peer, channel: channel, from: adapter, options: options, tap.handler),
            tap: tap)
    }

    /// Connects, and waits until the link is up.
    func link(
        to peer: BluetoothAddress, channel: L2CAPChannel = .attribute, from adapter: BluetoothAddress = .zero,
        options: L2CAPOptions = L2CAPOptions(), sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Channel {
        let channel = try connect(to: peer, channel: channel, from: adapter, options: options)
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

    /// The next advertising report's address, data and properties.
    func nextReport() async throws -> (BluetoothAddress?, [UInt8], AdvertisingReport.Properties) {
        while let packet = await nextPacket() {
            guard var reports = try HCIEventPacket(decoding: packet.span.bytes).advertisingReports() else { continue }
            guard let report = try reports.next() else { continue }
            return (report.address, [UInt8](report.data), report.properties)
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

let extendedScan = LESetExtendedScanParameters(le1M: LEScanTiming(type: .active, interval: 0x60, window: 0x60))
