#if Services
    import BluetoothLE
    import ServiceLifecycle

    /// A kept connection as a service, which disconnects the device when it is asked to stop.
    public struct ConnectionService: Service {
        private let kept: KeptConnection
        private let metrics: BluetoothMetrics
        private let body: @Sendable (KeptConnection) async throws -> Void

        /// A service of a kept connection.
        /// - Parameters:
        ///   - kept: the connection, of ``Central/keepConnected(to:options:policy:)-(BluetoothAddress,_,_)``.
        ///   - metrics: what counts links and reconnections.
        ///   - body: the work with the device, such as a subscription that outlives links; the service ends with it.
        public init(
            _ kept: KeptConnection, metrics: BluetoothMetrics = BluetoothMetrics(),
            _ body: @escaping @Sendable (KeptConnection) async throws -> Void = { _ in try await gracefulShutdown() }
        ) {
            self.kept = kept
            self.metrics = metrics
            self.body = body
        }

        /// Keeps the device connected until shutdown, cancellation, or the end of `body`, and disconnects it then.
        /// - Throws: why the connection is no longer kept, and what `body` throws.
        public func run() async throws {
            do {
                try await untilShutdown {
                    try await untilEitherEnds {
                        try await body(kept)
                    } _: {
                        try await metrics.countLinks(kept.events().compactMap { $0.connected })
                    }
                }
            } catch {
                await kept.disconnect()
                throw error
            }
            await kept.disconnect()
        }
    }
#endif
