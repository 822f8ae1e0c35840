/// The outstanding transactions of both sides of a bearer.
public struct OutstandingTransactions: Hashable, Sendable {
    /// The request to which the peer owes a response; nil for none.
    public var request: ATTOpcode?
    /// Whether the peer owes a confirmation of an indication.
    public var isConfirmationDue: Bool
    /// Whether the peer holds prepared writes that must be cancelled with an Execute Write Request.
    public var isCancellationDue: Bool
    /// Whether the peer waits for a response or a confirmation from this side.
    public var isPeerWaiting: Bool
    /// Whether a transaction timed out, after which the bearer must not be used (Core Vol 3 Part F §3.3.3).
    public var hasTimedOut: Bool

    /// The given transactions; none by default.
    public init(
        request: ATTOpcode? = nil, isConfirmationDue: Bool = false, isCancellationDue: Bool = false,
        isPeerWaiting: Bool = false, hasTimedOut: Bool = false
    ) {
        self.request = request
        self.isConfirmationDue = isConfirmationDue
        self.isCancellationDue = isCancellationDue
        self.isPeerWaiting = isPeerWaiting
        self.hasTimedOut = hasTimedOut
    }

    /// Records that this side has sent a PDU.
    package mutating func sent(_ opcode: ATTOpcode) {
        switch opcode.type {
        case .request: request = opcode
        case .indication: isConfirmationDue = true
        case .command, .response, .notification, .confirmation: break
        }
    }

    /// Records a response or a confirmation from the peer. Those that match nothing are strays, as on an open bearer; an
    /// Error Response that is too short to name its request answers it.
    package mutating func receive(_ pdu: RawSpan) {
        guard let opcode = ATTOpcode(of: pdu) else { return }
        switch opcode {
        case .handleValueConfirmation: isConfirmationDue = false
        case .errorResponse:
            let named = ATTOpcode(of: pdu.extracting(droppingFirst: 1))
            if named == nil || named == request { request = nil }
        default: if opcode == request?.answer { request = nil }
        }
    }

    /// Whether the peer owes a response or a confirmation.
    package var isAnswerDue: Bool { request != nil || isConfirmationDue }

    /// Whether nothing is outstanding.
    public var isEmpty: Bool { self == OutstandingTransactions() }
}
