import BluetoothATT
import BluetoothPrimitives
import TestSupport

import BluetoothGATT

/// Databases of all kinds, generated from a seed.
enum RandomDatabase {
    static func make(_ generator: inout SeededGenerator) throws -> [GATTService] {
        var services: [GATTService] = []
        for _ in 0..<Int.random(in: 0...7, using: &generator) {
            let uuid = uuid(&generator)
            let included = services.map(\.uuid).filter { _ in generator.oneIn(4) }
            services.append(
                GATTService(
                    uuid, isPrimary: !generator.oneIn(3),
                    includedServices: included.filter { $0 != uuid }.map { .uuid($0) },
                    handle: try gap(behind: services, &generator)))
            let current = services.count - 1
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                let handle = try gap(behind: services, &generator)
                services[current].characteristics.append(characteristic(handle, &generator))
                let last = services[current].characteristics.count - 1
                for uuid in descriptors.shuffled(using: &generator).prefix(Int.random(in: 0...3, using: &generator))
                where generator.oneIn(2) {
                    let handle = try gap(behind: services, &generator)
                    services[current].characteristics[last].descriptors.append(GATTDescriptor(uuid, handle: handle))
                }
            }
            services[current].endHandle = try gap(behind: services, &generator)
        }
        if generator.oneIn(4) { services.append(atTheEnd(&generator)) }
        return services
    }

    /// Descriptors that no property requires; required ones would be placed before the others.
    private static let descriptors: [BluetoothUUID] = [
        .characteristicUserDescription, .characteristicPresentationFormat, .characteristicAggregateFormat,
        0x290E, 0x1234_5678, "10000000-0000-0001-0000-00000000ABCD",
    ]

    private static func characteristic(
        _ handle: AttributeHandle?, _ generator: inout SeededGenerator
    ) -> GATTCharacteristic {
        GATTCharacteristic(
            uuid(&generator), properties: CharacteristicProperties(rawValue: .random(in: 0...255, using: &generator)),
            extendedProperties: generator.oneIn(5) ? .reliableWrite : [], value: .stored([1, 2, 3]), handle: handle)
    }

    private static func uuid(_ generator: inout SeededGenerator) -> BluetoothUUID {
        let number = UInt16.random(in: 0x1800...0x18FF, using: &generator)
        return switch Int.random(in: 0..<4, using: &generator) {
        case 0: BluetoothUUID(UInt32(number) << 16 | 1)
        case 1: BluetoothUUID(high: UInt64(number) << 32, low: 0xABCD)
        default: BluetoothUUID(number)
        }
    }

    /// Occasionally a handle slightly above all used ones.
    private static func gap(
        behind services: [GATTService], _ generator: inout SeededGenerator
    ) throws -> AttributeHandle? {
        guard generator.oneIn(5) else { return nil }
        let attributes = try AttributeDatabase(services).attributes
        let last = attributes.map { max($0.handle, $0.groupEnd) }.max()?.rawValue ?? 0
        return AttributeHandle(last + .random(in: 1...4, using: &generator))
    }

    /// A service that ends at 0xFFFF.
    private static func atTheEnd(_ generator: inout SeededGenerator) -> GATTService {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: GATTService(0x1801, handle: 0xFFFF)
        case 1: GATTService(0x1801, handle: 0xFFF0, endHandle: 0xFFFF)
        case 2:
            GATTService(
                0x1801, characteristics: [GATTCharacteristic(0x2A05, properties: .read, handle: 0xFFFE)],
                handle: 0xFFF0)
        default:
            GATTService(
                0x1801, characteristics: [GATTCharacteristic(0x2A05, properties: .indicate, handle: 0xFFFD)],
                handle: 0xFFFC)
        }
    }
}
