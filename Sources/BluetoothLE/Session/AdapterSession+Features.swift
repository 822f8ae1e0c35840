import HCI

extension AdapterSession {
    func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try checkUsable()
        guard case .leFeatures(let features) = try await controller.value.features(operation("read features")) else {
            throw .unreadable(operation("read features"))
        }
        return features.contains(.extendedAdvertising)
    }
}

extension Controller {
    /// What the controller can do.
    nonisolated(nonsending) func features(_ operation: BluetoothError.Operation) async throws(BluetoothError)
        -> HCIReturnParameters
    {
        let call = Promise<HCIReturnParameters, BluetoothError>()
        send(.leReadLocalSupportedFeatures) { call.resolve($0.mapError { $0.about(operation) }) }
        return try await call.value(operation, timeout: .seconds(10), on: loop)
    }
}
