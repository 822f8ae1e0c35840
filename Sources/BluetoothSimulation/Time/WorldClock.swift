import BluetoothLoop

/// The time of a simulation: the present moment, the pending events, and the timer that executes them.
struct WorldClock {
    private(set) var now = KernelInstant(nanoseconds: 0)
    var events = EventQueue()
    /// The timer that runs the simulation on the loop.
    var timer: LoopTimer?
    /// The moment the timer is set for.
    private var armedFor: KernelInstant?

    /// Advances to `moment`, never back.
    mutating func advance(to moment: KernelInstant) {
        now = max(moment, now)
    }

    /// Sets the timer for the next event, or at once.
    mutating func arm(atOnce: Bool) {
        let next = atOnce ? now : events.nextMoment()
        guard next != armedFor else { return }
        armedFor = next
        if let next { timer?.set(at: next) } else { timer?.cancel() }
    }

    /// Records that the timer has fired.
    mutating func fired() {
        armedFor = nil
    }
}
