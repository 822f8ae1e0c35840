import BluetoothATT
import BluetoothPrimitives

/// The requests of this side's clients on one bearer: one is outstanding at a time, the others wait in order
/// (Core Vol 3 Part F §3.3.2).
struct RequestQueue {
    /// The progress of the current transaction.
    private enum Progress {
        case notBegun
        /// At least one of its requests has been sent.
        case begun
        /// The last request is pending or outstanding; the caller has given up or received a failure.
        case stopping
    }

    /// The number of the outstanding request; nil when there is none.
    private(set) var inFlight: UInt64?
    /// The number of responses that matched no request.
    private(set) var strayResponseCount = 0
    /// The opcode of the outstanding request, or of the last one written.
    private var opcode = ATTOpcode(0)
    private var current: (any ClientTransaction)?
    private var progress = Progress.notBegun
    private var waiting = RingBuffer<any ClientTransaction>()
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// The number of current and waiting transactions.
    var count: Int { waiting.count + (current == nil ? 0 : 1) }

    /// Whether a transaction can send a request now.
    var isReady: Bool { inFlight == nil && (current != nil || !waiting.isEmpty) }

    /// Whether an Execute Write Request is outstanding.
    private var isExecuting: Bool { inFlight != nil && opcode == .executeWriteRequest }

    /// Whether the peer holds prepared writes that must be cancelled. An outstanding Execute Write Request leaves none,
    /// whatever its flags.
    var isCancellationDue: Bool { progress != .notBegun && !isExecuting && current?.stop() == .next }

    mutating func append(_ transaction: any ClientTransaction, _ ended: inout EndedOperations) {
        if waiting.count >= limit { waiting.removeAll { $0.isAbandoned } }
        guard waiting.count < limit else {
            return ended.append(transaction, .tooManyWaiting(limit))
        }
        waiting.append(transaction)
    }

    /// Writes the next request; returns false when there is none to send now.
    mutating func writeNext(into writer: inout ByteWriter, _ ended: inout EndedOperations) -> Bool {
        guard inFlight == nil else { return false }
        while true {
            if current == nil {
                current = waiting.popFirst()
                progress = .notBegun
            }
            guard let transaction = current else { return false }
            if transaction.isAbandoned, progress != .stopping {
                // A transaction that has not begun needs no cleanup.
                guard progress == .begun, transaction.stop() == .next else {
                    current = nil
                    continue
                }
                progress = .stopping
            }
            do {
                try transaction.writeRequest(into: &writer)
                opcode = ATTOpcode(writer.bytes.first ?? 0)
                return true
            } catch {
                writer.removeAll()
                end(transaction, error, &ended)
            }
        }
    }

    /// Records that the last written request was sent.
    mutating func didSend(number: UInt64) {
        inFlight = number
        if progress == .notBegun { progress = .begun }
    }

    /// Receives a response; returns false when it does not match the outstanding request.
    mutating func receive(_ answer: ATTServerPDU, _ ended: inout EndedOperations) -> Bool {
        guard inFlight != nil, let transaction = current else {
            strayResponseCount += 1
            return true
        }
        guard matches(answer) else {
            fail(transaction, .violation("\(answer.opcode) in response to a \(opcode)"), &ended)
            return false
        }
        inFlight = nil
        do throws(TransactionFailure) {
            switch try transaction.receive(answer) {
            case .done: end(transaction, nil, &ended)
            // An abandoned transaction with another request is stopped at its next turn.
            case .next: if progress == .stopping { current = nil }
            }
        } catch {
            end(transaction, error, &ended)
        }
        return true
    }

    private func matches(_ answer: ATTServerPDU) -> Bool {
        if case .errorResponse(let error) = answer { return error.requestOpcode == opcode }
        return answer.opcode == opcode.answer
    }

    /// Receives a malformed response; returns false when it does not match the outstanding request.
    mutating func receiveMalformedResponse(_ error: ATTDecodingError, _ ended: inout EndedOperations) -> Bool {
        guard inFlight != nil, let transaction = current else {
            strayResponseCount += 1
            return true
        }
        guard error.opcode == .errorResponse || error.opcode == opcode.answer else {
            fail(transaction, .violation("\(error)"), &ended)
            return false
        }
        inFlight = nil
        guard progress != .stopping else {
            current = nil
            return true
        }
        ended.append(transaction, .violation("\(error)"))
        // The peer may have performed the request and may hold prepared writes.
        if transaction.stop() == .done { current = nil } else { progress = .stopping }
        return true
    }

    /// Ends the current transaction; the caller of a stopping one has received its failure before.
    private mutating func end(
        _ transaction: any ClientTransaction, _ failure: TransactionFailure?, _ ended: inout EndedOperations
    ) {
        current = nil
        guard progress != .stopping else { return }
        ended.append(transaction, failure)
    }

    private mutating func fail(
        _ transaction: any ClientTransaction, _ failure: TransactionFailure, _ ended: inout EndedOperations
    ) {
        inFlight = nil
        end(transaction, failure, &ended)
    }

    /// The outstanding request timed out.
    mutating func timeOut(_ ended: inout EndedOperations) {
        guard let late = current else { return }
        fail(late, .timedOut, &ended)
    }

    /// Ends the current transaction.
    mutating func closeCurrent(_ ended: inout EndedOperations) {
        inFlight = nil
        if let transaction = current { end(transaction, .closed, &ended) }
    }

    /// Ends all waiting transactions.
    mutating func closeWaiting(_ ended: inout EndedOperations) {
        while let next = waiting.popFirst() { ended.append(next, .closed) }
    }
}
