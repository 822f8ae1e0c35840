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
    /// Items one after another.
    case layout(ValueLayout)
    /// A type of BluetoothProfiles.
    case typed(any TypedCharacteristic)
    /// A format of its own; nil if the value does not have it.
    case custom(@Sendable ([UInt8]) -> DecodedValue?)

    /// One number.
    static func number(
        _ format: NumberFormat, _ scale: NumberScale = .one, _ unit: String? = nil, unknown: UInt64? = nil
    ) -> CharacteristicFormat {
        .layout(ValueLayout(.number(nil, format, scale, unit, unknown: unknown)))
    }

    /// One byte that selects a name.
    static func names(_ names: [UInt8: String]) -> CharacteristicFormat { .layout(ValueLayout(.names(nil, names))) }

    /// Bits with names.
    static func bits(_ byteCount: Int, _ names: [Int: String]) -> CharacteristicFormat {
        .layout(ValueLayout(.bits(nil, byteCount, names)))
    }

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

    private static let all = [devices, bodies, sports].reduce(into: [:]) { all, table in
        all.merge(table) { first, _ in first }
    }

    /// The decoded value; nil if it does not have the format.
    func decode(_ value: [UInt8]) -> DecodedValue? {
        switch self {
        case .text: nil
        case .layout(let layout): layout.decode(value)
        case .typed(let characteristic):
            characteristic.describe(value).map { DecodedValue($0.map { DecodedValue.Part($0) }) }
        case .custom(let decode): decode(value)
        }
    }
}

// MARK: Devices and time

extension CharacteristicFormat {
    private static let yesOrNo: [UInt8: String] = [0: "no", 1: "yes"]

    static let weekdays: [UInt8: String] = [
        0: "unknown day", 1: "Monday", 2: "Tuesday", 3: "Wednesday", 4: "Thursday", 5: "Friday", 6: "Saturday",
        7: "Sunday",
    ]

    /// GAP, GATT, the Alert, HID and Scan Parameters services.
    static let devices: [UInt16: CharacteristicFormat] = [
        0x2A00: .text,
        0x2A01: .custom(appearance),
        0x2A02: .names([0: "privacy off", 1: "privacy on"]),
        0x2A04: .custom(preferredParameters),
        0x2A05: .custom(handleRange),
        0x2A08: .layout(ValueLayout(.dateTime())),
        0x2A09: .names(weekdays),
        0x2A0A: .layout(ValueLayout(.dateTime(), .names("day", weekdays))),
        0x2A3F: .bits(1, [0: "ringer", 1: "vibration", 2: "display alert"]),
        0x2A41: .names([0: "silent", 1: "normal"]),
        0x2A4A: .custom(hidInformation),
        0x2A4E: .names([0: "boot protocol", 1: "report protocol"]),
        0x2A87: .text, 0x2A8A: .text, 0x2A90: .text,
        0x2A99: .number(.u32),
        0x2AA6: .names(yesOrNo),
        0x2AC9: .names([0: "resolvable private addresses only"]),
        0x2B29: .bits(1, [0: "robust caching", 1: "enhanced ATT bearer", 2: "multiple value notifications"]),
        0x2B3A: .bits(1, [0: "enhanced ATT bearer"]),
    ]

    private static func appearance(_ value: [UInt8]) -> DecodedValue? {
        guard value.count == 2 else { return nil }
        let number = UInt16(value[0]) | UInt16(value[1]) << 8
        return DecodedValue([.init(nil, "\(Appearance(rawValue: number))", .integer(Int(number)))])
    }

    private static func preferredParameters(_ value: [UInt8]) -> DecodedValue? {
        let layout = ValueLayout(
            .number("shortest", .u16, .times(125, ten: -2), "ms"), .number("longest", .u16, .times(125, ten: -2), "ms"),
            .number("latency", .u16), .number("timeout", .u16, .ten(1), "ms"))
        guard var decoded = layout.decode(value) else { return nil }
        decoded.summary =
            "interval \(decoded.parts[0].text) to \(decoded.parts[1].text) ms, latency \(decoded.parts[2].text), "
            + "timeout \(decoded.parts[3].text) ms"
        return decoded
    }

    private static func handleRange(_ value: [UInt8]) -> DecodedValue? {
        let layout = ValueLayout(.identifier("start", 2), .identifier("end", 2))
        guard var decoded = layout.decode(value) else { return nil }
        decoded.summary = "\(decoded.parts[0].text) to \(decoded.parts[1].text)"
        return decoded
    }

    private static func hidInformation(_ value: [UInt8]) -> DecodedValue? {
        let layout = ValueLayout(
            .identifier("version", 2), .number("country", .u8),
            .bits("flags", 1, [0: "remote wake", 1: "normally connectable"]))
        guard var decoded = layout.decode(value) else { return nil }
        // Binary-coded decimal: 0x0111 is 1.11.
        let version =
            "\(value[1] >> 4 == 0 ? "" : String(value[1] >> 4, radix: 16))\(String(value[1] & 15, radix: 16))."
            + hexadecimal(value[0], digits: 2)
        decoded.parts[0].text = version
        decoded.parts[0].json = .string(version)
        return decoded
    }
}
