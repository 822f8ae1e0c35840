import ATT
import BluetoothPrimitives
import GATT

extension Link {
    nonisolated(nonsending) func readValue(
        of descriptor: RemoteDescriptor, timeout: Duration? = nil
    ) async throws(BluetoothError) -> DescriptorValue {
        DescriptorValue(try await read(descriptor, timeout: timeout), of: descriptor.uuid)
    }

    nonisolated(nonsending) func extendedProperties(
        of characteristic: RemoteCharacteristic, timeout: Duration? = nil
    ) async throws(BluetoothError) -> CharacteristicExtendedProperties {
        guard characteristic.properties.contains(.extendedProperties),
            let descriptor = characteristic.descriptor(.characteristicExtendedProperties),
            case .extendedProperties(let properties) = try await readValue(of: descriptor, timeout: timeout)
        else { return [] }
        return properties
    }
}
