import BluetoothLE
import BluetoothPrimitives
import BluetoothProfiles

/// The format of an assigned characteristic's value: that of its type in BluetoothProfiles, else one from its service's
/// specification and the GATT Specification Supplement.
///
/// To add one without a type: a line in the table of its topic.
enum CharacteristicFormat: Sendable {
    /// UTF-8.
    case text
    /// A type of BluetoothProfiles.
    case typed(any TypedCharacteristic)
    /// A format of its own; nil if the value does not have it.
    case custom(@Sendable ([UInt8]) -> DecodedValue?)

    /// The format of an assigned characteristic; nil if it is not in a table.
    init?(_ uuid: BluetoothUUID?) {
        guard let uuid else { return nil }
        if let characteristic = TypedCharacteristics.all[uuid] {
            self = characteristic.isText ? .text : .typed(characteristic)
        } else if let format = uuid.uint16.flatMap({ Self.all[$0] }) {
            self = format
        } else {
            return nil
        }
    }

    private static let all = devices.merging(bodies) { first, _ in first }

    /// The decoded value; nil if it does not have the format.
    func decode(_ value: [UInt8]) -> DecodedValue? {
        switch self {
        case .text: nil
        case .typed(let characteristic): characteristic.describe(value).map(DecodedValue.init(fields:))
        case .custom(let decode): decode(value)
        }
    }
}

// MARK: Devices and time

extension CharacteristicFormat {
    private static let yesOrNo: [UInt8: String] = [0: "no", 1: "yes"]

    /// GAP, GATT, the Alert, HID and Scan Parameters services.
    static let devices: [UInt16: CharacteristicFormat] = [
        0x2A00: .text,
        0x2A01: .custom(appearance),
        0x2A02: .names([0: "privacy off", 1: "privacy on"]),
        0x2A04: .custom(preferredParameters),
        0x2A05: .custom(handleRange),
        0x2A08: .fields { (fields) throws(MalformedValue) in
            var time = DateTime()
            try fields.dateTime(nil, &time)
        },
        0x2A09: .fields { (fields) throws(MalformedValue) in
            var day = DayOfWeek.unknown
            try fields.code(nil, &day)
        },
        0x2A0A: .fields { (fields) throws(MalformedValue) in
            var (time, day) = (DateTime(), DayOfWeek.unknown)
            try fields.dateTime(nil, &time)
            try fields.code("day", &day)
        },
        0x2A3F: .bits([0: "ringer", 1: "vibration", 2: "display alert"]),
        0x2A41: .names([0: "silent", 1: "normal"]),
        0x2A4A: .custom(hidInformation),
        0x2A4E: .names([0: "boot protocol", 1: "report protocol"]),
        0x2A87: .text, 0x2A8A: .text, 0x2A90: .text,
        0x2A99: .number(.u32),
        0x2AA6: .names(yesOrNo),
        0x2AC9: .names([0: "resolvable private addresses only"]),
        0x2B29: .bits([0: "robust caching", 1: "enhanced ATT bearer", 2: "multiple value notifications"]),
        0x2B3A: .bits([0: "enhanced ATT bearer"]),
    ]

    private static func appearance(_ value: [UInt8]) -> DecodedValue? {
        guard value.count == 2 else { return nil }
        let number = UInt16(value[0]) | UInt16(value[1]) << 8
        return DecodedValue([.init(nil, "\(Appearance(rawValue: number))", .integer(Int(number)))])
    }

    private static func preferredParameters(_ value: [UInt8]) -> DecodedValue? {
        let format = fields { (fields) throws(MalformedValue) in
            try fields.number("shortest", .u16, .times(125, ten: -2), "ms")
            try fields.number("longest", .u16, .times(125, ten: -2), "ms")
            try fields.number("latency", .u16)
            try fields.number("timeout", .u16, .ten(1), "ms")
        }
        guard var decoded = format.decode(value) else { return nil }
        let texts = decoded.parts.map(\.text)
        decoded.summary = "interval \(texts[0]) to \(texts[1]) ms, latency \(texts[2]), timeout \(texts[3]) ms"
        return decoded
    }

    private static func handleRange(_ value: [UInt8]) -> DecodedValue? {
        let format = fields { (fields) throws(MalformedValue) in
            var (start, end) = (0 as UInt16, 0 as UInt16)
            try fields.identifier("start", &start)
            try fields.identifier("end", &end)
        }
        guard var decoded = format.decode(value) else { return nil }
        decoded.summary = decoded.parts.map(\.text).joined(separator: " to ")
        return decoded
    }

    private static func hidInformation(_ value: [UInt8]) -> DecodedValue? {
        guard value.count == 4 else { return nil }
        // Binary-coded decimal: 0x0111 is 1.11.
        let version = "\(String(value[1], radix: 16)).\(hexadecimal(value[0], digits: 2))"
        let flags = listed(value[3], names: [0: "remote wake", 1: "normally connectable"])
        return DecodedValue([
            .init("version", version, .string(version)), .init("country", "\(value[2])", .integer(Int(value[2]))),
            .init("flags", flags, .integer(Int(value[3]))),
        ])
    }
}
