import BluetoothAdvertising
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

extension AdapterSession {
    func scan(_ options: ScanOptions) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        try checkUsable()
        return try await scanner.scan(options, for: self)
    }

    func closed(_ handler: @escaping (BluetoothError) -> Void) async -> BluetoothError {
        let machine = powerState.value
        if let end = machine.end {
            handler(end)
            return end
        }
        let call = Promise<BluetoothError, Never>()
        let number = machine.follow { turn in
            guard case .ended(let reason) = turn else { return }
            handler(reason)
            call.succeed(reason)
        }
        defer { machine.unfollow(number) }
        return await call.value(ifCancelled: .cancelled(self.operation("wait for the adapter's end")))
    }

    func defaults() async throws(BluetoothError) -> AdapterDefaults {
        try await host.defaults(operation("read the adapter's defaults"))
    }

    func setDefaults(_ defaults: AdapterDefaults) async throws(BluetoothError) {
        let operation = operation("set the adapter's defaults")
        try defaults.check(operation)
        try await host.setDefaults(defaults, operation)
    }

    func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try checkUsable()
        return try await host.scanning.features(operation("read features")).contains(.extendedAdvertising)
    }
}
