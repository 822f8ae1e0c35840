import BluetoothPrimitives
import Testing

import BluetoothGATT

@Suite struct BuilderTests {
    @Test("a tree equals the list of its parts")
    func tree() throws {
        let channels: [BluetoothUUID] = [0xFFF2, 0xFFF3]
        let database = try AttributeDatabase {
            GATTService("180F") {
                GATTCharacteristic("2A19", properties: [.read, .notify], value: .stored([100])) {
                    GATTDescriptor.userDescription("Battery level")
                    GATTDescriptor.presentationFormat(PresentationFormat(format: .uint8, unit: 0x27AD))
                }
            }
            GATTService(0xFFF0, handle: 0x20) {
                GATTCharacteristic(0xFFF1, properties: .write)
                for channel in channels { GATTCharacteristic(channel, properties: .read, value: .stored([])) }
            }.including(0x180F)
        }
        let listed = try AttributeDatabase([
            GATTService(
                0x180F,
                characteristics: [
                    GATTCharacteristic(
                        0x2A19, properties: [.read, .notify], value: .stored([100]),
                        descriptors: [
                            GATTDescriptor(
                                .characteristicUserDescription, value: .stored([UInt8]("Battery level".utf8))),
                            GATTDescriptor(
                                .characteristicPresentationFormat, value: .stored([0x04, 0, 0xAD, 0x27, 1, 0, 0]),
                                valueLengths: 7...7),
                        ])
                ]),
            GATTService(
                0xFFF0, includedServices: [0x180F],
                characteristics: [
                    GATTCharacteristic(0xFFF1, properties: .write),
                    GATTCharacteristic(0xFFF2, properties: .read, value: .stored([])),
                    GATTCharacteristic(0xFFF3, properties: .read, value: .stored([])),
                ], handle: 0x20),
        ])
        #expect(database.attributes == listed.attributes)
        #expect(database.attributes.count == 14)
    }

    @Test("conditions select parts", arguments: [true, false])
    func conditions(hasName: Bool) {
        let service = GATTService(0x1800) {
            if hasName { GATTCharacteristic(.deviceName, properties: .read, value: .stored([])) }
            if hasName {
                GATTCharacteristic(0x2A01, properties: .read)
            } else {
                GATTCharacteristic(0x2A04, properties: .read)
            }
        }
        #expect(service.characteristics.map(\.uuid) == (hasName ? [.deviceName, 0x2A01] : [0x2A04]))
    }

    @Test("a writable description is declared as such", arguments: [true, false])
    func writableDescription(isWritable: Bool) throws {
        let database = try AttributeDatabase {
            GATTService(0xFFF0) {
                GATTCharacteristic(0xFFF1, properties: .read, value: .stored([])) {
                    GATTDescriptor.userDescription("x", isWritable: isWritable)
                }
            }
        }
        let description = try #require(database.attributes.last)
        #expect(description.permissions == (isWritable ? [.read, .write] : .read))
        let extended = database.attributes.first { $0.type == .characteristicExtendedProperties }
        #expect(extended?.storedValue == (isWritable ? [2, 0] : nil))
        #expect(database.attributes[1].storedValue?.first == (isWritable ? 0x82 : 0x02))
    }
}
