#if Services
    import BluetoothLE
    import ServiceLifecycle

    /// Runs `body` until the service is asked to stop, which cancels it and is no failure.
    func untilShutdown(_ body: @escaping @Sendable () async throws -> Void) async throws {
        do {
            try await cancelWhenGracefulShutdown(body)
        } catch is CancellationError where Task.isShuttingDownGracefully {
        } catch let error as BluetoothError where error.code == .cancelled && Task.isShuttingDownGracefully {
        }
    }

    /// Runs both until one of them ends, which cancels the other; throws what ended it.
    func untilEitherEnds(
        _ first: @escaping @Sendable () async throws -> Void, _ second: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(operation: first)
            group.addTask(operation: second)
            defer { group.cancelAll() }
            try await group.next()
        }
    }
#endif
