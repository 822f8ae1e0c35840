import BluetoothATT
import BluetoothPrimitives

/// Where a procedure stands after an answer.
public enum ProcedureStep<Output> {
    /// It has another request to send.
    case next
    /// It has its result.
    case done(Output)
}

extension ProcedureStep: Sendable where Output: Sendable {}

/// A GATT client procedure (Core Vol 3 Part G §4): a value that says what to ask and is told the answers.
public protocol ClientProcedure: Sendable {
    /// What the procedure brings.
    associatedtype Output: Sendable

    /// Writes the request that is to be sent now into `writer`, whose capacity is the ATT_MTU.
    ///
    /// Asked again with the same outcome when the channel was full.
    mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure)

    /// Takes the answer to that request.
    ///
    /// - Throws: ``TransactionFailure/refused(_:)`` when the server refused, ``TransactionFailure/violation(_:)`` when
    ///   the answer cannot be true.
    mutating func receive(_ answer: ATTServerPDU) throws(TransactionFailure)
        -> ProcedureStep<Output>

    /// What in the answers so far cannot be true, and is not in the result.
    var problems: [DatabaseProblem] { get }

    /// Ends before its time; says whether one more request has to be sent so that the server forgets what it was told.
    ///
    /// Called between requests only: the first has been sent, and what was sent has been answered.
    mutating func stop() -> Bool
}

extension ClientProcedure {
    /// Most procedures do not look into what they bring.
    public var problems: [DatabaseProblem] { [] }

    /// Most procedures leave nothing behind.
    public mutating func stop() -> Bool { false }

    /// The failure an answer stands for that is neither the one hoped for nor a meaningful refusal.
    func failure(_ answer: ATTServerPDU) -> TransactionFailure {
        if case .errorResponse(let error) = answer { return .refused(error) }
        return .violation("unexpected \(answer.opcode)")
    }
}

extension ATTServerPDU {
    /// Whether this is an Error Response with `code`.
    func isError(_ code: ATTErrorCode) -> Bool {
        if case .errorResponse(let error) = self { return error.code == code }
        return false
    }
}
