import BluetoothSockets

/// A world's time: the present moment, what will happen when, and the timer that lets it happen.
struct WorldClock {
    private(set) var now = KernelInstant(nanoseconds: 0)
    private var events = EventQueue()
    /// Runs the world on the loop.
    private var timer: LoopTimer?
    /// For when it is set.
    private var armedFor: KernelInstant?

    mutating func install(_ timer: LoopTimer) {
        self.timer = timer
    }

    /// Moves on to `moment`, never back.
    mutating func advance(to moment: KernelInstant) {
        now = max(moment, now)
    }

    mutating func schedule(at moment: KernelInstant, _ action: @escaping () -> Void) -> ScheduledEvent {
        events.schedule(at: moment, action)
    }

    /// Takes out what is to be done by the earliest event that is due.
    mutating func removeDue() -> (() -> Void)? {
        events.removeDue(at: now)
    }

    /// Sets the timer for what comes next, or at once.
    mutating func arm(atOnce: Bool) {
        let next = atOnce ? now : events.nextMoment()
        guard next != armedFor else { return }
        armedFor = next
        if let next { timer?.set(at: next) } else { timer?.cancel() }
    }

    /// The timer has fired.
    mutating func fired() {
        armedFor = nil
    }
}
