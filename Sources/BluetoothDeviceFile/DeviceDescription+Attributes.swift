import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

extension DeviceDescription {
    /// The device's services; Generic Access and Generic Attribute come first if it describes none.
    package var gattServices: [GATTService] {
        var own: [GATTService] = []
        if !services.contains(where: { $0.uuid == .genericAccess }) {
            var access = [
                GATTCharacteristic(.deviceName, properties: .read, value: .stored(Array((name ?? "").utf8)))
            ]
            if let code = appearance?.rawValue {
                access.append(
                    GATTCharacteristic(
                        .appearance, properties: .read,
                        value: .stored([UInt8(truncatingIfNeeded: code), UInt8(code >> 8)])))
            }
            own.append(GATTService(.genericAccess, characteristics: access))
        }
        if !services.contains(where: { $0.uuid == .genericAttribute }) {
            own.append(
                GATTService(
                    .genericAttribute,
                    characteristics: [GATTCharacteristic(.serviceChanged, properties: .indicate, value: .dynamic)]))
        }
        return own + services.map(\.gattService)
    }

    /// The number of services in ``gattServices`` before the described ones.
    package var addedServiceCount: Int {
        [.genericAccess, .genericAttribute].count { uuid in !services.contains { $0.uuid == uuid } }
    }

    /// The time after which recorded notifications repeat: the length of the recording, otherwise a second more than the
    /// last notification needs.
    package var notificationPeriod: Duration {
        let last = services.lazy.flatMap(\.characteristics).flatMap(\.notifications).map(\.time).max() ?? .zero
        return max(recording?.duration ?? last + .seconds(1), last + .milliseconds(1))
    }
}

extension DescribedService {
    fileprivate var gattService: GATTService {
        GATTService(
            uuid, isPrimary: isPrimary,
            includedServices: includes.map { include in include.handle.map { .declared(at: $0) } ?? .uuid(include.uuid)
            },
            characteristics: characteristics.map(\.gattCharacteristic), handle: handle, endHandle: end)
    }
}

extension DescribedCharacteristic {
    fileprivate var gattCharacteristic: GATTCharacteristic {
        // Echoed writes are passed to the program and not stored.
        GATTCharacteristic(
            uuid, properties: properties, permissions: permissions,
            value: echo == nil && value.error == nil ? .stored(value.bytes ?? []) : .dynamic,
            descriptors: descriptors.map(\.gattDescriptor),
            handle: handle.map { AttributeHandle($0.rawValue - 1) })
    }
}

extension DescribedDescriptor {
    fileprivate var gattDescriptor: GATTDescriptor {
        let permissions =
            permissions ?? (uuid == .clientCharacteristicConfiguration ? [.read, .write] : .read)
        return GATTDescriptor(
            uuid, permissions: permissions, value: value.error == nil ? .stored(value.bytes ?? []) : .dynamic,
            handle: handle)
    }
}
