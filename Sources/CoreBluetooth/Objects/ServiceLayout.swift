import BluetoothGATT
import BluetoothLE
import Foundation

/// A program's service as an attribute server's service, with the positions of its values.
struct ServiceLayout: Sendable {
    let service: GATTService
    /// The services that it includes.
    let included: [CBService]
    let characteristics: [CBMutableCharacteristic]

    /// - Throws: ``CBError`` when the service cannot be published.
    init(_ service: CBMutableService) throws {
        let uuid = service.uuid.bluetooth
        guard uuid != .genericAccess, uuid != .genericAttribute else { throw CBError(.uuidNotAllowed) }
        characteristics = try (service.characteristics ?? []).map { characteristic in
            guard let characteristic = characteristic as? CBMutableCharacteristic else {
                throw CBError(.invalidParameters)
            }
            return characteristic
        }
        included = service.includedServices ?? []
        self.service = GATTService(
            uuid, isPrimary: service.isPrimary,
            includedServices: included.map { .uuid($0.uuid.bluetooth) },
            characteristics: try characteristics.map { try $0.layout })
    }

    /// The handles of the values if the service's declaration is at `start`.
    func valueHandles(from start: AttributeHandle) -> [AttributeHandle] {
        var next = Int(start.rawValue) + 1 + service.includedServices.count
        return service.characteristics.map { characteristic in
            defer { next += 2 + characteristic.descriptors.count }
            return AttributeHandle(UInt16(clamping: next + 1))
        }
    }
}

extension CBMutableCharacteristic {
    fileprivate var layout: GATTCharacteristic {
        get throws {
            // A cached value can only be read.
            if value != nil,
                properties != .read || !permissions.isSubset(of: [.readable, .readEncryptionRequired])
            {
                throw CBError(
                    .invalidParameters,
                    userInfo: [NSLocalizedDescriptionKey: "Characteristics with cached values must be read-only."])
            }
            let onAir = CharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: properties.rawValue))
                .subtracting([.broadcast, .extendedProperties])
            var access: AttributePermissions = []
            if permissions.contains(.readable) { access.insert(.read) }
            if permissions.contains(.writeable) { access.insert(.write) }
            if permissions.contains(.readEncryptionRequired) { access.formUnion([.read, .readEncrypted]) }
            if permissions.contains(.writeEncryptionRequired) { access.formUnion([.write, .writeEncrypted]) }
            var own: [GATTDescriptor] = []
            let isEncrypted = !properties.isDisjoint(with: [.notifyEncryptionRequired, .indicateEncryptionRequired])
            var onAirProperties = onAir
            if properties.contains(.notifyEncryptionRequired) { onAirProperties.insert(.notify) }
            if properties.contains(.indicateEncryptionRequired) { onAirProperties.insert(.indicate) }
            if !onAirProperties.isDisjoint(with: [.notify, .indicate]) {
                own.append(
                    GATTDescriptor(
                        .clientCharacteristicConfiguration,
                        permissions: isEncrypted ? [.read, .write, .writeEncrypted] : [.read, .write]))
            }
            for descriptor in descriptors ?? [] {
                // Added by the system.
                if descriptor.uuid.bluetooth == .clientCharacteristicConfiguration { continue }
                guard let bytes = CBDescriptor.bytes(descriptor.value, of: descriptor.uuid.bluetooth) else {
                    throw CBError(.invalidParameters)
                }
                own.append(GATTDescriptor(descriptor.uuid.bluetooth, value: .stored(bytes)))
            }
            return GATTCharacteristic(
                uuid.bluetooth, properties: onAirProperties, permissions: access,
                value: value.map { .stored(Array($0)) } ?? .dynamic, descriptors: own)
        }
    }
}
