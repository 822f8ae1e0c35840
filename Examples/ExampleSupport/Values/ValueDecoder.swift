import BluetoothJSON
import BluetoothLE

/// The decoder of an attribute's values: by a format that the user names, else by the formats that the characteristic
/// declares, else by the format of the assigned characteristic or descriptor.
public struct ValueDecoder: Sendable {
    /// The attribute's UUID; nil if it is not known.
    public var uuid: BluetoothUUID?
    /// The characteristic of a descriptor; nil if it is not known, or for a characteristic.
    public var characteristic: BluetoothUUID?
    /// The Characteristic Presentation Formats of the characteristic (Core Vol 3 Part G §3.3.3.5).
    public var declared: [PresentationFormat]
    /// The format that the user named.
    public var format: ValueFormat?

    /// A decoder for an attribute; for a descriptor, `declared` are the formats of its `characteristic`.
    public init(
        of uuid: BluetoothUUID?, in characteristic: BluetoothUUID? = nil, declared: [PresentationFormat] = [],
        format: ValueFormat? = nil
    ) {
        self.uuid = uuid
        self.characteristic = characteristic
        self.declared = declared
        self.format = format
    }

    /// The decoded value; nil if its format is not known, or the value has another one.
    public func decode(_ value: [UInt8]) -> DecodedValue? {
        if let format {
            guard format.number != nil, let numbers = try? format.numbers(value) else { return nil }
            return DecodedValue([.init(numbers: numbers)])
        }
        if uuid?.isDescriptor == true { return descriptor(value) }
        return PresentationFormat.decode(value, as: declared) ?? CharacteristicFormat(uuid)?.decode(value)
    }

    private func descriptor(_ value: [UInt8]) -> DecodedValue? {
        guard let uuid, !value.isEmpty else { return nil }
        let decoded = DescriptorValue(value, of: uuid)
        guard decoded.isDecoded, decoded.userDescription == nil else { return nil }
        if let (lower, upper) = decoded.validRange, let range = range(lower, upper) { return range }
        guard let flags = decoded.flags else { return DecodedValue(text: printable("\(decoded)")) }
        return DecodedValue(text: flags)
    }

    /// A Valid Range, whose bounds have the format of the characteristic; nil if that is not one number.
    private func range(_ lower: [UInt8], _ upper: [UInt8]) -> DecodedValue? {
        let decoder = ValueDecoder(of: characteristic, declared: declared)
        guard let low = decoder.decode(lower)?.parts, let high = decoder.decode(upper)?.parts,
            low.count == 1, high.count == 1, low[0].isNumber, high[0].isNumber
        else { return nil }
        var value = DecodedValue([.init(nil, "", .array([low[0].json, high[0].json]), unit: low[0].unit)])
        value.summary = [low[0].text, "to", high[0].text, low[0].unit].compactMap { $0 }.joined(separator: " ")
        return value
    }

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

extension BluetoothUUID {
    /// Whether it is assigned to a descriptor.
    fileprivate var isDescriptor: Bool { uint16.map { 0x2900...0x29FF ~= $0 } == true }
}

extension DecodedValue.Part {
    fileprivate var isNumber: Bool {
        switch json {
        case .integer, .wideInteger, .number: name == nil
        default: false
        }
    }
}

extension DescriptorValue {
    /// The names of the set flags of the descriptors that have flags, or a word for none.
    fileprivate var flags: String? {
        let isEmpty = clientConfiguration?.isEmpty ?? serverConfiguration?.isEmpty ?? extendedProperties?.isEmpty
        guard let isEmpty else { return nil }
        guard isEmpty else { return "\(self)".filter { $0 != "[" && $0 != "]" } }
        return extendedProperties == nil ? "off" : "none"
    }
}
