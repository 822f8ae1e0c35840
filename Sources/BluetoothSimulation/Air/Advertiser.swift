import BluetoothPrimitives

/// One source of advertising: the legacy advertising of a device, or an advertising set.
final class Advertiser {
    unowned let node: RadioNode
    /// The advertiser's address.
    var address: BluetoothAddress
    var advertisement: SimulatedAdvertisement
    private var limit: Limit?
    private var next: ScheduledEvent?

    var isEnabled = false {
        didSet {
            guard isEnabled != oldValue else { return }
            node.world.updateAdvertising(of: node)
        }
    }

    /// A limit after which advertising stops.
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

    /// Starts to advertise; after `events` advertising events, if given, it stops and calls `onLimit`.
    func start(events: Int?, onLimit: @escaping () -> Void) {
        limit = events.map { Limit(remainingEvents: $0, onReach: onLimit) }
        isEnabled = true
    }

    /// Whether a central at `address` may connect to this advertiser.
    func isFor(_ address: BluetoothAddress) -> Bool {
        advertisement.isConnectable && (advertisement.target == nil || advertisement.target == address)
    }

    /// Starts or stops the events, depending on whether there is data to send and a listener in range.
    func update(isHeard: Bool) {
        let isSending = isEnabled && isHeard && node.isOnAir
        if !isSending {
            next?.cancel()
            next = nil
        } else if next == nil {
            schedule(after: node.world.randomDuration(below: interval))
        }
    }

    /// The advertising interval, without the random delay.
    private var interval: Duration { max(advertisement.interval, .milliseconds(1)) }

    private func schedule(after delay: Duration) {
        next = node.world.schedule(after: delay) { [unowned self] in
            // Every event is delayed by up to 10 ms, so that two advertisers do not collide for ever (Core Vol 6 Part B
            // §4.4.2.2.1).
            schedule(after: interval + node.world.randomDuration(below: .milliseconds(10)))
            send()
        }
    }

    private func send() {
        let world = node.world
        world.statistics.advertisementsSent += 1
        for _ in 0..<max(1, advertisement.repetitions) {
            for listener in world.listeningNodes
            where listener !== node && listener.isListening && world.isReachable(listener, node) {
                guard !world.happens(world.conditions.advertisementLoss) else { continue }
                listener.hear(self)
                // A listener may have connected, which ends the advertising.
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
