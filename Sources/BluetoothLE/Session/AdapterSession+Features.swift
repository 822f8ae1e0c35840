extension AdapterSession {
    var obstacles: HostObstacles { host.obstacles }

    func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try checkUsable()
        return try await host.scanning.features(operation("read features")).contains(.extendedAdvertising)
    }
}
