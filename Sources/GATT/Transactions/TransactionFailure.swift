import ATT

/// Why a transaction did not bring what it was for.
public enum TransactionFailure: Error, Hashable, Sendable {
    /// The server refused with an Error Response.
    case refused(ATTError)
    /// The peer broke the protocol, in the words given.
    case violation(String)
    /// The request cannot be made from what the caller gave, in the words given.
    case invalid(String)
    /// No answer came within ``AttributeProtocol/transactionTimeout``; the bearer is of no use any more.
    case timedOut
    /// The bearer ended first.
    case closed
    /// So many transactions were waiting already.
    case tooManyWaiting(Int)
    /// The peer's client may not be sent the value.
    case notSendable(GATTServerError)
}

extension TransactionFailure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .refused(let error): "\(error)"
        case .violation(let what): "the peer broke the protocol: \(what)"
        case .invalid(let what): what
        case .timedOut: "no answer within \(AttributeProtocol.transactionTimeout)"
        case .closed: "the bearer is closed"
        case .tooManyWaiting(let count): "\(count) calls are waiting already"
        case .notSendable(let error): "\(error)"
        }
    }
}
