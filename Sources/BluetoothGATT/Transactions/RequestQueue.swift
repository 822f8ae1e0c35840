import BluetoothATT
import BluetoothPrimitives

/// The requests of this side's clients on one bearer: one is outstanding at a time, the others wait in order
/// (Core Vol 3 Part F §3.3.2).
struct RequestQueue {
    /// How far the transaction is whose turn it is.
    private enum Progress {
        case notBegun
        /// At least one of its requests has been sent.
        case begun
        /// At its last request: its caller has given up or has failed.
        case stopping
    }

    /// Counts the requests sent; nil while none is unanswered.
    private(set) var inFlight: UInt64?
    /// How many responses came that answer no request.
    private(set) var strayResponseCount = 0
    /// That of the request in flight, or of the one that was written last.
    private var opcode = ATTOpcode(0)
    private var current: (any ClientTransaction)?
    private var progress = Progress.notBegun
    private var waiting = RingBuffer<any ClientTransaction>()
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// How many transactions are under way or wait.
    var count: Int { waiting.count + (current == nil ? 0 : 1) }

    /// Whether a request may be sent, and a transaction waits for that.
    var isReady: Bool { inFlight == nil && (current != nil || !waiting.isEmpty) }

    /// Whether an Execute Write Request is in flight.
    private var isExecuting: Bool { inFlight != nil && opcode == .executeWriteRequest }

    /// Whether the peer holds prepared writes that it has to be told to forget. Nothing is left behind by an Execute Write
    /// Request in flight, whatever it says.
    var isCancellationDue: Bool { progress != .notBegun && !isExecuting && current?.stop() == .next }

    mutating func append(_ transaction: any ClientTransaction, _ ended: inout EndedOperations) {
        if waiting.count >= limit { waiting.removeAll { $0.isAbandoned } }
        guard waiting.count < limit else {
            return ended.append(transaction, .tooManyWaiting(limit))
        }
        waiting.append(transaction)
    }

    /// Writes the next request; returns false when there is none to be sent now.
    mutating func writeNext(into writer: inout ByteWriter, _ ended: inout EndedOperations) -> Bool {
        guard inFlight == nil else { return false }
        while true {
            if current == nil {
                current = waiting.popFirst()
                progress = .notBegun
            }
            guard let transaction = current else { return false }
            if transaction.isAbandoned, progress != .stopping {
                // What has not begun has left nothing behind.
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

    /// The request that was written last has been sent.
    mutating func didSend(number: UInt64) {
        inFlight = number
        if progress == .notBegun { progress = .begun }
    }

    /// Receives an answer; returns false when it belongs to another request than the one in flight.
    mutating func receive(_ answer: ATTServerPDU, _ ended: inout EndedOperations) -> Bool {
        guard inFlight != nil, let transaction = current else {
            strayResponseCount += 1
            return true
        }
        guard answers(answer) else {
            fail(transaction, .violation("\(answer.opcode) came as the answer to a \(opcode)"), &ended)
            return false
        }
        inFlight = nil
        do throws(TransactionFailure) {
            switch try transaction.receive(answer) {
            case .done: end(transaction, nil, &ended)
            // An abandoned transaction that would go on is stopped when its turn to send comes.
            case .next: if progress == .stopping { current = nil }
            }
        } catch {
            end(transaction, error, &ended)
        }
        return true
    }

    private func answers(_ answer: ATTServerPDU) -> Bool {
        if case .errorResponse(let error) = answer { return error.requestOpcode == opcode }
        return answer.opcode == opcode.answer
    }

    /// Receives an answer that could not be decoded; returns false when it belongs to another request.
    mutating func receiveMalformedAnswer(_ error: ATTDecodingError, _ ended: inout EndedOperations) -> Bool {
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
        // The peer may have done what it was asked, so it may have to be told to forget it.
        if transaction.stop() == .done { current = nil } else { progress = .stopping }
        return true
    }

    /// Ends the transaction whose turn it is; one that was stopping has told its caller before.
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

    /// The request in flight is late.
    mutating func timeOut(_ ended: inout EndedOperations) {
        guard let late = current else { return }
        fail(late, .timedOut, &ended)
    }

    /// Ends the transaction whose turn it is.
    mutating func closeCurrent(_ ended: inout EndedOperations) {
        inFlight = nil
        if let transaction = current { end(transaction, .closed, &ended) }
    }

    /// Ends all that wait.
    mutating func closeWaiting(_ ended: inout EndedOperations) {
        while let next = waiting.popFirst() { ended.append(next, .closed) }
    }
}
