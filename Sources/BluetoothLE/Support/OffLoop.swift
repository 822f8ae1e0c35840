/// Does what may block, such as work on files, on Swift's thread pool, and hands back what comes of it.
///
/// A task that prefers the event loop would take it along otherwise.
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
