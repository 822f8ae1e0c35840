import BluetoothLE
import ExampleSupport
import Synchronization

/// The device that `ble serve` acts as: services with values, one of which may change automatically.
struct ServedDevice: Sendable {
    var name: String
    var appearance: Appearance?
    var services: [GATTService]
    /// The initial values, by characteristic.
    var values: [BluetoothUUID: [UInt8]] = [:]
    /// The characteristic whose value changes every second.
    var changing: BluetoothUUID?
    var change: @Sendable (Int) -> [UInt8] = { _ in [] }

    /// A battery that discharges by one per cent a second and then starts over.
    static let battery = ServedDevice(
        name: "Battery",
        services: [GATTService("180F", characteristics: [GATTCharacteristic("2A19", properties: [.read, .notify])])],
        values: ["2A19": [97]], changing: "2A19", change: { [UInt8(96 - $0 % 97)] })

    /// A heart rate sensor with a rate of 60 to 90 beats per minute.
    static let heartRate = ServedDevice(
        name: "Heart Rate", appearance: Appearance(rawValue: 0x0341),
        services: [
            GATTService(
                "180D",
                characteristics: [
                    GATTCharacteristic("2A37", properties: .notify),
                    GATTCharacteristic("2A38", properties: .read),
                    GATTCharacteristic("2A39", properties: .write, valueLengths: 1...1),
                ])
        ],
        // Body Sensor Location: chest.
        values: ["2A38": [1]], changing: "2A37", change: { [0x06, UInt8(60 + abs(30 - $0 % 60))] })

    /// The battery, the heart rate sensor, or the device described by a file.
    init(_ profile: String) throws {
        switch profile {
        case "battery": self = .battery
        case "heart-rate": self = .heartRate
        default: self = try ServedDevice(describedBy: try JSONValue(reading: try readFile(profile)))
        }
    }

    private init(
        name: String, appearance: Appearance? = nil, services: [GATTService], values: [BluetoothUUID: [UInt8]],
        changing: BluetoothUUID?, change: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.name = name
        self.appearance = appearance
        self.services = services
        self.values = values
        self.changing = changing
        self.change = change
    }
}

extension ServedDevice {
    /// The properties of a characteristic.
    func properties(of uuid: BluetoothUUID) -> CharacteristicProperties {
        services.lazy.flatMap(\.characteristics).first { $0.uuid == uuid }?.properties ?? []
    }
}

// The file format; see ServeCommand.
extension ServedDevice {
    private init(describedBy description: JSONValue) throws {
        guard let described = description["services"]?.elements, !described.isEmpty else {
            throw ProgramError(.badData, "The description has no \"services\".", remedy: "See: ble serve --help")
        }
        name = description["name"]?.text ?? "served"
        services = []
        for service in described {
            var characteristics: [GATTCharacteristic] = []
            for characteristic in service["characteristics"]?.elements ?? [] {
                let uuid = try Self.uuid(characteristic)
                values[uuid] = try Self.value(characteristic, of: uuid)
                let label = characteristic["description"]?.text
                characteristics.append(
                    GATTCharacteristic(
                        uuid, properties: try Self.properties(characteristic, of: uuid),
                        descriptors: label.map {
                            [GATTDescriptor(.characteristicUserDescription, value: .stored(Array($0.utf8)))]
                        } ?? []))
            }
            services.append(GATTService(try Self.uuid(service), characteristics: characteristics))
        }
    }

    private static func uuid(_ object: JSONValue) throws -> BluetoothUUID {
        guard let text = object["uuid"]?.text, let uuid = BluetoothUUID(text) else {
            throw ProgramError(.badData, "A \"uuid\" is missing or invalid: give 4, 8 or 32 hexadecimal digits.")
        }
        return uuid
    }

    private static func value(_ object: JSONValue, of uuid: BluetoothUUID) throws -> [UInt8] {
        let longest = AttributeProtocol.maximumAttributeValueLength
        if let text = object["text"]?.text {
            guard text.utf8.count <= longest else {
                throw ProgramError(.badData, "The \"text\" of \(uuid) is longer than \(longest) bytes.")
            }
            return Array(text.utf8)
        }
        guard let hexadecimal = object["value"]?.text else { return [] }
        guard let bytes = [UInt8](hexadecimal: hexadecimal), bytes.count <= longest else {
            throw ProgramError(.badData, "The \"value\" of \(uuid) must be up to \(longest) bytes in hexadecimal.")
        }
        return bytes
    }

    private static func properties(
        _ object: JSONValue, of uuid: BluetoothUUID
    ) throws -> CharacteristicProperties {
        let names: [String: CharacteristicProperties] = [
            "read": .read, "write": .write, "write-without-response": .writeWithoutResponse, "notify": .notify,
            "indicate": .indicate,
        ]
        var properties: CharacteristicProperties = []
        for element in object["properties"]?.elements ?? [] {
            guard let text = element.text, let property = names[text] else {
                throw ProgramError(
                    .badData, "\(uuid) has an unknown property \(element).",
                    remedy: "Properties: \(names.keys.sorted().joined(separator: ", ")).")
            }
            properties.insert(property)
        }
        return properties
    }
}

/// The served values, which centrals read and write.
final class ServedValues: Sendable {
    private let values: Mutex<[BluetoothUUID: [UInt8]]>

    init(_ values: [BluetoothUUID: [UInt8]]) {
        self.values = Mutex(values)
    }

    subscript(uuid: BluetoothUUID) -> [UInt8] {
        get { values.withLock { $0[uuid] ?? [] } }
        set { values.withLock { $0[uuid] = newValue } }
    }

    /// Applies a write: replaces the value from `offset` on.
    func write(_ bytes: [UInt8], at offset: Int, to uuid: BluetoothUUID) {
        values.withLock { values in
            let before = offset == 0 ? [] : Array((values[uuid] ?? []).prefix(offset))
            values[uuid] = before + bytes
        }
    }
}
