import BluetoothSockets
import BluetoothPrimitives

/// Something a device advertises: one legacy advertisement or one advertising set.
final class Advertiser {
    unowned let node: RadioNode
    /// The address on the air.
    var address: BluetoothAddress
    var advertisement: SimulatedAdvertisement
    private var limit: Limit?
    private var next: ScheduledEvent?

    var isEnabled = false {
        didSet {
            guard isEnabled != oldValue else { return }
            node.world.updateAdvertising()
        }
    }

    /// Advertising that stops by itself.
    private struct Limit {
        var remainingEvents: Int
        let onReach: () -> Void
    }

    init(
        node: RadioNode, address: BluetoothAddress,
        advertisement: SimulatedAdvertisement = SimulatedAdvertisement()
    ) {
        self.node = node
        self.address = address
        self.advertisement = advertisement
    }

    /// Begins to advertise; after so many advertisements, if any number is given, it stops and calls `onLimit`.
    func start(events: Int?, onLimit: @escaping () -> Void) {
        limit = events.map { Limit(remainingEvents: $0, onReach: onLimit) }
        isEnabled = true
    }

    /// Whether a central at `address` may connect to what is advertised.
    func isFor(_ address: BluetoothAddress) -> Bool {
        advertisement.isConnectable && (advertisement.target == nil || advertisement.target == address)
    }

    /// Starts or stops, by whether there is something to send and somebody who might hear it.
    func update(isHeard: Bool) {
        let isSending = isEnabled && isHeard && node.isOnAir
        if !isSending {
            next?.cancel()
            next = nil
        } else if next == nil {
            schedule(after: node.world.randomDuration(below: interval))
        }
    }

    /// From one advertisement to the next, before the random delay.
    private var interval: Duration { max(advertisement.interval, .milliseconds(1)) }

    private func schedule(after delay: Duration) {
        next = node.world.schedule(after: delay) { [unowned self] in
            // Every event is delayed by up to 10 ms, so that two advertisers do not collide for ever
            // (Core Vol 6 Part B §4.4.2.2.1).
            schedule(after: interval + node.world.randomDuration(below: .milliseconds(10)))
            send()
        }
    }

    private func send() {
        let world = node.world
        world.statistics.advertisementsSent += 1
        for _ in 0..<max(1, advertisement.repetitions) {
            for listener in world.nodes
            where listener !== node && listener.isListening && world.isReachable(listener, node) {
                guard !world.happens(world.conditions.advertisementLoss) else { continue }
                listener.hear(self)
                // Whoever heard it may have connected, which ends the advertising.
                guard isEnabled else { return }
            }
        }
        guard let limit else { return }
        self.limit?.remainingEvents -= 1
        guard limit.remainingEvents <= 1 else { return }
        isEnabled = false
        limit.onReach()
    }
}
