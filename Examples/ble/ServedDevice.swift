import BluetoothATT
import BluetoothLE
import ExampleSupport
import Synchronization

/// The device that `ble serve` acts as: services with values, one of which may change automatically.
struct ServedDevice: Sendable {
    var name: String
    var appearance: Appearance?
    var services: [LocalService]
    /// The characteristic that changes automatically each second, and its values, one after the other.
    var changing: LocalCharacteristic?
    var change: @Sendable (Int) -> [UInt8] = { _ in [] }

    /// A battery that discharges by a per cent a second and is then full again.
    static let battery = ServedDevice(
        name: "Battery", service: "180F", [],
        changing: LocalCharacteristic("2A19", properties: [.read, .notify], value: [97])
    ) { [UInt8(96 - $0 % 97)] }

    /// A heart that beats between 60 and 90 times a minute; the sensor is worn at the chest.
    static let heartRate = ServedDevice(
        name: "Heart Rate", appearance: Appearance(rawValue: 0x0341), service: "180D",
        [
            LocalCharacteristic("2A38", properties: .read, value: [1]),
            LocalCharacteristic("2A39", properties: .write, valueLengths: 1...1),
        ],
        changing: LocalCharacteristic("2A37", properties: .notify)
    ) { [0x06, UInt8(60 + abs(30 - $0 % 60))] }

    /// The battery, the heart rate sensor, or the device described by a file.
    init(_ profile: String) throws {
        switch profile {
        case "battery": self = .battery
        case "heart-rate": self = .heartRate
        default:
            let bytes = try readFile(profile)
            let description: JSONValue
            do throws(JSONProblem) {
                description = try JSONValue(reading: bytes)
            } catch {
                throw ProgramError(.badData, "The file is not JSON: \(error).")
            }
            self = try ServedDevice(describedBy: description)
        }
    }

    private init(
        name: String, appearance: Appearance? = nil, service: BluetoothUUID, _ others: [LocalCharacteristic],
        changing: LocalCharacteristic, change: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.name = name
        self.appearance = appearance
        services = [LocalService(service, characteristics: [changing] + others)]
        self.changing = changing
        self.change = change
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
            var characteristics: [LocalCharacteristic] = []
            for characteristic in service["characteristics"]?.elements ?? [] {
                let uuid = try Self.uuid(characteristic)
                characteristics.append(
                    LocalCharacteristic(
                        uuid, properties: try Self.properties(characteristic, of: uuid),
                        value: try Self.value(characteristic, of: uuid)
                    ) {
                        if let label = characteristic["description"]?.text { LocalDescriptor.userDescription(label) }
                    })
            }
            services.append(LocalService(try Self.uuid(service), characteristics: characteristics))
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
            "read": .read, "write": .write, "writeWithoutResponse": .writeWithoutResponse,
            "write-without-response": .writeWithoutResponse, "notify": .notify,
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

/// The current values of the characteristics, which devices read and write.
final class ServedValues: Sendable {
    private let values: Mutex<[DefinitionID: [UInt8]]>

    init(of services: [LocalService]) {
        let characteristics = services.flatMap(\.characteristics)
        values = Mutex(
            Dictionary(characteristics.map { ($0.id, $0.value ?? []) }, uniquingKeysWith: { first, _ in first }))
    }

    subscript(characteristic: DefinitionID) -> [UInt8] {
        get { values.withLock { $0[characteristic] ?? [] } }
        set { values.withLock { $0[characteristic] = newValue } }
    }

    /// Stores a written value; a part replaces the value from its offset on.
    func store(_ write: WriteRequest) {
        values.withLock { values in
            let before = write.offset == 0 ? [] : Array((values[write.target] ?? []).prefix(write.offset))
            values[write.target] = before + write.value
        }
    }
}
