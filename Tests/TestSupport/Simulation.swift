import BluetoothSockets
import BluetoothManagement
import BluetoothSimulation
import Synchronization

/// A peripheral's program that sends back what comes in on connection-oriented channels, at the pace of the other side.
public final class EchoHandler: SimulatedLinkHandler {
    private let waiting = Mutex<[([UInt8], L2CAPChannel)]>([])

    /// An echo for one link.
    public init() {}

    /// Sends a packet of a connection-oriented channel back.
    public func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        guard case .dynamic = channel else { return }
        let bytes = [UInt8](packet)
        waiting.withLock { $0.append((bytes, channel)) }
        writable(link)
    }

    /// Sends what waits, as far as there is room.
    public func writable(_ link: SimulatedLink) {
        while let (packet, channel) = waiting.withLock({ $0.first }) {
            guard link.send(packet, on: channel) != .wouldBlock else { return link.notifyWhenWritable() }
            waiting.withLock { _ = $0.removeFirst() }
        }
    }
}

/// Somebody who says yes to every pairing.
public final class PairingUser: Sendable {
    private struct State {
        var socket: (any PacketSocket)?
        var count = 0
    }

    private let state = Mutex(State())

    /// Answers on a machine for as long as it is kept.
    public init(_ kernel: any BluetoothKernel) async throws {
        try await kernel.onLoop {
            let socket = try kernel.openManagement { [weak self] event in
                if event == .readable { self?.receive() }
            }
            state.withLock { $0.socket = socket }
        }
    }

    /// How often it was asked.
    public var count: Int { state.withLock { $0.count } }

    private func receive() {
        let socket = state.withLock { $0.socket }
        var answer: [UInt8]?
        _ = socket?.receive { packet in
            guard let packet = try? ManagementPacket(decoding: packet),
                case .userConfirmationRequest(let peer, _, _)? = try? ManagementEvent(decoding: packet)
            else { return }
            answer = try? ManagementCommand.userConfirmationReply(peer).packet(for: packet.index)
        }
        guard let answer else { return }
        state.withLock { $0.count += 1 }
        _ = socket?.send(answer)
    }
}
