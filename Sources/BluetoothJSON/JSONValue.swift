/// A JSON value (RFC 8259), printed on one line; objects keep the order of their fields.
public indirect enum JSONValue: Sendable, CustomStringConvertible {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// An integer.
    case integer(Int)
    /// An integer that an `Int` cannot hold.
    case wideInteger(Int128)
    /// A number; prints as `null` if it is not finite.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([(String, JSONValue)])

    /// A string, or `null`.
    public init(_ text: String?) {
        self = text.map { .string($0) } ?? .null
    }

    /// An integer, or `null`.
    public init(_ number: Int?) {
        self = number.map { .integer($0) } ?? .null
    }

    /// The value as JSON.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .wideInteger(let value): "\(value)"
        case .number(let value): value.isFinite ? "\(value)" : "null"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.description).joined(separator: ",") + "]"
        case .object(let fields):
            "{" + fields.map { Self.quoted($0.0) + ":" + $0.1.description }.joined(separator: ",") + "}"
        }
    }

    static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case let scalar where isInvisible(scalar):
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    /// Whether a scalar is escaped wherever a peer's text is printed, since it shows nothing of its own or changes the text
    /// around it: controls, line separators, and Unicode's format characters, such as bidirectional controls (UAX #9 §2),
    /// zero-width spaces and tags; private and unassigned ones, since a terminal decides what they are.
    package static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        guard !(" "..."~").contains(scalar) else { return false }
        return switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
        default: false
        }
    }
}
