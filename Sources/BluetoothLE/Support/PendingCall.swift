import BluetoothKernel

/// One suspended caller and the one result it gets.
///
/// Every wait of this library goes through here: whoever comes first – the answer, the time limit, the task's
/// cancellation, the end of the link – resolves the call, and all others find it resolved. So no wait is left hanging
/// as long as one of them comes, and none is resumed twice.
typealias PendingCall<Output: Sendable> = OneShot<Result<Output, BluetoothError>>

extension OneShot {
    /// Gives the caller a value unless it has a result; says whether it was taken.
    @discardableResult
    func succeed<Output>(_ value: Output) -> Bool where Value == Result<Output, BluetoothError> {
        resolve(.success(value))
    }

    /// Gives the caller an error unless it has a result; says whether it was taken.
    @discardableResult
    func fail<Output>(_ error: BluetoothError) -> Bool where Value == Result<Output, BluetoothError> {
        resolve(.failure(error))
    }

    /// Waits for the result. To be called once.
    ///
    /// - Parameters:
    ///   - operation: what is being done, for the errors of this wait's own making.
    ///   - timeout: the most time to wait, nil for no limit of the caller's own.
    ///   - loop: whose clock counts.
    ///   - onAbandon: runs when the caller stops waiting by time-out or cancellation; anywhere.
    func value<Output>(
        _ operation: BluetoothError.Operation, timeout: Duration?, on loop: EventLoop,
        isolation: isolated (any Actor)? = #isolation, onAbandon: (@Sendable () -> Void)? = nil
    ) async throws(BluetoothError) -> Output where Value == Result<Output, BluetoothError> {
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
        }.get()
    }
}
