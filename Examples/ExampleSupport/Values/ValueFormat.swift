import BluetoothPrimitives
import BluetoothProfiles

/// The form in which a user reads and writes values: bytes, text, or numbers of a format.
public struct ValueFormat: Hashable, Sendable {
    /// The form.
    public enum Kind: Hashable, Sendable {
        /// Pairs of hexadecimal digits.
        case hex
        /// UTF-8.
        case text
        /// The bytes themselves, without a line end.
        case raw
        /// Numbers, as many as the value has room for.
        case number(NumberFormat)
    }

    /// The form.
    public let kind: Kind
    /// Whether numbers have their most significant byte first.
    public let isBigEndian: Bool
    /// The name on the command line.
    public let name: String

    /// Parses a name on the command line: `hex`, `text`, `raw`, or a number format, big endian with the suffix `be`.
    public init?(_ name: String) {
        self.name = name
        let number = name.hasSuffix("be") || name.hasSuffix("le") ? String(name.dropLast(2)) : name
        isBigEndian = name.hasSuffix("be")
        if let kind = [("hex", Kind.hex), ("text", .text), ("raw", .raw)].first(where: { $0.0 == name })?.1 {
            self.kind = kind
        } else if let found = NumberFormat.names.first(where: { $0.name == number })?.format,
            number == name || found.byteCount > 1
        {
            kind = .number(found)
        } else {
            return nil
        }
    }

    /// All names, without those of the other byte order.
    public static let names = ["hex", "text", "raw"] + NumberFormat.names.map(\.name)

    /// The number format; nil for bytes and text.
    public var number: NumberFormat? { if case .number(let format) = kind { format } else { nil } }

    /// The numbers of a value.
    /// - Throws: ``ValueFormatError`` if the value is not a whole number of them, or the format is not one of numbers.
    package func numbers(_ value: [UInt8]) throws(ValueFormatError) -> [ScalarNumber] {
        guard let number else { throw ValueFormatError("\(name) is not a format of numbers") }
        let size = number.byteCount
        guard !value.isEmpty, value.count % size == 0 else {
            let length = value.isEmpty ? "empty" : "\(quantity(value.count, "byte")) long"
            let bytes = value.isEmpty ? "it" : value.hexadecimal
            throw ValueFormatError("\(bytes) is \(length); \(name) needs a multiple of \(size) bytes")
        }
        return stride(from: 0, to: value.count, by: size).compactMap { start in
            let bytes = value[start..<start + size]
            return number.decode(isBigEndian ? Array(bytes.reversed()) : Array(bytes))
        }
    }

    /// The value that text denotes; several numbers are separated by spaces or commas.
    /// - Throws: ``ValueFormatError``, which names the accepted forms.
    public func encode(_ text: String) throws(ValueFormatError) -> [UInt8] {
        switch kind {
        case .hex:
            guard let bytes = [UInt8](hexadecimal: text) else {
                throw ValueFormatError("'\(text)' is not hexadecimal: give pairs of digits such as 01A0 or '01 A0'")
            }
            return bytes
        case .text: return Array(text.utf8)
        case .raw:
            throw ValueFormatError("raw is a format for reading: write the bytes of a file with file:PATH")
        case .number(let number):
            let words = text.split { $0 == " " || $0 == "," }
            guard !words.isEmpty else {
                throw ValueFormatError("there is no number: give one, or several separated by spaces or commas")
            }
            var bytes: [UInt8] = []
            for word in words {
                let encoded = try number.encode(String(word), as: name)
                bytes += isBigEndian ? encoded.reversed() : encoded
            }
            return bytes
        }
    }
}
