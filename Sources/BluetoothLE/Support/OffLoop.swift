/// Runs work that may block, such as file access, on Swift's thread pool, and returns its result.
///
/// A task that prefers the event loop as its executor would otherwise block it.
func offLoop<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    try await withTaskExecutorPreference(globalConcurrentExecutor) { await outcome(of: body) }.get()
}

private nonisolated func outcome<Value: Sendable, Failure: Error>(
    of body: @Sendable () throws(Failure) -> Value
) async -> Result<Value, Failure> {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
}
