import BluetoothLoop

/// The connection events of a link: when they happen, and what is received in them.
///
/// An idle link has none. In an event, the exchanges up to the next one that completes a message are computed at once,
/// since nothing of them can be observed; if a side gets something to send before, those that have not begun are
/// discarded and computed again. So there is one moment for each message and not one for each packet.
//
// Holds more than ten variables: an event computed in advance is discarded together with all that follows from it.
final class ConnectionEvents {
    private unowned let link: SimulatedConnection
    private var anchor: KernelInstant
    /// The next event.
    private var next: ScheduledEvent?
    /// The current event, or the last one.
    private var event: ConnectionEvent
    /// The rules of the current event.
    private var rules = ConnectionEvent.Rules()
    /// The anchor point of the current event; nil between events.
    private var start: KernelInstant?
    /// The state before each computed exchange.
    private var computed: [ConnectionEvent] = []
    /// What the computed exchanges are based on.
    private var central = ConnectionEvent.Backlog()
    private var peripheral = ConnectionEvent.Backlog()
    /// What follows from the computed exchanges.
    private var pending: [ScheduledEvent] = []
    /// The number of the next event to which the peripheral listens, counted from the anchor point.
    private var listening = 0

    init(link: SimulatedConnection) {
        self.link = link
        anchor = link.world.now
        event = ConnectionEvent(interval: 0)
    }

    private var world: World { link.world }
    private var intervalNanoseconds: Int64 { link.parameters.intervalDuration.clampedNanoseconds }

    // MARK: Events

    /// Schedules what has to happen: a side has something to send, or the link has come into range. An idle link costs
    /// nothing.
    func update() {
        if let start { return recompute(elapsed: start.duration(to: world.now).clampedNanoseconds) }
        guard link.canExchange, link.hasWork else { return }
        let moment = anchor(after: world.now)
        if let next {
            // A sleeping peripheral wakes up earlier as soon as it has something to send.
            guard moment < next.moment else { return }
            next.cancel()
        }
        next = world.schedule(at: moment) { [link] in link.events.begin(at: moment) }
    }

    /// Stops: the link is out of range or down. What has not been received is sent again.
    func stop() {
        next?.cancel()
        next = nil
        guard let start else { return }
        let elapsed = start.duration(to: world.now).clampedNanoseconds
        event = computed.last { Int64($0.time) * 1000 <= elapsed } ?? computed.first ?? event
        cancelPending()
        self.start = nil
    }

    /// Begins the count of events anew: other connection parameters have come into effect, with one event after the
    /// new interval.
    func restart() {
        stop()
        anchor = world.now
        listening = 0
        update()
    }

    /// The anchor point of the event `count` after the current one, at which a Link Layer procedure takes effect.
    func instant(after count: Int) -> KernelInstant {
        let number = (world.now.nanoseconds &- anchor.nanoseconds) / intervalNanoseconds + Int64(count)
        return anchor.advanced(by: .nanoseconds(number * intervalNanoseconds))
    }

    /// The first anchor point after `moment` at which there is an exchange. With peripheral latency the peripheral may
    /// sleep as long as it has nothing to send (Core Vol 6 Part B §4.5.1).
    private func anchor(after moment: KernelInstant) -> KernelInstant {
        let following = (moment.nanoseconds &- anchor.nanoseconds) / intervalNanoseconds + 1
        var number = following
        let period = Int64(link.parameters.latency) + 1
        if period > 1, !link.peripheralHasWork {
            let first = Int64(listening)
            number = first + max(0, following - first + period - 1) / period * period
        }
        return anchor.advanced(by: .nanoseconds(number * intervalNanoseconds))
    }

    private func begin(at moment: KernelInstant) {
        next = nil
        guard link.canExchange else { return }
        start = moment
        // What changes during an event counts from the next one on.
        rules = link.rules
        event = ConnectionEvent(
            interval: Int(intervalNanoseconds / 1000), central: event.central, peripheral: event.peripheral)
        proceed()
    }

    private func finish() {
        guard let start else { return }
        cancelPending()
        self.start = nil
        // After data the peripheral listens until it is acknowledged.
        let number = (start.nanoseconds &- anchor.nanoseconds) / intervalNanoseconds
        listening = Int(number) + (event.peripheralAwaitsAcknowledgement ? 1 : Int(link.parameters.latency) + 1)
        link.eventFinished()
        update()
    }

    // MARK: Exchanges

    /// Computes the exchanges from the next one on until one completes a message or closes the event.
    private func proceed() {
        cancelPending()
        link.exchangeBegins()
        (central, peripheral) = (link.central.backlog, link.peripheral.backlog)
        let loss = world.conditions.packetLoss
        while true {
            computed.append(event)
            let completion = event.exchange(
                central: central, peripheral: peripheral, rules, isLost: { world.happens(loss) })
            guard let completion else {
                return computed.count == 1 ? finish() : at(event.time) { $0.finish() }
            }
            let (first, second) = (completion.centralMessage, completion.peripheralMessage)
            if let first {
                at(first) { $0.received(fromCentral: true, end: second == nil ? completion.end : nil) }
            }
            if let second { at(second) { $0.received(fromCentral: false, end: completion.end) } }
            if first != nil || second != nil { return }
            if event.isClosed { return at(completion.end) { $0.finish() } }
        }
    }

    /// Discards the computed exchanges that have not begun, and computes them again, if there is something else to send.
    private func recompute(elapsed: Int64) {
        guard
            link.isTerminationUnsent || central != link.central.backlog || peripheral != link.peripheral.backlog,
            let first = computed.first(where: { Int64($0.time) * 1000 > elapsed })
        else { return }
        event = first
        proceed()
    }

    /// Delivers a message. After the last one of an exchange, which ends at `end`, the next exchange is computed: a
    /// reaction to the message comes in time to change it.
    private func received(fromCentral isCentral: Bool, end: Int?) {
        // An interruption must not send it again.
        if let last = computed.indices.last { computed[last].adopt(isCentral, from: event) }
        link.receive(isCentral)
        guard let end, start != nil else { return }
        if !event.isClosed {
            proceed()
        } else if link.isTerminating {
            at(end) { $0.finish() }
        } else {
            finish()
        }
    }

    private func at(_ time: Int, _ action: @escaping (ConnectionEvents) -> Void) {
        guard let start else { return }
        pending.append(world.schedule(at: start.advanced(by: .microseconds(time))) { [link] in action(link.events) })
    }

    private func cancelPending() {
        computed.removeAll(keepingCapacity: true)
        for event in pending { event.cancel() }
        pending.removeAll(keepingCapacity: true)
    }
}
