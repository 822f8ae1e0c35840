import BluetoothLoop

// Public and inlinable, since other modules do not specialise what is `package`.
extension Promise where Failure == BluetoothError {
    /// Waits for the value. To be called once.
    ///
    /// - Parameters:
    ///   - operation: what is being done, for the errors of this wait's own making.
    ///   - timeout: the most time to wait, nil for no limit of the caller's own.
    ///   - loop: whose clock counts.
    ///   - onAbandon: runs when the caller stops waiting by time-out or cancellation; anywhere.
    @inlinable
    public func value(
        _ operation: BluetoothError.Operation, timeout: Duration?, on loop: EventLoop,
        isolation: isolated (any Actor)? = #isolation, onAbandon: (@Sendable () -> Void)? = nil
    ) async throws(BluetoothError) -> Value {
        let timer = timeout.map { timeout in
            let timer = loop.makeTimer {
                if self.fail(.timedOut(operation, after: timeout)) { onAbandon?() }
            }
            timer.set(after: timeout)
            return timer
        }
        defer { timer?.cancel() }
        return try await value(from: loop, isolation: isolation) {
            if fail(.cancelled(operation)) { onAbandon?() }
        }
    }
}
