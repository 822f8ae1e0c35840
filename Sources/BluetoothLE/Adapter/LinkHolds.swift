import BluetoothKernel
import BluetoothPrimitives

/// What keeps links that have no connection any more: connection-oriented channels of this program, because of which the
/// kernel does not end them, and attribute channels on which something is outstanding.
struct LinkHolds {
    private struct Channel {
        weak var socket: (any L2CAPSocket)?
    }

    private var channels: [UInt64: Channel] = [:]
    private var lastNumber: UInt64 = 0
    private(set) var drains: [ObjectIdentifier: BearerDrain] = [:]

    fileprivate mutating func add(_ socket: any L2CAPSocket) -> UInt64 {
        lastNumber += 1
        channels[lastNumber] = Channel(socket: socket)
        return lastNumber
    }

    fileprivate mutating func remove(_ number: UInt64) { channels[number] = nil }

    fileprivate mutating func add(_ drain: BearerDrain) { drains[ObjectIdentifier(drain)] = drain }

    fileprivate mutating func remove(_ drain: BearerDrain) { drains[ObjectIdentifier(drain)] = nil }

    /// Whether a channel of this program keeps the link to the device that goes by these addresses.
    func keepLink(to peers: Set<BluetoothAddress>) -> Bool {
        channels.values.contains { $0.socket.map { peers.contains($0.peer) } ?? false }
    }
}

/// A channel's claim on the link it is on; dropping it gives it up.
final class LinkClaim: Sendable {
    private let controller: LoopBound<Controller>
    private let loop: EventLoop
    private let number: UInt64

    fileprivate init(_ controller: Controller, _ number: UInt64) {
        loop = controller.loop
        self.controller = LoopBound(controller, on: loop)
        self.number = number
    }

    deinit {
        loop.execute { [controller, number] in controller.value.claimEnds(number) }
    }
}

extension Controller {
    /// A channel of this program keeps its link from now on, until it drops the claim.
    func claimLink(of channel: any L2CAPSocket) -> LinkClaim {
        let number = holds.add(channel)
        channelsChanged()
        return LinkClaim(self, number)
    }

    fileprivate func claimEnds(_ number: UInt64) {
        holds.remove(number)
        channelsChanged()
    }

    private func channelsChanged() {
        for drain in holds.drains.values { drain.channelsChanged() }
    }

    /// Something is outstanding on a link that has lost its connection; ``drainEnds(_:)`` follows.
    func drainBegins(_ drain: BearerDrain) {
        holds.add(drain)
        followLinks()
    }

    /// Nothing is outstanding any more, or the link has ended.
    func drainEnds(_ drain: BearerDrain) {
        holds.remove(drain)
        closeIfIdle()
    }
}
