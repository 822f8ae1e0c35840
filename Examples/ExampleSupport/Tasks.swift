/// Runs `body`, and then `cleanUp`, whether or not it has failed.
public nonisolated(nonsending) func finishing<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value,
    then cleanUp: nonisolated(nonsending) () async -> Void
) async throws -> Value {
    let value: Value
    do {
        value = try await body()
    } catch {
        await cleanUp()
        throw error
    }
    await cleanUp()
    return value
}

/// Runs tasks until the first has ended, and cancels the others.
public func untilOneEnds(_ tasks: [@Sendable () async throws -> Void]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for task in tasks { group.addTask(operation: task) }
        defer { group.cancelAll() }
        try await group.next()
    }
}

/// Runs tasks until one has a result or fails, and cancels the others.
public func firstResult<Value: Sendable>(of tasks: [@Sendable () async throws -> Value?]) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        for task in tasks { group.addTask(operation: task) }
        defer { group.cancelAll() }
        while let result = try await group.next() {
            if let result { return result }
        }
        throw CancellationError()
    }
}
