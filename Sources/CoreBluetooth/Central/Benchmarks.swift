package import BluetoothLE

// For Tests/Benchmarks, which is a package of its own that has this one's name for access.

extension CBCentralManager {
    /// Adopts a link that is up, to whose device the manager then connects at once; returns the device's peripheral.
    package func adopt(_ connection: Connection) async -> CBPeripheral? {
        guard let handle else { return nil }
        await handle.radio.adopt(connection)
        return handle.peripheral(connection.peer)
    }
}
