import BluetoothLE
import BluetoothPrimitives

/// Values as text for people.
public enum ValueText {
    /// `61  97 %`: the bytes and their meaning, or, if that is unknown, their text. A string by definition is text alone.
    ///
    /// - Parameter limit: the number of bytes shown before an ellipsis and the total; nil for all.
    public static func describe(_ value: [UInt8], of uuid: BluetoothUUID?, limit: Int? = 24) -> String {
        guard !value.isEmpty else { return "(empty)" }
        if isText(uuid), let text = text(value) { return quoted(text, limit: limit.map { 2 * $0 }) }
        var parts = [hexadecimal(value, limit: limit)]
        if let meaning = meaning(of: value, uuid) {
            parts.append(meaning)
        } else if let text = text(value) {
            parts.append(quoted(text, limit: limit))
        }
        return parts.joined(separator: "  ")
    }

    /// Pairs of hexadecimal digits, separated by spaces.
    public static func hexadecimal(_ value: [UInt8], limit: Int? = nil) -> String {
        let shown = limit.map { value.prefix($0) } ?? value[...]
        let digits = shown.map { BluetoothPrimitives.hexadecimal($0, digits: 2) }.joined(separator: " ")
        return shown.count < value.count ? digits + " … (\(value.count) bytes)" : digits
    }

    /// The text, if all of the bytes are printable UTF-8.
    public static func text(_ value: [UInt8]) -> String? {
        // Some devices terminate strings with a zero.
        let bytes = value.last == 0 ? value.dropLast() : value[...]
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self), printable(text) == text else {
            return nil
        }
        return text
    }

    /// Whether the characteristic or descriptor is a string by definition.
    private static func isText(_ uuid: BluetoothUUID?) -> Bool {
        switch uuid?.uint16 ?? 0 {
        case 0x2901, 0x2A00, 0x2A24...0x2A29, 0x2A3D, 0x2A87, 0x2A8A, 0x2A90: true
        default: false
        }
    }

    private static func quoted(_ text: String, limit: Int?) -> String {
        guard let limit, text.count > limit else { return "\"\(text)\"" }
        return "\"\(text.prefix(limit))…\""
    }

    /// The decoded value of a well-known characteristic; nil if the UUID is not known here or the value is malformed.
    public static func meaning(of value: [UInt8], _ uuid: BluetoothUUID?) -> String? {
        var reader = ByteReader(value.span.bytes)
        switch uuid?.uint16 {
        case 0x2A01: return (try? reader.readUInt16()).map { "\(Appearance(rawValue: $0))" }
        case 0x2A04: return preferredParameters(&reader)
        case 0x2A05: return value.count == 4 ? handleRange(&reader) : nil
        case 0x2A19: return value.count == 1 ? "\(value[0]) %" : nil
        case 0x2A37: return heartRate(&reader)
        case 0x2A38:
            let places = ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
            return value.first.flatMap { places.indices.contains(Int($0)) ? places[Int($0)] : nil }
        case 0x2A1C, 0x2A1E: return temperature(&reader)
        case 0x2A6E: return (try? reader.readUInt16()).map { fixed(Int(Int16(bitPattern: $0)), "°C") }
        case 0x2A6F: return (try? reader.readUInt16()).map { fixed(Int($0), "%") }
        default: return nil
        }
    }

    private static func fixed(_ hundredths: Int, _ unit: String) -> String {
        "\(formatDecimal(Double(hundredths) / 100, digits: 2)) \(unit)"
    }

    private static func preferredParameters(_ reader: inout ByteReader) -> String? {
        guard let shortest = try? reader.readUInt16(), let longest = try? reader.readUInt16(),
            let latency = try? reader.readUInt16(), let timeout = try? reader.readUInt16()
        else { return nil }
        func milliseconds(_ units: UInt16) -> String { formatDecimal(Double(units) * 1.25, digits: 2) }
        return "interval \(milliseconds(shortest)) to \(milliseconds(longest)) ms, latency \(latency), "
            + "timeout \(Int(timeout) * 10) ms"
    }

    private static func handleRange(_ reader: inout ByteReader) -> String? {
        guard let start = try? reader.readUInt16(), let end = try? reader.readUInt16() else { return nil }
        return "\(AttributeHandle(start)) to \(AttributeHandle(end))"
    }

    // Heart Rate Service §3.1.1: flags, then 8 or 16 bits.
    private static func heartRate(_ reader: inout ByteReader) -> String? {
        guard let flags = try? reader.readUInt8() else { return nil }
        let rate = flags & 1 == 0 ? (try? reader.readUInt8()).map { UInt16($0) } : try? reader.readUInt16()
        return rate.map { "\($0) beats/min" }
    }

    // Health Thermometer Service §3.1.1: flags, then a 32-bit float of IEEE 11073-20601, 24 bits of mantissa.
    private static func temperature(_ reader: inout ByteReader) -> String? {
        guard let flags = try? reader.readUInt8(), let raw = try? reader.readUInt32() else { return nil }
        let mantissa = Int32(bitPattern: raw << 8) >> 8
        let exponent = Int8(truncatingIfNeeded: raw >> 24)
        guard (-6...6).contains(exponent) else { return nil }
        var number = Double(mantissa)
        for _ in 0..<abs(Int(exponent)) { number = exponent < 0 ? number / 10 : number * 10 }
        return "\(formatDecimal(number, digits: min(3, max(0, -Int(exponent))))) \(flags & 1 == 0 ? "°C" : "°F")"
    }
}

/// The JSON fields of a value: its bytes, its text if printable, and its meaning if known.
public func valueFields(_ value: [UInt8], of uuid: BluetoothUUID?) -> [(String, JSONValue)] {
    var fields: [(String, JSONValue)] = [("hex", .string(value.hexadecimal))]
    if let text = ValueText.text(value) { fields.append(("text", .string(text))) }
    if let meaning = ValueText.meaning(of: value, uuid) { fields.append(("meaning", .string(meaning))) }
    return fields
}

extension CharacteristicProperties {
    /// The names of the properties.
    public var names: [String] {
        description.split { "[], ".contains($0) }.map(String.init)
    }
}
