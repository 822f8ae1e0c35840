#if Services
    import BluetoothLE
    import Metrics

    /// The counters and gauges of Bluetooth, which the program's backend of swift-metrics collects.
    ///
    /// | label | kind | counts |
    /// |---|---|---|
    /// | `bluetooth_links` | meter | the links that are up |
    /// | `bluetooth_reconnects` | counter | the links to kept devices after their first |
    /// | `bluetooth_reports` | counter | the reports of scans |
    /// | `bluetooth_missed_reports` | counter | the reports that were received and had no room |
    /// | `bluetooth_rssi` | recorder | the RSSI of reports in dBm |
    /// | `bluetooth_recoveries` | counter | the steps by which a radio was recovered, dimension `step` |
    /// | `bluetooth_failed_recoveries` | counter | the steps that did not help, dimension `step` |
    ///
    /// Pass the same metrics to all services whose values belong together: a backend may keep the number of links apart for each
    /// value of this type, even with the same dimensions. Dimensions tell adapters or devices apart.
    public struct BluetoothMetrics: Sendable {
        private let factory: any MetricsFactory
        private let dimensions: [(String, String)]
        private let links: Meter
        private let reconnects: Counter
        private let reports: Counter
        private let missedReports: Counter
        private let rssi: Recorder

        /// The metrics with these dimensions, such as `[("adapter", "hci0")]`.
        ///
        /// - Parameters:
        ///   - dimensions: the names and values that all of them have.
        ///   - factory: the backend; nil takes the program's, which `MetricsSystem.bootstrap` has set.
        public init(dimensions: [(String, String)] = [], factory: (any MetricsFactory)? = nil) {
            let factory = factory ?? MetricsSystem.factory
            self.factory = factory
            self.dimensions = dimensions
            links = Meter(label: "bluetooth_links", dimensions: dimensions, factory: factory)
            reconnects = Counter(label: "bluetooth_reconnects", dimensions: dimensions, factory: factory)
            reports = Counter(label: "bluetooth_reports", dimensions: dimensions, factory: factory)
            missedReports = Counter(label: "bluetooth_missed_reports", dimensions: dimensions, factory: factory)
            rssi = Recorder(label: "bluetooth_rssi", dimensions: dimensions, aggregate: true, factory: factory)
        }

        /// Counts a link that is up, until `disconnected` has returned.
        func countLink(isReconnection: Bool = false, until disconnected: () async -> Void) async {
            if isReconnection { reconnects.increment() }
            links.increment()
            await disconnected()
            links.decrement()
        }

        /// Counts the links to a kept device, of which the first is no reconnection.
        func countLinks<Links: AsyncSequence>(_ links: Links) async throws where Links.Element == Connection {
            var isReconnection = false
            for try await connection in links {
                await countLink(isReconnection: isReconnection) { _ = await connection.disconnected() }
                isReconnection = true
            }
        }

        /// Counts a report of a scan.
        func count(_ report: some ScanReport) {
            reports.increment()
            missedReports.increment(by: report.advertisement.missedBefore)
            if let strength = report.rssi { rssi.record(strength) }
        }

        /// Counts the end of a recovery.
        func count(_ event: HealthEvent) {
            if let step = event.helpfulStep { counter("bluetooth_recoveries", step).increment() }
            if let step = event.failed?.step { counter("bluetooth_failed_recoveries", step).increment() }
        }

        private func counter(_ label: String, _ step: RecoveryStep) -> Counter {
            Counter(label: label, dimensions: dimensions + [("step", "\(step)")], factory: factory)
        }
    }
#endif
