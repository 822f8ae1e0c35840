import BluetoothATT
import BluetoothPrimitives

/// Write Long Characteristic Values and Reliable Writes (Core Vol 3 Part G §4.9.4, §4.9.5): values, or parts of them,
/// that the server queues and then writes together. The procedure verifies the server's echo of each part; on a
/// mismatch the server writes nothing. Also for descriptors (§4.12.4).
public struct ReliableWrite: ClientProcedure {
    private enum Phase: Sendable {
        case preparing
        case executing
        /// Cancelling the prepared writes; the failure is reported afterwards.
        case cancelling(TransactionFailure)
    }

    private let writes: [AttributeWrite]
    private var phase = Phase.preparing
    /// The index of the current write, and the number of its bytes that the server has echoed.
    private var current = 0
    private var confirmed = 0
    private var sent = 0..<0
    private var isAnythingPrepared = false

    /// A write of all of `writes` in order; each value has at most 512 bytes.
    ///
    /// - Parameter writes: A write at offset 0 replaces the value, one at another offset changes it from there on.
    public init(_ writes: [AttributeWrite]) {
        self.writes = writes
    }

    /// A write of `value`, at most 512 bytes, to the attribute `handle`.
    public init(_ value: [UInt8], to handle: AttributeHandle) {
        self.init([AttributeWrite(handle, value: value)])
    }

    /// Writes the next Prepare Write Request, then the Execute Write Request.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        switch phase {
        case .preparing:
            if !isAnythingPrepared { try checkWrites() }
            let write = writes[current]
            let limit = max(1, ATTValueLimits(mtu: writer.capacity).prepareWrite)
            sent = confirmed..<min(confirmed + limit, write.value.count)
            let piece = write.value.span.bytes.extracting(sent)
            try encode(
                .prepareWriteRequest(write.handle, offset: offset, value: piece), into: &writer)
        case .executing: try encode(.executeWriteRequest(.writeAll), into: &writer)
        case .cancelling: try encode(.executeWriteRequest(.cancelAll), into: &writer)
        }
    }

    /// The offset of the current part.
    private var offset: UInt16 { UInt16(clamping: writes[current].offset + confirmed) }

    /// Checks all writes before the first request, so that an invalid one sends nothing.
    private func checkWrites() throws(TransactionFailure) {
        guard !writes.isEmpty else { throw .invalid("nothing to write") }
        let longest = AttributeProtocol.maximumAttributeValueLength
        for write in writes {
            guard (0...longest).contains(write.offset), write.value.count <= longest - write.offset else {
                throw .invalid(
                    "\(write.value.count) bytes at offset \(write.offset); an attribute has at most \(longest)")
            }
        }
    }

    /// Processes the echo of a part, or the Execute Write Response.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<Void> {
        switch phase {
        case .preparing:
            guard case .prepareWriteResponse(let echoHandle, let echoOffset, let echo) = answer else {
                let failure = failure(answer)
                // A server that refused the first part has queued nothing.
                if case .refused = failure, !isAnythingPrepared { throw failure }
                return cancel(failure)
            }
            isAnythingPrepared = true
            let write = writes[current]
            guard echoHandle == write.handle, echoOffset == offset, write.value[sent].elementsEqual([UInt8](echo))
            else { return cancel(.violation("the echo of a prepared write differs from the request")) }
            confirmed = sent.upperBound
            if confirmed == write.value.count {
                current += 1
                confirmed = 0
                if current == writes.count { phase = .executing }
            }
            return .next
        case .executing:
            guard case .executeWriteResponse = answer else { throw failure(answer) }
            return .done(())
        case .cancelling(let failure): throw failure
        }
    }

    /// Cancels the prepared writes and reports `failure` afterwards.
    private mutating func cancel(_ failure: TransactionFailure) -> ProcedureStep<Void> {
        phase = .cancelling(failure)
        return .next
    }

    /// Cancels the procedure: the server must drop the prepared writes.
    public mutating func stop() -> Bool {
        if case .cancelling = phase { return true }
        phase = .cancelling(.closed)
        return true
    }
}
