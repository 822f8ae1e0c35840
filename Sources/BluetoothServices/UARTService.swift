#if Services
    import LINBLE
    import ServiceLifecycle

    /// A kept UART as a service: when it is asked to stop, it sends what is buffered and disconnects.
    public struct UARTService: Service {
        private let uart: KeptUART
        private let metrics: BluetoothMetrics
        private let drainLimit: Duration
        private let body: @Sendable (KeptUART) async throws -> Void

        /// A service of a kept UART.
        /// - Parameters:
        ///   - uart: the UART, of `UARTConnection.keep(_:on:options:choosing:progress:)`.
        ///   - metrics: what counts links and reconnections.
        ///   - drainLimit: the maximum time for the buffered bytes at shutdown.
        ///   - body: the work with the UART, such as reading it; the service ends with it.
        public init(
            _ uart: KeptUART, metrics: BluetoothMetrics = BluetoothMetrics(), drainLimit: Duration = .seconds(5),
            _ body: @escaping @Sendable (KeptUART) async throws -> Void = { _ in try await gracefulShutdown() }
        ) {
            self.uart = uart
            self.metrics = metrics
            self.drainLimit = drainLimit
            self.body = body
        }

        /// Keeps the UART open until shutdown, cancellation, or the end of `body`, and disconnects it then.
        ///
        /// At shutdown, and when `body` returns, it first sends what is buffered, for at most the drain limit. When it is
        /// cancelled, when `body` throws, and when the UART is no longer kept, what is buffered is discarded.
        /// - Throws: why the UART is no longer kept, what `body` throws, and `.timedOut` at shutdown when bytes remain.
        public func run() async throws {
            do {
                try await untilShutdown {
                    try await untilEitherEnds {
                        try await body(uart)
                    } _: {
                        try await metrics.countLinks(uart.events().compactMap { $0.online?.connection })
                    }
                }
                try await uart.flush(timeout: drainLimit)
            } catch {
                await uart.disconnect()
                throw error
            }
            await uart.disconnect()
        }
    }
#endif
