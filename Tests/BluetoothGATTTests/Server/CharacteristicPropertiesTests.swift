import BluetoothPrimitives
import BluetoothGATT
import Testing

@Suite struct CharacteristicPropertiesTests {
    @Test("each property has the bit and the name of Core Vol 3 Part G §3.3.1.1")
    func bits() {
        let names: [(CharacteristicProperties, UInt8, String)] = [
            (.broadcast, 0x01, "[broadcast]"), (.read, 0x02, "[read]"),
            (.writeWithoutResponse, 0x04, "[writeWithoutResponse]"), (.write, 0x08, "[write]"),
            (.notify, 0x10, "[notify]"), (.indicate, 0x20, "[indicate]"),
            (.authenticatedSignedWrites, 0x40, "[authenticatedSignedWrites]"),
            (.extendedProperties, 0x80, "[extendedProperties]"), ([.read, .notify], 0x12, "[read, notify]"),
        ]
        for (property, bit, name) in names {
            #expect(property.rawValue == bit)
            #expect(property.description == name)
        }
    }

    @Test("bits without a name are printed in hexadecimal")
    func unnamed() {
        #expect(ClientCharacteristicConfiguration(rawValue: 0x8001).description == "[notification, 0x8000]")
        #expect(CharacteristicExtendedProperties(rawValue: 3).description == "[reliableWrite, writableAuxiliaries]")
    }

    @Test("the declarations and descriptors have their assigned numbers")
    func identifiers() {
        #expect(BluetoothUUID.primaryService == 0x2800)
        #expect(BluetoothUUID.characteristic == 0x2803)
        #expect(BluetoothUUID.clientCharacteristicConfiguration == 0x2902)
        #expect(BluetoothUUID.genericAccess == 0x1800)
        #expect(BluetoothUUID.serviceChanged == 0x2A05)
    }
}
