import BluetoothPrimitives
import GATT

extension AttributeDatabase {
    /// What a device that is only a client still has to offer: the Generic Access and Generic Attribute services
    /// (Core Vol 3 Part C §12, Part G §7).
    static func generic(deviceName: String) -> AttributeDatabase {
        var deviceName = deviceName
        while deviceName.utf8.count > 248 { deviceName.removeLast() }
        let services = [
            GATTService(
                .genericAccess,
                characteristics: [
                    GATTCharacteristic(
                        .deviceName, properties: .read, value: .stored([UInt8](deviceName.utf8))),
                    GATTCharacteristic(.appearance, properties: .read, value: .stored([0x80, 0x00])),
                ]),
            GATTService(
                .genericAttribute,
                characteristics: [
                    GATTCharacteristic(.serviceChanged, properties: .indicate, value: .stored([1, 0, 0xFF, 0xFF])),
                    GATTCharacteristic(
                        .clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8),
                    GATTCharacteristic(.databaseHash, properties: .read, value: .stored([])),
                    GATTCharacteristic(
                        .serverSupportedFeatures, properties: .read, value: .stored([GATTServerFeatures().rawValue])),
                ]),
        ]
        return (try? AttributeDatabase(services)) ?? .empty
    }
}
