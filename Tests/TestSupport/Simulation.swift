import BluetoothSockets
import BluetoothManagement
import BluetoothSimulation
import Synchronization

/// A peripheral's handler that returns the packets of connection-oriented channels, as fast as the peer grants credits.
package final class EchoHandler: SimulatedLinkHandler {
    private let waiting = Mutex<[([UInt8], L2CAPChannel)]>([])

    /// Creates an echo for one link.
    package init() {}

    /// Returns a packet of a connection-oriented channel.
    package func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        guard case .dynamic = channel else { return }
        let bytes = [UInt8](packet)
        waiting.withLock { $0.append((bytes, channel)) }
        writable(link)
    }

    /// Sends queued packets, as far as there is room.
    package func writable(_ link: SimulatedLink) {
        while let (packet, channel) = waiting.withLock({ $0.first }) {
            guard link.send(packet, on: channel) != .wouldBlock else { return link.notifyWhenWritable() }
            waiting.withLock { _ = $0.removeFirst() }
        }
    }
}

/// A user who confirms every pairing.
package final class PairingUser: Sendable {
    private struct State {
        var socket: (any PacketSocket)?
        var count = 0
    }

    private let state = Mutex(State())

    /// Creates a user who answers on a machine until it is released.
    package init(_ kernel: any BluetoothKernel) async throws {
        try await kernel.onLoop {
            let socket = try kernel.openManagement { [weak self] event in
                if event == .readable { self?.receive() }
            }
            state.withLock { $0.socket = socket }
        }
    }

    /// The number of questions.
    package var count: Int { state.withLock { $0.count } }

    private func receive() {
        let socket = state.withLock { $0.socket }
        var answer: [UInt8]?
        _ = socket?.receive { packet in
            guard let packet = try? ManagementPacket(decoding: packet),
                let request = try? packet.as(ManagementUserConfirmationRequest.self)
            else { return }
            answer = try? ManagementUserConfirmationReply(request.address).packet(for: packet.index)
        }
        guard let answer else { return }
        state.withLock { $0.count += 1 }
        _ = socket?.send(answer)
    }
}
