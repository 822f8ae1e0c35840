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

    /// The number of responses in a row, while a request is outstanding, that may match no request.
    private static let strayLimit: UInt8 = 16

    /// The number of the outstanding request; nil when there is none.
    private(set) var inFlight: UInt64?
    /// The number of responses that matched no request.
    private(set) var strayResponseCount = 0
    private var consumedStrayCount = 0
    /// The number of those since the last match, while a request was outstanding.
    private var straysInARow: UInt8 = 0
    /// The opcode of the outstanding request, or of the last one written.
    private var opcode = ATTOpcode(0)
    private(set) var current: (any ClientTransaction)?
    private var progress = Progress.notBegun
    private var waiting = RingBuffer<any ClientTransaction>()

    /// The number of current and waiting transactions.
    var count: Int { waiting.count + (current == nil ? 0 : 1) }

    /// Whether a transaction can send a request now.
    var isReady: Bool { inFlight == nil && (current != nil || !waiting.isEmpty) }

    /// The outstanding request; nil when there is none.
    var outstanding: ATTOpcode? { inFlight == nil ? nil : opcode }

    /// Whether an Execute Write Request is outstanding.
    private var isExecuting: Bool { outstanding == .executeWriteRequest }

    /// Stops the current transaction; returns whether the peer holds prepared writes that must be cancelled. An
    /// outstanding Execute Write Request leaves none, whatever its flags.
    func stop() -> Bool { progress != .notBegun && !isExecuting && current?.stop() == .next }

    /// Enqueues a transaction, if fewer than `limit` wait.
    mutating func append(_ transaction: any ClientTransaction, limit: Int, _ ended: inout EndedOperations) {
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
                var reader = ByteReader(writer.span)
                opcode = ATTOpcode((try? reader.readUInt8()) ?? 0)
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

    /// Receives a response; returns false when too many in a row have matched no request.
    mutating func receive(_ answer: ATTServerPDU, _ ended: inout EndedOperations) -> Bool {
        guard inFlight != nil, let transaction = current, matches(answer) else {
            return countStray(answer.opcode, &ended)
        }
        inFlight = nil
        straysInARow = 0
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

    /// Returns once whether a response matched no request.
    mutating func consumeStrayResponse() -> Bool {
        defer { consumedStrayCount = strayResponseCount }
        return strayResponseCount != consumedStrayCount
    }

    /// Drops a response that matches no request, which the true one may follow; returns false at the limit.
    private mutating func countStray(_ stray: ATTOpcode?, _ ended: inout EndedOperations) -> Bool {
        strayResponseCount += 1
        guard inFlight != nil, let transaction = current else { return true }
        straysInARow += 1
        guard straysInARow >= Self.strayLimit else { return true }
        // The response to the request, which remains outstanding, may still arrive after the end of the bearer.
        let last = stray.map { "\($0)" } ?? "response"
        end(transaction, .violation("\(straysInARow) responses in a row to no \(opcode), the last a \(last)"), &ended)
        return false
    }

    /// Receives a malformed response; returns false when too many in a row have matched no request.
    ///
    /// - Parameter request: The opcode of the request that a malformed Error Response names, if it is that long.
    mutating func receiveMalformedResponse(
        _ error: ATTDecodingError, to request: ATTOpcode?, _ ended: inout EndedOperations
    ) -> Bool {
        let isError = error.opcode == .errorResponse
        guard inFlight != nil, let transaction = current,
            isError ? request == nil || request == opcode : error.opcode == opcode.answer
        else { return countStray(error.opcode, &ended) }
        inFlight = nil
        straysInARow = 0
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

    /// Ends the current transaction, as its request timed out or the bearer closes.
    mutating func endCurrent(_ failure: TransactionFailure, _ ended: inout EndedOperations) {
        inFlight = nil
        if let transaction = current { end(transaction, failure, &ended) }
    }

    /// Ends all waiting transactions.
    mutating func closeWaiting(_ ended: inout EndedOperations) {
        while let next = waiting.popFirst() { ended.append(next, .closed) }
    }
}
