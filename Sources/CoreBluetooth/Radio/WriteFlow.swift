/// The flow control of writes without response, as the program sees it.
///
/// The program has a number of credits before it has to wait for the ready callback. Only that callback renews them,
/// not the sending of a write: so a program that writes from within its own writes, however fast the link is, comes to
/// an end of its recursion.
struct WriteFlow {
    /// The maximum number of queued writes, for a program that ignores ``canSend``.
    static let limit = 1024

    private let credits: Int
    private var left: Int
    /// The number of writes not yet passed to the kernel.
    private var waiting = 0
    /// Whether the callback that renews the credits is queued.
    private var isRenewing = false

    init(credits: Int) {
        self.credits = max(1, credits)
        left = self.credits
    }

    /// Whether the program may write.
    var canSend: Bool { left > 0 }

    /// Whether the credits may be renewed, now that most of the last writes were sent.
    private var isReady: Bool { left <= 0 && waiting <= credits / 2 }

    /// Queues a write; false when there is no room for it.
    mutating func begin() -> Bool {
        guard waiting < Self.limit else { return false }
        waiting += 1
        left -= 1
        return true
    }

    /// Reverts a write that was not made.
    mutating func cancel() {
        waiting -= 1
        left += 1
    }

    /// Records that a write was sent or failed; returns whether to notify the program.
    mutating func didSend() -> Bool {
        waiting -= 1
        guard isReady, !isRenewing else { return false }
        isRenewing = true
        return true
    }

    /// Renews the credits, on the callback queue; returns whether the program may write now and could not before.
    mutating func renew() -> Bool {
        isRenewing = false
        guard isReady else { return false }
        left = credits - waiting
        return true
    }

    mutating func reset() {
        self = WriteFlow(credits: credits)
    }
}
