import BluetoothATT
import BluetoothPrimitives

// For Tests/Benchmarks, which is a package of its own and so does not see package declarations.

@_spi(Benchmarks) extension Bond {
    /// A bond of a device whose private addresses this key resolves.
    public init(identity: BluetoothAddress, resolvedBy key: SecurityKey) {
        self.init(identity: identity, identityResolvingKey: key)
    }
}

@_spi(Benchmarks) extension Connection {
    /// Notifies the peer of the value of a characteristic of the local server.
    public nonisolated(nonsending) func notify(
        _ value: [UInt8], at characteristic: AttributeHandle
    ) async throws(BluetoothError) {
        try await notify(value, of: characteristic)
    }
}
