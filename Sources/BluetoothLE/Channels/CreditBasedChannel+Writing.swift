import BluetoothKernel

extension CreditBasedChannel {
    nonisolated(nonsending) func write(_ bytes: [UInt8], timeout: Duration? = nil) async throws(BluetoothError) {
        try await submit(ChannelWrite(bytes, operation("write")), timeout: timeout)
    }

    nonisolated(nonsending) func send(_ sdu: [UInt8], timeout: Duration? = nil) async throws(BluetoothError) {
        let operation = operation("send")
        if let end { throw end.during(operation) }
        guard !sdu.isEmpty else { throw .invalidArgument(operation, "The kernel does not send an SDU of no bytes.") }
        guard sdu.count <= peerMaximumTransmissionUnit else {
            throw .invalidArgument(
                operation, "The peer takes SDUs of at most \(peerMaximumTransmissionUnit) bytes, not \(sdu.count).")
        }
        try await submit(ChannelWrite(sdu, operation), timeout: timeout)
    }

    nonisolated(nonsending) func flush(timeout: Duration? = nil) async throws(BluetoothError) {
        let flush = ChannelWrite([], operation("flush"))
        flush.awaitsRoom = true
        try await submit(flush, timeout: timeout)
    }

    private nonisolated(nonsending) func submit(_ write: ChannelWrite, timeout: Duration?) async throws(BluetoothError)
    {
        if let end { throw end.during(write.operation) }
        if Task.isCancelled { throw .cancelled(write.operation) }
        if writers.count >= 1024 { writers.removeAll { $0.call.isResolved } }
        guard writers.count < 1024 else {
            throw BluetoothError(
                .overflow, write.operation, "\(writers.count) calls are waiting on this channel already.",
                remedy: "Wait for some of them before making more.", isRetryable: true)
        }
        writers.append(write)
        writeOut()
        do {
            try await write.call.value(write.operation, timeout: timeout, on: loop)
        } catch {
            throw write.explained(error)
        }
    }

    /// Hands over SDUs until nothing is left or the socket is full.
    func writeOut() {
        while !isSocketFull, let socket, let write = writers.first {
            guard !write.call.isResolved else {
                _ = writers.popFirst()
                continue
            }
            if write.awaitsRoom {
                write.awaitsRoom = false
                return waitForRoom()
            }
            guard !write.isDone else {
                _ = writers.popFirst()
                write.call.succeed()
                continue
            }
            switch write.sendNext(limit: peerMaximumTransmissionUnit, to: socket) {
            case .sent: break
            case .wouldBlock: return waitForRoom()
            case .failed(let error):
                // The end is told as an event, with what has arrived before. Where there is none, the kernel tells when
                // it is worth trying again. What is refused all the same, or for its length, is this call's.
                guard isToldWritable || error.number == .messageTooLong else { return waitForRoom() }
                _ = writers.popFirst()
                write.fail(.refusedSDU(write.operation, error))
            }
        }
    }

    private func waitForRoom() {
        isSocketFull = true
        socket?.notifyWhenWritable()
    }
}

/// Bytes that are being written, with the caller that waits.
final class ChannelWrite {
    let call = Promise<Void, BluetoothError>()
    let operation: BluetoothError.Operation
    /// Whether the socket has to take packets again before this counts as done.
    var awaitsRoom = false
    private let bytes: [UInt8]
    private var sent = 0

    init(_ bytes: [UInt8], _ operation: BluetoothError.Operation) {
        self.bytes = bytes
        self.operation = operation
    }

    var isDone: Bool { sent == bytes.count }

    func sendNext(limit: Int, to socket: any L2CAPSocket) -> SendOutcome {
        let count = min(max(1, limit), bytes.count - sent)
        let bytes = bytes
        let outcome = socket.send(bytes.span.bytes.extracting(sent..<sent + count))
        if outcome == .sent { sent += count }
        return outcome
    }

    func fail(_ reason: BluetoothError) { call.fail(reason.during(operation)) }

    /// The error, with how far it got.
    func explained(_ error: BluetoothError) -> BluetoothError {
        guard !bytes.isEmpty else { return error }
        var error = error
        error.message += " The kernel had taken \(sent) of \(bytes.count) bytes."
        return error
    }
}

extension BluetoothError {
    /// The kernel does not send an SDU, although the channel has not ended.
    fileprivate static func refusedSDU(_ operation: Operation, _ error: KernelError) -> BluetoothError {
        BluetoothError(
            error.number == .messageTooLong ? .invalidArgument : .failed, operation,
            "The kernel refused an SDU: \(error).", cause: .kernel(error))
    }
}
