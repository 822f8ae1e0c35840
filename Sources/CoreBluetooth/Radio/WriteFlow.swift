/// The flow control of writes without response, as the program sees it.
///
/// So many writes may be made before the program has to wait for the ready callback. They are given anew by that
/// callback alone, and not as soon as something was sent: a program that writes from within its own writes, however
/// fast the link takes them, comes to an end of its recursion.
struct WriteFlow {
    /// How many writes may wait, of a program that does not mind ``canSend``.
    static let limit = 1024

    private let credits: Int
    private var left: Int
    /// How many have not been handed to the kernel.
    private var waiting = 0
    /// Whether the callback that gives writes anew is on its way.
    private var isRenewing = false

    init(credits: Int) {
        self.credits = max(1, credits)
        left = self.credits
    }

    /// Whether the program may write.
    var canSend: Bool { left > 0 }

    /// Whether the program may be given writes anew, now that most of the last are gone.
    private var isReady: Bool { left <= 0 && waiting <= credits / 2 }

    /// Takes a write; false when there is no room for it.
    mutating func begin() -> Bool {
        guard waiting < Self.limit else { return false }
        waiting += 1
        left -= 1
        return true
    }

    /// Takes back a write that was not made.
    mutating func cancel() {
        waiting -= 1
        left += 1
    }

    /// The kernel has a write, or it failed; says whether the program has to be told.
    mutating func didSend() -> Bool {
        waiting -= 1
        guard isReady, !isRenewing else { return false }
        isRenewing = true
        return true
    }

    /// Gives writes anew, on the callback queue; says whether the program may write now and could not before.
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
