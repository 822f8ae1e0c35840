import BluetoothATT
import BluetoothPrimitives

/// The state of a procedure after a response.
public enum ProcedureStep<Output> {
    /// The procedure has another request.
    case next
    /// The procedure has its result.
    case done(Output)
}

extension ProcedureStep: Sendable where Output: Sendable {}

/// A GATT client procedure (Core Vol 3 Part G §4), as a value that writes requests and receives responses.
public protocol ClientProcedure: Sendable {
    /// The result of the procedure.
    associatedtype Output: Sendable

    /// Writes the next request into `writer`, whose capacity is the ATT_MTU.
    ///
    /// The owner may call this again for the same request when the channel was congested.
    mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure)

    /// Processes the response to that request.
    ///
    /// - Throws: ``TransactionFailure/refused(_:)`` for an Error Response, ``TransactionFailure/violation(_:)`` for a
    ///   response that violates the specification.
    mutating func receive(_ answer: ATTServerPDU) throws(TransactionFailure)
        -> ProcedureStep<Output>

    /// The violations in the responses so far; the result leaves them out.
    var problems: [DatabaseProblem] { get }

    /// Cancels the procedure; returns whether a final request must be sent to make the server drop its state.
    ///
    /// Called between requests only: at least one request has been sent, and all have been answered.
    mutating func stop() -> Bool
}

extension ClientProcedure {
    /// No problems, by default.
    public var problems: [DatabaseProblem] { [] }

    /// No final request, by default.
    public mutating func stop() -> Bool { false }

    /// The failure for a response that the procedure does not expect.
    func failure(_ answer: ATTServerPDU) -> TransactionFailure {
        if case .errorResponse(let error) = answer { return .refused(error) }
        return .violation("unexpected \(answer.opcode)")
    }
}
