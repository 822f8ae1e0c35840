import BluetoothLoop

// Public and inlinable, since other modules do not specialise `package` functions.
extension Promise where Failure == BluetoothError {
    /// Waits for the value. Must be called once.
    ///
    /// - Parameters:
    ///   - operation: the operation named in the errors of this wait.
    ///   - timeout: the time limit; nil for none.
    ///   - loop: the loop whose clock counts.
    ///   - onAbandon: called, on any thread, when the caller stops waiting because of a timeout or cancellation.
    @inlinable
    package func value(
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
