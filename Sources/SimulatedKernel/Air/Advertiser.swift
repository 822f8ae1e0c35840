import BluetoothKernel
import BluetoothPrimitives
import HCI

/// Something a device advertises: one legacy advertisement or one advertising set.
final class Advertiser {
    unowned let node: RadioNode
    var address: BluetoothAddress
    /// Without its address on the air.
    var isAnonymous = false
    var isConnectable = true
    var isScannable = true
    /// Legacy PDUs, which every scanner hears; others only extended scanners do.
    var isLegacy = true
    /// For whom a directed advertisement is.
    var target: BluetoothAddress?
    var data: [UInt8] = []
    var scanResponse: [UInt8] = []
    var setIdentifier: UInt8 = 0
    var primaryPHY = LEPHY.le1M
    var secondaryPHY = LEPHY.le1M
    var transmitPower: Int8?
    /// The interval of the periodic advertising that belongs to the set, in units of 1.25 ms.
    var periodicInterval: UInt16?
    /// How much of the data scanners get before they lose the rest of the chain.
    var heardByteCount: Int?
    /// From one advertisement to the next, before the random delay.
    var interval = Duration.milliseconds(100)
    /// How many times each advertisement is sent.
    var repetitions = 1
    /// Stops by itself after so many advertisements.
    var remainingEvents: Int?
    /// Called when ``remainingEvents`` are over.
    var onFinish: (() -> Void)?

    var isEnabled = false {
        didSet {
            guard isEnabled != oldValue else { return }
            node.world.updateAdvertising()
        }
    }

    private var next: ScheduledEvent?

    init(node: RadioNode, address: BluetoothAddress) {
        self.node = node
        self.address = address
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
        for _ in 0..<max(1, repetitions) {
            for listener in world.nodes
            where listener !== node && listener.isListening && world.isReachable(listener, node) {
                guard !world.happens(world.conditions.advertisementLoss) else { continue }
                listener.hear(self)
                // Whoever heard it may have connected, which ends the advertising.
                guard isEnabled else { return }
            }
        }
        guard let remaining = remainingEvents else { return }
        remainingEvents = max(0, remaining - 1)
        if remaining <= 1 {
            isEnabled = false
            onFinish?()
        }
    }
}
