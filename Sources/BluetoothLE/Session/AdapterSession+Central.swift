import BluetoothAdvertising
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

extension AdapterSession {
    func scan(_ options: ScanOptions) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        try checkUsable()
        return try await scanner.scan(options, for: self)
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
