#if Services
    import BluetoothLE
    import ServiceLifecycle

    /// An adapter as a service: it counts the recoveries of the radio, and closes the adapter when it is asked to stop.
    ///
    /// Add it to a service group before the services that use the adapter: a group stops its services in reverse order.
    public struct AdapterService: Service {
        private let adapter: Adapter
        private let metrics: BluetoothMetrics

        /// A service of an open adapter.
        public init(_ adapter: Adapter, metrics: BluetoothMetrics = BluetoothMetrics()) {
            self.adapter = adapter
            self.metrics = metrics
        }

        /// Runs until shutdown or cancellation, and closes the adapter.
        ///
        /// An adapter that is unplugged or powered off ends nothing: it is waited for. It returns early when the program has
        /// closed the adapter.
        public func run() async throws {
            do {
                try await untilShutdown {
                    for try await event in await adapter.healthEvents() { metrics.count(event) }
                }
            } catch {
                await adapter.close()
                throw error
            }
            await adapter.close()
        }
    }
#endif
