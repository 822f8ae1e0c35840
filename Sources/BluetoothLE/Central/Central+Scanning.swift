import BluetoothAdvertising

extension Central {
    /// A stream of advertisements with the default options, as ``scan(_:)``.
    public nonisolated(nonsending) func scan() async throws(BluetoothError) -> BoundedStream<Report> {
        try await scan(ScanOptions())
    }

    /// The devices that advertise within a time, each once, with its newest advertisement: strongest RSSI first, those
    /// without an RSSI last.
    ///
    /// An advertising set counts as a device of its own, as in a ``DeviceTable``. Returns when the time is over.
    /// - Parameters:
    ///   - duration: the time to scan, in place of ``ScanOptions/duration``.
    ///   - options: the options of the scan; ``ScanOptions/duplicates`` has no effect. Beyond
    ///     ``ScanOptions/deviceLimit`` the least recently received device is dropped.
    /// - Throws: what ``scan(_:)`` and its stream throw.
    public nonisolated(nonsending) func devices(
        for duration: Duration, options: ScanOptions = ScanOptions()
    ) async throws(BluetoothError) -> [Report] {
        var options = options
        options.duration = duration
        // Every report, so that the RSSI is that of the newest.
        options.duplicates = .all
        return try await run { [options] () async throws(BluetoothError) in
            var devices = RecentlyUsed<Report>(limit: options.deviceLimit)
            for try await report in try await scan(options) {
                let (address, set) = (report.advertisement.address, report.advertisement.advertisingSetID)
                let (index, _) = devices.use(AdvertisementJoiner.key(address, set), orInsert: report)
                devices[index] = report
            }
            return devices.values.sorted { ($0.rssi ?? Int.min) > ($1.rssi ?? Int.min) }
        }
    }

    /// The first advertisement that fulfils a condition; scans until then.
    /// - Parameters:
    ///   - timeout: the maximum time to scan; nil for ``ScanOptions/duration``, and without one no limit.
    ///   - options: the options of the scan.
    ///   - condition: called on the central's loop for each advertisement that passes the options' filter; by default
    ///     all do.
    /// - Throws: `.notFound` when the time is over, besides what ``scan(_:)`` throws.
    public nonisolated(nonsending) func firstAdvertisement(
        timeout: Duration? = .seconds(10), options: ScanOptions = ScanOptions(),
        where condition: @Sendable (Advertisement) -> Bool = { _ in true }
    ) async throws(BluetoothError) -> Report {
        var options = options
        options.duration = timeout ?? options.duration
        return try await run { [options] () async throws(BluetoothError) in
            for try await report in try await scan(options) where condition(report.advertisement) { return report }
            let time = options.duration.map { " within \($0.inSeconds)" } ?? ""
            throw BluetoothError(
                .notFound, .init("look for a device"), "No device that matches was seen\(time).",
                remedy: BluetoothError.outOfReachRemedy, isRetryable: true)
        }
    }
}
