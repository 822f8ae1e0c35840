import BluetoothAdvertising
import BluetoothSockets
import BluetoothPrimitives

extension AdapterSession {
    func scan(_ options: ScanOptions = ScanOptions()) async throws(BluetoothError) -> BoundedStream<
        Advertisement
    > {
        try checkUsable()
        return try await scanner.scan(options, for: self)
    }

    func first(
        timeout: Duration?, options: ScanOptions = ScanOptions(),
        where condition: @Sendable (Advertisement) -> Bool = { _ in true }
    ) async throws(BluetoothError) -> Advertisement {
        let advertisements = try await scan(options)
        let deadline = timeout.map { timeout in
            let timer = loop.makeTimer { [operation = operation("look for a device")] in
                advertisements.finish(
                    BluetoothError(
                        .notFound, operation, "No device that matches was seen within \(timeout.inSeconds).",
                        remedy: BluetoothError.outOfReachRemedy, isRetryable: true))
            }
            timer.set(after: timeout)
            return timer
        }
        defer { deadline?.cancel() }
        for try await advertisement in advertisements where condition(advertisement) { return advertisement }
        throw .cancelled(operation("look for a device"))
    }

    var obstacles: HostObstacles { host.obstacles }

    func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try checkUsable()
        return try await host.scanning.features(operation("read features")).contains(.extendedAdvertising)
    }
}
