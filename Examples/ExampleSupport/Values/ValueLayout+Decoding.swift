import BluetoothJSON
import BluetoothPrimitives
import BluetoothProfiles

extension ValueLayout {
    /// Decodes a value; nil if it is truncated, or, in a layout without flags, too long.
    ///
    /// Values with flags may be longer, since later versions of a specification add fields at the end.
    func decode(_ value: [UInt8]) -> DecodedValue? {
        var rest = value[...]
        guard let flags = Self.take(flagByteCount, from: &rest) else { return nil }
        let bits = Self.unsigned(flags)
        var parts: [DecodedValue.Part] = []
        for item in items where item.condition.holds(bits) {
            guard item.decode(&rest, into: &parts) else { return nil }
        }
        return rest.isEmpty || flagByteCount > 0 ? DecodedValue(parts) : nil
    }

    fileprivate static func take(_ count: Int, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    fileprivate static func unsigned(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension ValueLayout.Condition {
    fileprivate func holds(_ flags: UInt64) -> Bool {
        switch self {
        case .always: true
        case .set(let bit): flags >> bit & 1 == 1
        case .clear(let bit): flags >> bit & 1 == 0
        case .pair(let first, let second, let isSet):
            flags >> first & 1 == 1 && flags >> second & 1 == (isSet ? 1 : 0)
        }
    }
}

extension ValueLayout.Item {
    /// Decodes the item, and appends its part; false if the value is truncated.
    fileprivate func decode(_ rest: inout ArraySlice<UInt8>, into parts: inout [DecodedValue.Part]) -> Bool {
        switch content {
        case .mark:
            parts.append(.mark(name ?? ""))
            return true
        case .skipped(let count): return ValueLayout.take(count, from: &rest) != nil
        case .number(let format, let scale, let unit, let unknown):
            guard let bytes = ValueLayout.take(format.byteCount, from: &rest), let number = format.decode(bytes)
            else { return false }
            let isUnknown = unknown.map { $0 == ValueLayout.unsigned(bytes) } ?? false
            parts.append(
                isUnknown
                    ? DecodedValue.Part(name, "unknown", .null)
                    : DecodedValue.Part(name, numbers: [scale.apply(number)], unit: unit))
            return true
        case .names(let names):
            guard let byte = ValueLayout.take(1, from: &rest)?.first else { return false }
            parts.append(
                DecodedValue.Part(name, names[byte] ?? "0x" + hexadecimal(byte, digits: 2), .integer(Int(byte))))
            return true
        case .bits(let count, let names):
            guard let bytes = ValueLayout.take(count, from: &rest) else { return false }
            parts.append(Self.bits(name, ValueLayout.unsigned(bytes), names))
            return true
        case .dateTime:
            guard let bytes = ValueLayout.take(7, from: &rest) else { return false }
            let text =
                Self.date(bytes.prefix(4)) + "T"
                + bytes.suffix(3).map { padded(Int($0), 2) }.joined(separator: ":")
            parts.append(DecodedValue.Part(name, text, .string(text)))
            return true
        case .date:
            guard let bytes = ValueLayout.take(4, from: &rest) else { return false }
            let text = Self.date(bytes)
            parts.append(DecodedValue.Part(name, text, .string(text)))
            return true
        case .identifier(let count):
            guard let bytes = ValueLayout.take(count, from: &rest) else { return false }
            let text = "0x" + Array(bytes.reversed()).hexadecimal
            parts.append(DecodedValue.Part(name, text, .string(text)))
            return true
        }
    }

    private static func bits(_ name: String?, _ value: UInt64, _ names: [Int: String]) -> DecodedValue.Part {
        let set = (0..<64).filter { value >> $0 & 1 == 1 }
        let text = set.isEmpty ? "none" : set.map { names[$0] ?? "bit \($0)" }.joined(separator: ", ")
        return DecodedValue.Part(name, text, .integer(Int(truncatingIfNeeded: value)))
    }

    /// A date in ISO 8601; unknown fields are 0.
    private static func date(_ bytes: ArraySlice<UInt8>) -> String {
        let year = Int(ValueLayout.unsigned(bytes.prefix(2)))
        return ([padded(year, 4)] + bytes.dropFirst(2).map { padded(Int($0), 2) }).joined(separator: "-")
    }
}
