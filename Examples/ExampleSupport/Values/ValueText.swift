import BluetoothLE
import BluetoothPrimitives

/// Values as text for people.
public enum ValueText {
    /// The value of an attribute as ``ValueDecoder`` describes it.
    public static func describe(
        _ value: [UInt8], of uuid: BluetoothUUID?, in characteristic: BluetoothUUID? = nil, limit: Int? = 24
    ) -> String {
        ValueDecoder(of: uuid, in: characteristic).describe(value, limit: limit)
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

    static func quoted(_ text: String, limit: Int?) -> String {
        guard let limit, text.count > limit else { return "\"\(text)\"" }
        return "\"\(text.prefix(limit))…\""
    }
}

/// The JSON fields of a value, as ``ValueDecoder/jsonFields(_:)`` has them.
public func valueFields(
    _ value: [UInt8], of uuid: BluetoothUUID?, in characteristic: BluetoothUUID? = nil
) -> [(String, JSONValue)] {
    ValueDecoder(of: uuid, in: characteristic).jsonFields(value)
}

extension CharacteristicProperties {
    /// The names of the properties.
    public var names: [String] {
        description.split { "[], ".contains($0) }.map(String.init)
    }
}
