import BluetoothJSON
import BluetoothLE

/// The decoder of an attribute's values: by a format that the user names, else by the formats that the characteristic
/// declares, else by the format of the assigned characteristic or descriptor.
public struct ValueDecoder: Sendable {
    /// The attribute's UUID; nil if it is not known.
    public var uuid: BluetoothUUID?
    /// The Characteristic Presentation Formats of the characteristic (Core Vol 3 Part G §3.3.3.5).
    public var declared: [PresentationFormat]
    /// The format that the user named.
    public var format: ValueFormat?

    /// A decoder for an attribute.
    public init(of uuid: BluetoothUUID?, declared: [PresentationFormat] = [], format: ValueFormat? = nil) {
        self.uuid = uuid
        self.declared = declared
        self.format = format
    }

    /// The decoded value; nil if its format is not known, or the value has another one.
    public func decode(_ value: [UInt8]) -> DecodedValue? {
        if let format {
            guard format.number != nil, let numbers = try? format.numbers(value) else { return nil }
            return DecodedValue([.init(numbers: numbers)])
        }
        return PresentationFormat.decode(value, as: declared) ?? CharacteristicFormat(uuid)?.decode(value)
            ?? descriptor(value)
    }

    private func descriptor(_ value: [UInt8]) -> DecodedValue? {
        guard let uuid, uuid.uint16.map({ 0x2900...0x29FF ~= $0 }) == true, !value.isEmpty else { return nil }
        switch DescriptorValue(value, of: uuid) {
        case .other, .userDescription: return nil
        case .clientConfiguration(let flags): return DecodedValue(text: flags.isEmpty ? "off" : Self.names("\(flags)"))
        case .serverConfiguration(let flags): return DecodedValue(text: flags.isEmpty ? "off" : Self.names("\(flags)"))
        case .extendedProperties(let flags): return DecodedValue(text: flags.isEmpty ? "none" : Self.names("\(flags)"))
        case let other: return DecodedValue(text: printable("\(other)"))
        }
    }

    /// The names in `[a, b]`.
    private static func names(_ list: String) -> String { String(list.filter { $0 != "[" && $0 != "]" }) }

    /// Whether the attribute is a string by definition, and not by its bytes alone.
    private var isText: Bool {
        if uuid == .characteristicUserDescription { return true }
        if case .text? = CharacteristicFormat(uuid) { return true }
        return false
    }

    /// `61  97 %`: the bytes and their meaning, or, if that is unknown, their text. A string by definition is text alone.
    ///
    /// - Parameter limit: the number of bytes shown before an ellipsis and the total; nil for all.
    public func describe(_ value: [UInt8], limit: Int? = 24) -> String {
        guard !value.isEmpty else { return "(empty)" }
        if declared.isEmpty, isText, let text = ValueText.text(value) {
            return ValueText.quoted(text, limit: limit.map { 2 * $0 })
        }
        var parts = [ValueText.hexadecimal(value, limit: limit)]
        if let meaning = decode(value)?.text {
            parts.append(meaning)
        } else if let text = ValueText.text(value) {
            parts.append(ValueText.quoted(text, limit: limit))
        }
        return parts.joined(separator: "  ")
    }

    /// The JSON fields of a value: its bytes, its text if printable, and what it means if its format is known.
    public func jsonFields(_ value: [UInt8]) -> [(String, JSONValue)] {
        var fields: [(String, JSONValue)] = [("hex", .string(value.hexadecimal))]
        if let text = ValueText.text(value) { fields.append(("text", .string(text))) }
        if let decoded = decode(value) {
            fields.append(("meaning", .string(decoded.text)))
            fields += decoded.jsonFields
        }
        return fields
    }
}
