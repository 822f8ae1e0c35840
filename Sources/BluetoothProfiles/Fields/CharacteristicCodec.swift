/// The format of a characteristic's value: decodes the bytes of a device, and encodes those that are sent to it or served.
public protocol CharacteristicCodec<Value>: Sendable {
    /// The decoded value.
    associatedtype Value: Sendable

    /// The value of these bytes, which a device sent; bytes after it are left to later versions of the format.
    /// - Throws: ``MalformedValue`` for bytes without a meaning in this format.
    func decode(_ bytes: [UInt8]) throws(MalformedValue) -> Value

    /// The bytes of a value.
    /// - Throws: ``MalformedValue`` for a value that the format cannot express.
    func encode(_ value: Value) throws(MalformedValue) -> [UInt8]
}

/// An error for bytes without a meaning in the format of a characteristic, or a value that the format cannot express.
public struct MalformedValue: Error, Hashable, Sendable, CustomStringConvertible {
    /// The field of the value, such as `"RR-Interval"`.
    public var field: String
    /// The fault, such as `"2 bytes needed, 1 available"`.
    public var problem: String

    /// An error for a field.
    public init(_ field: String, _ problem: String) {
        self.field = field
        self.problem = problem
    }

    /// The field and the fault.
    public var description: String { "\(field): \(problem)" }
}
