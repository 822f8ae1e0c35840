import BluetoothAdvertising
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

extension AdapterSession {
    func scan(_ options: ScanOptions = ScanOptions()) async throws(BluetoothError) -> BoundedStream<
        Advertisement
    > {
        try checkUsable()
        return try await scanner.scan(options, for: self)
    }

    func devices(for duration: Duration, options: ScanOptions) async throws(BluetoothError) -> [Advertisement] {
        var options = options
        options.duration = duration
        // Every report, so that the RSSI is that of the newest.
        options.duplicates = .all
        var devices = DeviceTable(capacity: options.deviceLimit)
        for try await advertisement in try await scan(options) { devices.record(advertisement) }
        return devices.all.map(\.latest).sorted { ($0.rssi ?? Int.min) > ($1.rssi ?? Int.min) }
    }

    func firstAdvertisement(
        timeout: Duration?, options: ScanOptions, where condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Advertisement {
        var options = options
        options.duration = timeout ?? options.duration
        for try await advertisement in try await scan(options) where condition(advertisement) { return advertisement }
        let time = options.duration.map { " within \($0.inSeconds)" } ?? ""
        throw BluetoothError(
            .notFound, operation("look for a device"), "No device that matches was seen\(time).",
            remedy: BluetoothError.outOfReachRemedy, isRetryable: true)
    }

    func defaults() async throws(BluetoothError) -> AdapterDefaults {
        try await host.defaults(operation("read the adapter's defaults"))
    }

    func setDefaults(_ defaults: AdapterDefaults) async throws(BluetoothError) {
        try await host.setDefaults(defaults, operation("set the adapter's defaults"))
    }

    var obstacles: HostObstacles { host.obstacles }

    func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try checkUsable()
        return try await host.scanning.features(operation("read features")).contains(.extendedAdvertising)
    }
}
