import BluetoothAdvertising
import BluetoothGATT
import Synchronization

extension Adapter {
    /// Publishes services, advertises, and serves connected devices until the task is cancelled.
    ///
    /// It ends only by throwing. Advertising stops then and the services are closed; links stay up until their peers
    /// end them or the adapter is closed. Needs CAP_NET_ADMIN, as advertising does.
    /// - Parameters:
    ///   - content: the advertised content.
    ///   - options: the advertising options.
    ///   - authorizing: the handler for attributes that require authorisation; see ``publish(_:authorizing:)``.
    ///   - services: the services, written as a list in which `if` and `for` may be used.
    /// - Throws: `.cancelled` when the task is cancelled, the reason of an end of advertising, and what
    ///   ``publish(_:authorizing:)`` and ``advertise(_:options:)`` throw.
    public nonisolated(nonsending) func serve(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions(),
        authorizing: Authorizer? = nil, @GATTBuilder<LocalService> services: () -> [LocalService]
    ) async throws(BluetoothError) {
        let published = try await publish(services(), authorizing: authorizing)
        let set: AdvertisingSet
        do throws(BluetoothError) {
            set = try await advertise(content, options: options)
        } catch {
            await published.close()
            throw error
        }
        let reason = await set.closed()
        await set.close()
        await published.close()
        throw reason
    }

    /// Publishes services, advertises, and serves connected devices while `body` runs.
    ///
    /// `body` receives the published services, to send values, and the incoming connections. When it ends, in whatever
    /// way, advertising stops and the services are closed. If advertising ends earlier, `body` is cancelled and the
    /// reason thrown. Needs CAP_NET_ADMIN, as advertising does.
    /// - Parameters:
    ///   - content: the advertised content.
    ///   - options: the advertising options.
    ///   - accepted: the options of incoming connections.
    ///   - authorizing: the handler for attributes that require authorisation; see ``publish(_:authorizing:)``.
    ///   - services: the services, written as a list in which `if` and `for` may be used.
    ///   - body: the work to do while services are published.
    /// - Throws: what `body` throws, an error that is not of this library as `BluetoothError.underlyingError`, and what
    ///   ``publish(_:authorizing:)``, ``advertise(_:options:)`` and ``incomingConnections(_:)`` throw.
    public nonisolated(nonsending) func serve<Result: Sendable>(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions(),
        accepting accepted: IncomingConnectionOptions = IncomingConnectionOptions(), authorizing: Authorizer? = nil,
        @GATTBuilder<LocalService> services: () -> [LocalService],
        while body: @escaping @Sendable (PublishedServices, IncomingConnections) async throws -> Result
    ) async throws(BluetoothError) -> Result {
        let published = try await publish(services(), authorizing: authorizing)
        do throws(BluetoothError) {
            let incoming = try await incomingConnections(accepted)
            defer { incoming.close() }
            let result = try await withAdvertising(content, options: options) { set in
                try await run(until: set) { try await body(published, incoming) }
            }
            await published.close()
            return result
        } catch {
            await published.close()
            throw error
        }
    }

    /// Runs `body`. If advertising ends earlier, `body` is cancelled and the reason thrown.
    private nonisolated(nonsending) func run<Result: Sendable>(
        until set: AdvertisingSet, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            let end = Mutex<BluetoothError?>(nil)
            group.addTask {
                let reason = await set.closed()
                // When the task is cancelled, `body` determines the outcome.
                if !Task.isCancelled { end.withLock { $0 = reason } }
                return nil
            }
            group.addTask { try await body() }
            defer { group.cancelAll() }
            // The reason for which `body` was cancelled. A `body` that has ended before keeps its result.
            var reason: BluetoothError?
            while true {
                let result: Result?
                do {
                    result = try await group.next() ?? nil
                } catch {
                    throw end.withLock { $0 } ?? error
                }
                if let result {
                    if let reason { throw reason }
                    return result
                }
                reason = end.withLock { $0 }
                if reason != nil { group.cancelAll() }
            }
        }
    }
}
