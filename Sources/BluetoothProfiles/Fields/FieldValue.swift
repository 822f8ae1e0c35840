/// A value made of fields, which one function reads and writes.
protocol FieldValue: Sendable {
    /// The value before its first field is decoded.
    static var initial: Self { get }
    /// Sets the fields of the value, or encodes them.
    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue)
}
