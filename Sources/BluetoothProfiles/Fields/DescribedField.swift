import BluetoothPrimitives

/// A field of a decoded value as programs show it.
package struct DescribedField: Sendable {
    /// The content of a field.
    package enum Content: Sendable {
        /// Numbers before their scale is applied; more than one for a field that repeats.
        case numbers([ScalarNumber], NumberScale)
        /// A number that the device does not know.
        case unknown
        /// A code or bits, with their names.
        case code(UInt64, String)
        /// A date, a time or an identifier.
        case text(String)
        /// A condition that holds.
        case mark
    }

    /// The name; nil for the principal field.
    package var name: String?
    /// The content.
    package var content: Content
    /// The unit of numbers.
    package var unit: String?
    /// A remark for people, such as the name of an identifier.
    package var remark: String?
}

/// A codec that names the fields of a value.
package protocol DescribingCodec: Sendable {
    /// The fields of a value; nil if it does not have the format.
    func describe(_ bytes: [UInt8]) -> [DescribedField]?
}

/// A characteristic of any type of value.
package protocol TypedCharacteristic: Sendable {
    /// The UUID of the characteristic.
    var uuid: BluetoothUUID { get }
    /// Whether its value is text.
    var isText: Bool { get }
    /// The fields of a value; nil for text, and for a value that does not have the format.
    func describe(_ bytes: [UInt8]) -> [DescribedField]?
}
