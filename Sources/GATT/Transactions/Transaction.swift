import ATT
import BluetoothPrimitives

/// What a transaction wants after an answer.
public enum TransactionStep: Hashable, Sendable {
    /// To send its next request.
    case next
    /// Nothing: it has ended and told its caller.
    case done
}

/// Requests of one caller that wait for their turn on a bearer, are sent one by one, and are told the answers.
///
/// A caller that gave up is *abandoned*: the request in flight keeps its place until it is answered, so that a late
/// answer never reaches the next caller, and what the peer was made to remember is undone.
public protocol ClientTransaction: AnyObject {
    /// Whether nobody waits for the result any more.
    var isAbandoned: Bool { get }

    /// Writes the request that is to be sent now into `writer`, whose capacity is the ATT_MTU.
    ///
    /// Asked again with the same outcome when the socket was full.
    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure)

    /// Takes the answer to the request sent last: the response that belongs to it, or an Error Response.
    ///
    /// Comes for an abandoned transaction, too, which has to know where the peer stands.
    func receive(_ answer: ATTServerPDU) -> TransactionStep

    /// Takes note that the caller gave up, and tells whether a last request has to be sent to leave the peer as it was.
    ///
    /// Called between requests, and not before the first has been sent; at the end of the bearer also while one is
    /// unanswered.
    func stop() -> TransactionStep

    /// Ends without a result. When an answer could not be understood, ``stop()`` follows.
    func fail(_ failure: TransactionFailure)
}

/// An indication that waits for its turn or its confirmation.
public protocol ServerTransaction: AnyObject {
    /// Whether nobody waits for the confirmation any more.
    var isAbandoned: Bool { get }
    /// Writes the indication into `writer`, whose capacity is the ATT_MTU.
    func writeIndication(into writer: inout ByteWriter) throws(TransactionFailure)
    /// Takes note that the peer confirmed.
    func confirm()
    /// Ends without a confirmation.
    func fail(_ failure: TransactionFailure)
}

/// A PDU that nothing answers – a command or a notification – and that waits for room in the socket.
public protocol UnansweredMessage: AnyObject {
    /// Whether it need not be sent any more.
    var isAbandoned: Bool { get }
    /// Writes the PDU into `writer`, whose capacity is the ATT_MTU.
    func write(into writer: inout ByteWriter) throws(TransactionFailure)
    /// Takes note that the kernel has it.
    func wasSent()
    /// Ends unsent.
    func fail(_ failure: TransactionFailure)
}
