import BluetoothHost
import BluetoothLoop
import BluetoothSockets

/// Runs `body`, and cancels it at a time limit.
///
/// Returns when `body` has ended, also after the time limit, so `body` must react to cancellation, as every call of this
/// package does. When the caller is cancelled so is `body`, whose result or error is returned.
/// - Parameters:
///   - limit: the time limit; nil for none.
///   - loop: the loop whose clock measures it, such as ``Adapter/loop`` in a simulation in virtual time; nil for the
///     system's continuous clock.
///   - body: the work.
/// - Throws: `.timedOut` at the time limit, otherwise what `body` throws, an error that is not of this library as
///   `BluetoothError.underlyingError`.
public func withTimeLimit<Value: Sendable>(
    _ limit: Duration?, on loop: EventLoop? = nil, _ body: @escaping @Sendable () async throws -> Value
) async throws(BluetoothError) -> Value {
    do {
        guard let limit else { return try await body() }
        return try await value(limit, on: loop, body)
    } catch {
        throw BluetoothError(error, .init("run with a time limit"))
    }
}

private func value<Value: Sendable>(
    _ limit: Duration, on loop: EventLoop?, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            // Cancelled with the caller, it leaves the outcome to `body`.
            if let loop { _ = await loop.sleep(for: limit) } else { try? await Task.sleep(for: limit) }
            return nil
        }
        defer { group.cancelAll() }
        while let value = try await group.next() {
            if let value { return value }
            guard Task.isCancelled else { break }
        }
        throw BluetoothError(
            .timedOut, .init("run with a time limit"), "It was not finished within \(limit.inSeconds).",
            isRetryable: true)
    }
}
