import ATT
import BluetoothPrimitives
import GATT

extension Connection {
    /// Reads a descriptor and takes its value in the terms of its kind (Core Vol 3 Part G §4.12.1, §3.3.3).
    ///
    /// A value without the form of its kind is ``DescriptorValue/other(_:_:)`` with its bytes.
    public func readValue(
        of descriptor: RemoteDescriptor, timeout: Duration? = nil
    ) async throws(BluetoothError) -> DescriptorValue {
        DescriptorValue(try await read(descriptor, timeout: timeout), of: descriptor.uuid)
    }

    /// Reads the properties of a characteristic that have no room in its declaration (Core Vol 3 Part G §3.3.3.1):
    /// whether it takes ``writeReliably(_:timeout:)``, and whether its user description may be written.
    ///
    /// A characteristic whose declaration says that it has none is not asked, nor one without the descriptor.
    public func extendedProperties(
        of characteristic: RemoteCharacteristic, timeout: Duration? = nil
    ) async throws(BluetoothError) -> CharacteristicExtendedProperties {
        guard characteristic.properties.contains(.extendedProperties),
            let descriptor = characteristic.descriptor(.characteristicExtendedProperties),
            case .extendedProperties(let properties) = try await readValue(of: descriptor, timeout: timeout)
        else { return [] }
        return properties
    }
}
