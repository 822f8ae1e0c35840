/// The format of a value made of fields, which one function reads and writes.
public struct FieldCodec<Value: Sendable>: CharacteristicCodec {
    private let initial: Value
    private let fields: @Sendable (inout Value, inout FieldCoder) throws(MalformedValue) -> Void

    /// A format whose fields `fields` visits.
    /// - Parameters:
    ///   - initial: the value before its first field is decoded.
    ///   - fields: sets the fields of the value, or encodes them: see ``FieldCoder``.
    public init(
        _ initial: Value,
        fields: @escaping @Sendable (inout Value, inout FieldCoder) throws(MalformedValue) -> Void
    ) {
        self.initial = initial
        self.fields = fields
    }

    /// The value of these bytes.
    public func decode(_ bytes: [UInt8]) throws(MalformedValue) -> Value {
        var (value, coder) = (initial, FieldCoder(decoding: bytes))
        try fields(&value, &coder)
        return value
    }

    /// The bytes of a value.
    public func encode(_ value: Value) throws(MalformedValue) -> [UInt8] {
        var (value, coder) = (value, FieldCoder())
        try fields(&value, &coder)
        return coder.encoded
    }
}

extension FieldCodec: DescribingCodec {
    /// The fields of a value; nil if it does not have the format.
    package func describe(_ bytes: [UInt8]) -> [DescribedField]? {
        var (value, coder) = (initial, FieldCoder(decoding: bytes, isDescribing: true))
        guard (try? fields(&value, &coder)) != nil else { return nil }
        return coder.description
    }
}

/// The format of text in UTF-8.
public struct TextCodec: CharacteristicCodec {
    /// The format.
    public init() {}

    /// The text up to the first zero, with which some devices end it.
    /// - Throws: ``MalformedValue`` for bytes that are not UTF-8.
    public func decode(_ bytes: [UInt8]) throws(MalformedValue) -> String {
        guard let text = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) else {
            throw MalformedValue("text", "not UTF-8")
        }
        return text
    }

    /// The bytes of the text.
    public func encode(_ value: String) throws(MalformedValue) -> [UInt8] { Array(value.utf8) }
}

/// The format of a value that is its bytes.
public struct BytesCodec: CharacteristicCodec {
    /// The format.
    public init() {}

    /// The bytes.
    public func decode(_ bytes: [UInt8]) throws(MalformedValue) -> [UInt8] { bytes }

    /// The bytes.
    public func encode(_ value: [UInt8]) throws(MalformedValue) -> [UInt8] { value }
}
