import BluetoothATT
import BluetoothPrimitives

/// An operation on a bearer: it waits for its turn, is sent, and ends once.
///
/// The state machines of the bearer only report that it has ended; whoever drives them calls ``end(_:)``.
public protocol BearerOperation: AnyObject {
    /// Whether no caller waits for the result any more.
    var isAbandoned: Bool { get }

    /// Resumes the caller: with nil the operation has done what it was for.
    func end(_ failure: TransactionFailure?)
}

/// What a transaction needs after an answer.
public enum TransactionStep: Hashable, Sendable {
    /// To send its next request.
    case next
    /// Nothing: it has its result.
    case done
}

/// Requests of one caller that wait for their turn on a bearer, are sent one by one, and receive the answers.
///
/// A caller that gave up leaves an *abandoned* transaction: the request in flight keeps its place until it is answered, so
/// that a late answer never reaches the next caller, and what the peer was made to remember is undone.
public protocol ClientTransaction: BearerOperation {
    /// Writes the request to be sent now into `writer`, whose capacity is the ATT_MTU.
    ///
    /// Called again with the same outcome when the channel was full.
    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure)

    /// Receives the answer to the request sent last: the response that belongs to it, or an Error Response.
    ///
    /// Called for an abandoned transaction, too, which has to know the state of the peer.
    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep

    /// Stops because the caller gave up, and says whether a last request has to be sent to leave the peer as it was.
    ///
    /// Called between requests, and not before the first has been sent; at the end of the bearer also while one is
    /// unanswered.
    func stop() -> TransactionStep
}

/// A notification or an indication of one of our values, encoded when its turn comes.
public protocol ValueUpdate: BearerOperation {
    /// The handle of the characteristic's value.
    var characteristic: AttributeHandle { get }
    /// The value.
    var value: [UInt8] { get }
}

/// A command, which the peer does not answer and which waits for room in the channel.
public protocol CommandMessage: BearerOperation {
    /// Writes the PDU into `writer`, whose capacity is the ATT_MTU.
    func write(into writer: inout ByteWriter) throws(TransactionFailure)
}

/// The operations that have ended, in the order in which they did.
///
/// Mostly there is one at a time, which takes no memory of its own.
struct EndedOperations {
    private var first: EndedOperation?
    private var others = RingBuffer<EndedOperation>()

    mutating func append(_ operation: any BearerOperation, _ failure: TransactionFailure?) {
        let ended = EndedOperation(operation: operation, failure: failure)
        if first == nil { first = ended } else { others.append(ended) }
    }

    mutating func popFirst() -> EndedOperation? {
        guard let ended = first.take() else { return nil }
        if !others.isEmpty { first = others.popFirst() }
        return ended
    }
}

/// An operation that has ended, for its owner to resume the caller.
public struct EndedOperation {
    /// The operation.
    public let operation: any BearerOperation
    /// Why it failed; nil when it did not.
    public let failure: TransactionFailure?
}

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
