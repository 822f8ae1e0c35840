#if Services
    import BluetoothLE
    import ServiceLifecycle

    /// A scan as a service, which stops it when it is asked to.
    ///
    /// With the default options it waits for an adapter that is powered off or unplugged while it scans.
    public struct ScanService<Radio: Central>: Service {
        private let central: Radio
        private let options: ScanOptions
        private let metrics: BluetoothMetrics
        private let handle: @Sendable (Radio.Report) async throws -> Void

        /// A scan whose reports are given to `handle`, one after the other.
        /// - Parameters:
        ///   - central: the adapter or group of adapters.
        ///   - options: the options of the scan.
        ///   - metrics: what counts the reports and records their RSSI.
        ///   - handle: the program's handler; while it runs, reports wait, and those without room are missed. What it throws
        ///     ends the service.
        public init(
            on central: Radio, options: ScanOptions = ScanOptions(whenAdapterUnavailable: .resume),
            metrics: BluetoothMetrics = BluetoothMetrics(),
            _ handle: @escaping @Sendable (Radio.Report) async throws -> Void
        ) {
            self.central = central
            self.options = options
            self.metrics = metrics
            self.handle = handle
        }

        /// Scans until shutdown, cancellation, or the end of the scan.
        /// - Throws: what ends the scan, and what the handler throws.
        public func run() async throws {
            try await untilShutdown {
                for try await report in try await central.scan(options) {
                    metrics.count(report)
                    try await handle(report)
                }
            }
        }
    }
#endif
