import BluetoothGATT
import BluetoothLE
import Foundation

extension CBMutableService {
    /// The definition that is published, without included services.
    /// - Throws: ``CBError`` when the service cannot be published.
    var definition: LocalService {
        get throws {
            let uuid = uuid.bluetooth
            guard uuid != .genericAccess, uuid != .genericAttribute else { throw CBError(.uuidNotAllowed) }
            return LocalService(
                uuid, isPrimary: isPrimary,
                characteristics: try (characteristics ?? []).map { characteristic in
                    guard let characteristic = characteristic as? CBMutableCharacteristic else {
                        throw CBError(.invalidParameters)
                    }
                    return try characteristic.definition
                })
        }
    }
}

extension CBMutableCharacteristic {
    fileprivate var definition: LocalCharacteristic {
        get throws {
            // A cached value can only be read.
            if value != nil,
                properties != .read || !permissions.isSubset(of: [.readable, .readEncryptionRequired])
            {
                throw CBError(
                    .invalidParameters,
                    userInfo: [NSLocalizedDescriptionKey: "Characteristics with cached values must be read-only."])
            }
            var onAir = CharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: properties.rawValue))
                .subtracting([.broadcast, .extendedProperties])
            var access: AttributePermissions = []
            if permissions.contains(.readable) { access.insert(.read) }
            if permissions.contains(.writeable) { access.insert(.write) }
            if permissions.contains(.readEncryptionRequired) { access.formUnion([.read, .readEncrypted]) }
            if permissions.contains(.writeEncryptionRequired) { access.formUnion([.write, .writeEncrypted]) }
            var own: [LocalDescriptor] = []
            let isEncrypted = !properties.isDisjoint(with: [.notifyEncryptionRequired, .indicateEncryptionRequired])
            if properties.contains(.notifyEncryptionRequired) { onAir.insert(.notify) }
            if properties.contains(.indicateEncryptionRequired) { onAir.insert(.indicate) }
            if !onAir.isDisjoint(with: [.notify, .indicate]) {
                own.append(
                    LocalDescriptor(
                        .clientCharacteristicConfiguration,
                        permissions: isEncrypted ? [.read, .write, .writeEncrypted] : [.read, .write]))
            }
            for descriptor in descriptors ?? [] {
                // Added by the system.
                if descriptor.uuid.bluetooth == .clientCharacteristicConfiguration { continue }
                guard let bytes = CBDescriptor.bytes(descriptor.value, of: descriptor.uuid.bluetooth) else {
                    throw CBError(.invalidParameters)
                }
                own.append(LocalDescriptor(descriptor.uuid.bluetooth, value: bytes))
            }
            return LocalCharacteristic(
                uuid.bluetooth, properties: onAir, value: value.map { Array($0) }, permissions: access
            ) { own }
        }
    }
}
