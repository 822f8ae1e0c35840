/// A change that is made once at a time, and once more if it was asked for again meanwhile, with those who wait for it.
///
/// A change that is under way may have taken what it needs already, so a caller that asks then waits for the next one.
struct SerializedChange<Waiter> {
    private enum State {
        case idle
        case running([Waiter])
        case outdated([Waiter], next: [Waiter])
    }

    private var state = State.idle

    var isIdle: Bool {
        if case .idle = state { return true }
        return false
    }

    /// Asks for the change. Returns whether it is to begin at once; if not, ``finish()`` says when it does.
    mutating func request(for waiters: [Waiter]) -> Bool {
        switch state {
        case .idle:
            state = .running(waiters)
            return true
        case .running(let current): state = .outdated(current, next: waiters)
        case .outdated(let current, let next): state = .outdated(current, next: next + waiters)
        }
        return false
    }

    /// Ends the change under way. Returns those who waited for it, and whether it is to begin again.
    mutating func finish() -> (waiters: [Waiter], beginsAgain: Bool) {
        switch state {
        case .idle: return ([], false)
        case .running(let waiters):
            state = .idle
            return (waiters, false)
        case .outdated(let waiters, let next):
            state = .running(next)
            return (waiters, true)
        }
    }
}
