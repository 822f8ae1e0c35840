import BluetoothATT
import BluetoothPrimitives

/// Write Long Characteristic Values and Reliable Writes (Core Vol 3 Part G §4.9.4, §4.9.5): values, or parts of them, in
/// pieces that the server holds back and writes all at once. The server's echo of each piece is compared; when one
/// differs nothing is written. Serves for descriptors as well (§4.12.4).
public struct ReliableWrite: ClientProcedure {
    private enum Phase: Sendable {
        case preparing
        case executing
        /// Making the server forget the pieces; then the failure is reported.
        case cancelling(TransactionFailure)
    }

    private let writes: [AttributeWrite]
    private var phase = Phase.preparing
    /// The write whose pieces are being sent, and how many of its bytes the server has echoed.
    private var current = 0
    private var confirmed = 0
    private var sent = 0..<0
    private var isAnythingPrepared = false

    /// A write of all of `writes` in their order; each is within the 512 bytes of a value.
    ///
    /// - Parameter writes: a value written at offset zero is written anew, at another it is changed from there on.
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

    /// Where the piece being sent goes.
    private var offset: UInt16 { UInt16(clamping: writes[current].offset + confirmed) }

    /// Nothing has been sent when one cannot be written.
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

    /// Takes the echo of a piece, or the answer to the last request.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<Void> {
        switch phase {
        case .preparing:
            guard case .prepareWriteResponse(let echoHandle, let echoOffset, let echo) = answer else {
                let failure = failure(answer)
                // A server that refuses the first piece holds nothing.
                if case .refused = failure, !isAnythingPrepared { throw failure }
                return cancel(failure)
            }
            isAnythingPrepared = true
            let write = writes[current]
            guard echoHandle == write.handle, echoOffset == offset, write.value[sent].elementsEqual([UInt8](echo))
            else { return cancel(.violation("the echo of a prepared write differs from what was sent")) }
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

    /// Has the server forget what it holds before `failure` is reported.
    private mutating func cancel(_ failure: TransactionFailure) -> ProcedureStep<Void> {
        phase = .cancelling(failure)
        return .next
    }

    /// Gives up: the server has to forget the pieces it holds.
    public mutating func stop() -> Bool {
        if case .cancelling = phase { return true }
        phase = .cancelling(.closed)
        return true
    }
}
