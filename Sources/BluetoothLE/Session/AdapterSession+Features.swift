extension AdapterSession {
    func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try checkUsable()
        return try await host.scanning.features(operation("read features")).contains(.extendedAdvertising)
    }
}
