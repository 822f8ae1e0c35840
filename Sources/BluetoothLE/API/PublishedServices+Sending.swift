import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension PublishedServices {
    /// Notifies every subscriber of the value at this handle; see ``PublishedValue/notify(_:timeout:)``.
    @discardableResult
    package nonisolated(nonsending) func notify(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = .seconds(5)
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try check(characteristic, .notification, "notify")
        return await session.broadcast(value, of: characteristic, as: .notification, timeout: timeout)
    }

    /// Indicates to every subscriber of the value at this handle; see ``PublishedValue/indicate(_:timeout:)``.
    @discardableResult
    package nonisolated(nonsending) func indicate(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [ValueDelivery] {
        try check(characteristic, .indication, "indicate")
        return await session.broadcast(value, of: characteristic, as: .indication, timeout: timeout)
    }

    /// Sends every subscriber the value at this handle once: an indication to those that have asked for indications, a
    /// notification to the others.
    package nonisolated(nonsending) func send(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration
    ) async -> [ValueDelivery] {
        await session.broadcast(value, of: characteristic, as: [.notification, .indication], timeout: timeout)
    }

    private func check(
        _ characteristic: AttributeHandle, _ kind: ClientCharacteristicConfiguration, _ property: String
    ) throws(BluetoothError) {
        let operation = BluetoothError.Operation(property, attribute: characteristic)
        guard handles.contains(characteristic) else {
            throw .invalidArgument(
                operation, "\(characteristic) is not among these services, which have \(handles).")
        }
        guard !isClosed else { throw .invalidArgument(operation, "These services have been closed.") }
        guard supportedConfiguration(of: characteristic).isSuperset(of: kind) else {
            throw .invalidArgument(
                operation, "\(characteristic) is not the value of a characteristic with the property \(property).")
        }
    }
}
