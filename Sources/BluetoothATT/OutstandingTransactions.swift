/// The outstanding transactions of a bearer, of both sides.
public struct OutstandingTransactions: Hashable, Sendable {
    /// Whether the peer has not responded to a request.
    public var isResponseDue = false
    /// Whether the peer has not confirmed an indication.
    public var isConfirmationDue = false
    /// Whether the peer has prepared writes to cancel (Execute Write Request).
    public var isCancellationDue = false
    /// Whether the peer waits for a response or a confirmation from this side.
    public var isPeerWaiting = false
    /// Whether a response or a confirmation has not come in time: nothing that follows is of use
    /// (Core Vol 3 Part F §3.3.3).
    public var isTooLate = false

    /// By default, nothing is outstanding.
    public init(
        isResponseDue: Bool = false, isConfirmationDue: Bool = false, isCancellationDue: Bool = false,
        isPeerWaiting: Bool = false, isTooLate: Bool = false
    ) {
        self.isResponseDue = isResponseDue
        self.isConfirmationDue = isConfirmationDue
        self.isCancellationDue = isCancellationDue
        self.isPeerWaiting = isPeerWaiting
        self.isTooLate = isTooLate
    }

    /// Whether nothing is outstanding.
    public var isEmpty: Bool { self == OutstandingTransactions() }
}
