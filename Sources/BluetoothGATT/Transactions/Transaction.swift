import BluetoothATT
import BluetoothPrimitives

/// An operation on a bearer, which waits for its turn, is sent, and ends once.
///
/// The state machines of the bearer only report the end; their owner calls ``end(_:)``.
public protocol BearerOperation: AnyObject {
    /// Whether no caller waits for the result.
    var isAbandoned: Bool { get }

    /// Resumes the caller, with nil after success.
    func end(_ failure: TransactionFailure?)
}

/// The next step of a transaction after a response.
public enum TransactionStep: Hashable, Sendable {
    /// The transaction has another request.
    case next
    /// The transaction has its result.
    case done
}

/// The requests of one caller, which wait for their turn on a bearer and are sent one by one.
///
/// A caller that gives up leaves an *abandoned* transaction: its outstanding request keeps its place until the
/// response, so that a late response never reaches the next caller, and prepared writes in the peer are cancelled.
public protocol ClientTransaction: BearerOperation {
    /// Writes the next request into `writer`, whose capacity is the ATT_MTU.
    ///
    /// Called again for the same request when the channel was congested.
    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure)

    /// Records that the channel has accepted a request, if that is asked for: what is sent from now on follows it.
    func began()

    /// Processes the response to the last request: the matching response or an Error Response.
    ///
    /// Also called for an abandoned transaction, which must track the state of the peer.
    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep

    /// Stops after the caller gave up; returns whether a last request must be sent to restore the peer's state.
    ///
    /// Called between requests, after the first has been sent; when the bearer ends, also while a request is
    /// outstanding.
    func stop() -> TransactionStep
}

extension ClientTransaction {
    /// Does nothing.
    public func began() {}
}

/// A notification or an indication of a local value, encoded at its turn.
public protocol ValueUpdate: BearerOperation {
    /// The value handle of the characteristic.
    var characteristic: AttributeHandle { get }
    /// The value.
    var value: [UInt8] { get }
}

/// A command, which has no response and waits for room in the channel.
public protocol CommandMessage: BearerOperation {
    /// Writes the PDU into `writer`, whose capacity is the ATT_MTU.
    func write(into writer: inout ByteWriter) throws(TransactionFailure)
}

/// The operations that have ended, in order.
///
/// A single one, the common case, needs no memory allocation.
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

/// An operation that has ended; the owner resumes its caller.
public struct EndedOperation {
    /// The operation.
    public let operation: any BearerOperation
    /// The failure; nil after success.
    public let failure: TransactionFailure?
}

/// The failure of a transaction.
public enum TransactionFailure: Error, Hashable, Sendable {
    /// The server refused the request with an Error Response.
    case refused(ATTError)
    /// The peer violated the protocol as described.
    case violation(String)
    /// The request is invalid as described.
    case invalid(String)
    /// No response came within ``AttributeProtocol/transactionTimeout``; the bearer is unusable.
    case timedOut
    /// The bearer closed before the result.
    case closed
    /// The queue is full with this number of transactions.
    case tooManyWaiting(Int)
    /// The server must not send the value to the peer's client.
    case notSendable(GATTServerError)
}

extension TransactionFailure: CustomStringConvertible {
    /// The failure as text.
    public var description: String {
        switch self {
        case .refused(let error): "\(error)"
        case .violation(let what): "the peer violated the protocol: \(what)"
        case .invalid(let what): what
        case .timedOut: "no response within \(AttributeProtocol.transactionTimeout)"
        case .closed: "the bearer is closed"
        case .tooManyWaiting(let count): "\(count) calls are already waiting"
        case .notSendable(let error): "\(error)"
        }
    }
}
