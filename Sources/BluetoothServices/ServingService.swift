#if Services
    import BluetoothGATT
    import BluetoothLE
    import ServiceLifecycle

    /// A peripheral as a service: it publishes services and advertises until it is asked to stop.
    ///
    /// With the default options it waits for an adapter that is powered off or unplugged while it advertises.
    public struct ServingService: Service {
        private let adapter: Adapter
        private let content: AdvertisementContent
        private let options: AdvertisingOptions
        private let accepted: IncomingConnectionOptions
        private let authorizing: Authorizer?
        private let metrics: BluetoothMetrics
        private let services: [LocalService]
        private let body: @Sendable (PublishedServices) async throws -> Void

        /// A peripheral of these services.
        /// - Parameters:
        ///   - adapter: the adapter that advertises.
        ///   - content: the advertised content.
        ///   - options: the advertising options.
        ///   - accepted: the options of incoming connections.
        ///   - authorizing: the handler for attributes that require authorisation; see `Adapter.publish(_:authorizing:)`.
        ///   - metrics: what counts the links.
        ///   - services: the services, written as a list in which `if` and `for` may be used.
        ///   - body: the work to do while they are published, such as sending values; the service ends with it.
        public init(
            on adapter: Adapter, _ content: AdvertisementContent,
            options: AdvertisingOptions = AdvertisingOptions(whenAdapterUnavailable: .resume),
            accepting accepted: IncomingConnectionOptions = IncomingConnectionOptions(), authorizing: Authorizer? = nil,
            metrics: BluetoothMetrics = BluetoothMetrics(), @GATTBuilder<LocalService> services: () -> [LocalService],
            while body: @escaping @Sendable (PublishedServices) async throws -> Void = { _ in
                try await gracefulShutdown()
            }
        ) {
            self.adapter = adapter
            self.content = content
            self.options = options
            self.accepted = accepted
            self.authorizing = authorizing
            self.metrics = metrics
            self.services = services()
            self.body = body
        }

        /// Serves until shutdown, cancellation, or the end of `body` or of advertising; then the services are closed.
        /// - Throws: what ends advertising, and what `body` throws.
        public func run() async throws {
            try await untilShutdown {
                try await adapter.serve(content, options: options, accepting: accepted, authorizing: authorizing) {
                    services
                } while: { published, incoming in
                    try await untilEitherEnds {
                        try await body(published)
                    } _: {
                        try await withThrowingDiscardingTaskGroup { group in
                            for try await connection in incoming {
                                group.addTask {
                                    await metrics.countLink { _ = await connection.disconnected() }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
#endif
