import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives

/// A client procedure with its waiting caller.
final class ProcedureCall<Procedure: ClientProcedure>: ClientTransaction {
    // Not of the output: what is generic in a generic class is not specialised.
    let call = Promise<Void, BluetoothError>()
    private var procedure: Procedure
    /// The output of the procedure, once ``call`` has succeeded.
    private(set) var output: Procedure.Output?
    private let operation: BluetoothError.Operation
    private unowned let bearer: ATTBearer
    /// Receives the sending of a request, and the outcome as it arrives, before any later event.
    private let report: RequestReport?
    /// The time limit of the whole call, as the peer may take 30 s for each request; nil for none.
    private let limit: (duration: Duration, end: KernelInstant)?
    private var timer: LoopTimer?
    /// Whether its first request was written, which waits for other procedures; not whether the channel has taken it.
    private(set) var hasBegun = false

    init(
        _ procedure: Procedure, _ operation: BluetoothError.Operation, on bearer: ATTBearer,
        limit: (duration: Duration, end: KernelInstant)?, _ report: RequestReport? = nil
    ) {
        self.limit = limit
        self.procedure = procedure
        self.operation = operation
        self.bearer = bearer
        self.report = report
    }

    var isAbandoned: Bool { call.isResolved }

    /// The inconsistencies in the peer's responses.
    var problems: [DatabaseProblem] { procedure.problems }

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        hasBegun = true
        try procedure.writeRequest(into: &writer)
    }

    func began() { report?.begin() }

    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep {
        guard case .done(let output) = try procedure.receive(answer) else {
            limitTime(hasResponded: true)
            return .next
        }
        self.output = output
        return .done
    }

    func stop() -> TransactionStep { procedure.stop() ? .next : .done }

    /// Sets the timer of the time limit. Without one, the bearer ends a request that has no response after 30 s.
    func limitTime(hasResponded: Bool = false) {
        guard let limit, timer == nil, !isAbandoned else { return }
        timer = bearer.loop.makeLocalTimer { [call, operation] in
            var error = BluetoothError.timedOut(operation, after: limit.duration)
            if hasResponded {
                error.message = "The peer's responses take more than \(limit.duration.inSeconds) in total."
                error.remedy = "For such a slow peer, allow more time.\nIn code, pass a longer timeout."
            }
            call.fail(error)
        }
        timer?.set(at: limit.end)
    }

    func end(_ failure: TransactionFailure?) {
        timer?.cancel()
        if let failure {
            call.fail(BluetoothError(failure, operation, bearerEnd: bearer.closeReason))
        } else if !call.isResolved {
            if let report, let output { report.answer(output as? [UInt8] ?? []) }
            call.succeed()
        }
    }
}

/// A value with its waiting caller, who is resumed once the host has accepted the Write Command or the notification, or
/// once the indication is confirmed.
final class ValueCall: CommandMessage, ValueUpdate {
    let call = Promise<Void, BluetoothError>()
    let value: [UInt8]
    let characteristic: AttributeHandle
    private let operation: BluetoothError.Operation
    private unowned let bearer: ATTBearer

    init(
        _ value: [UInt8], of characteristic: AttributeHandle, _ operation: BluetoothError.Operation,
        on bearer: ATTBearer
    ) {
        self.value = value
        self.characteristic = characteristic
        self.operation = operation
        self.bearer = bearer
    }

    var isAbandoned: Bool { call.isResolved }

    func write(into writer: inout ByteWriter) throws(TransactionFailure) {
        let value = value
        do {
            try ATTClientPDU.writeCommand(characteristic, value: value.span.bytes).encode(into: &writer)
        } catch {
            throw .invalid(
                "A Write Command has at most \(writer.capacity - 3) bytes of value on this link, not \(value.count).")
        }
    }

    func end(_ failure: TransactionFailure?) {
        call.resolve(failure, operation, bearerEnd: bearer.closeReason)
    }
}

extension Promise where Value == Void, Failure == BluetoothError {
    /// Resumes the caller of an operation that has ended.
    func resolve(
        _ failure: TransactionFailure?, _ operation: BluetoothError.Operation, bearerEnd: BluetoothError?
    ) {
        if let failure {
            fail(BluetoothError(failure, operation, bearerEnd: bearerEnd))
        } else {
            succeed()
        }
    }
}

extension BluetoothError {
    /// Creates the caller's error for a failed transaction, given the reason of the bearer's end, if any.
    init(_ failure: TransactionFailure, _ operation: Operation, bearerEnd: BluetoothError?) {
        switch failure {
        case .refused(let error):
            var operation = operation
            // Of several attributes, the response names the refused one.
            if operation.attribute == nil, error.handle.isValid { operation.attribute = error.handle }
            self.init(
                .attributeProtocol, operation, "The peer refused: \(error.code).", remedy: Self.remedy(error.code),
                cause: .attribute(error.code))
        case .violation(let what):
            self.init(.protocolViolation, operation, "The peer violated the protocol: \(what).")
        case .invalid(let what): self.init(.invalidArgument, operation, what)
        case .timedOut:
            self.init(
                .timedOut, operation,
                "The peer did not respond within \(AttributeProtocol.transactionTimeout.inSeconds); the link is closed.",
                isRetryable: true)
        case .closed:
            self.init(
                bearerEnd?.code ?? .disconnected, operation, bearerEnd?.message ?? "The link has ended.",
                remedy: bearerEnd?.remedy, cause: bearerEnd?.cause, isRetryable: bearerEnd?.isRetryable ?? true,
                disconnectReason: bearerEnd?.disconnectReason)
        case .tooManyWaiting(let count):
            self.init(
                .overflow, operation, "\(count) calls are already waiting on this link.",
                remedy: "Wait for some of them before you make more calls.", isRetryable: true)
        case .notSendable(let error): self.init(error, operation)
        }
    }

    private static func remedy(_ code: ATTErrorCode) -> String? {
        switch code {
        case .insufficientAuthentication, .insufficientEncryption, .insufficientAuthorization,
            .insufficientEncryptionKeySize:
            "The device requires pairing before access to this attribute."
        default: nil
        }
    }

    /// Creates the error for a bearer that its rules require to close.
    init(_ failure: ATTBearerCore.Failure, _ peer: BluetoothAddress) {
        switch failure {
        case .unexpectedResponse(let opcode):
            self.init(
                .protocolViolation, .init("exchange attributes", peer: peer),
                "The peer sent responses that match no request, the last one a \(opcode); the link is closed.",
                disconnectReason: .protocolViolation)
        case .timedOut:
            self.init(
                .disconnected, .init("exchange attributes", peer: peer),
                "The peer did not respond within \(AttributeProtocol.transactionTimeout.inSeconds); the link is closed.",
                isRetryable: true, disconnectReason: .attributeTimeout)
        }
    }
}
