import BluetoothJSON
import BluetoothProfiles

/// A decoded value: its parts, as text and as JSON.
public struct DecodedValue: Sendable {
    /// A part of a value.
    public struct Part: Sendable {
        /// The name; nil for the principal part.
        public var name: String?
        /// The part as text, without its unit.
        public var text: String
        /// The part as JSON: a number, a string, a Boolean or an array of numbers.
        public var json: JSONValue
        /// The unit; nil for a part without one.
        public var unit: String?
        /// Whether the text consists of the name alone.
        var isMark = false

        /// A part from its fields.
        public init(_ name: String? = nil, _ text: String, _ json: JSONValue, unit: String? = nil) {
            self.name = name
            self.text = text
            self.json = json
            self.unit = unit
        }

        /// One number, or several of the same kind.
        package init(_ name: String? = nil, numbers: [ScalarNumber], unit: String? = nil) {
            let json = numbers.count == 1 ? numbers.first?.json : nil
            self.init(
                name, numbers.map(\.text).joined(separator: " "), json ?? .array(numbers.map(\.json)), unit: unit)
        }

        /// A field of a type of BluetoothProfiles.
        init(_ field: DescribedField) {
            switch field.content {
            case .numbers(let numbers, let scale):
                self.init(field.name, numbers: numbers.map { scale.apply($0) }, unit: field.unit)
            case .unknown: self.init(field.name, "unknown", .null)
            case .code(let code, let text): self.init(field.name, text, .integer(Int(truncatingIfNeeded: code)))
            case .text(let text):
                self.init(field.name, [text, field.remark].compactMap { $0 }.joined(separator: " "), .string(text))
            case .mark: self = .mark(field.name ?? "")
            }
        }

        /// A condition that holds.
        static func mark(_ name: String) -> Part {
            var part = Part(name, name, .bool(true))
            part.isMark = true
            return part
        }

        /// `97 %`, `energy 12 kJ`.
        var description: String {
            isMark ? text : [name, text.isEmpty ? nil : text, unit].compactMap { $0 }.joined(separator: " ")
        }
    }

    /// The parts in their order.
    public var parts: [Part]
    /// What the numbers are of, such as `outside`; nil if it is not known.
    public var note: String?
    /// The line to show in place of the parts; nil for the parts.
    var summary: String?

    /// A value of these parts.
    public init(_ parts: [Part], note: String? = nil) {
        self.parts = parts
        self.note = note
    }

    /// A value of fields as BluetoothProfiles describes them.
    init(fields: [DescribedField]) {
        self.init(fields.map { Part($0) })
    }

    /// A value that has a text only.
    public init(text: String) {
        self.init([Part(nil, text, .null)])
    }

    /// The value on one line: `72 beats/min, contact, energy 12 kJ`.
    public var text: String {
        let text = summary ?? parts.map(\.description).filter { !$0.isEmpty }.joined(separator: ", ")
        return note.map { "\(text) (\($0))" } ?? text
    }

    /// The JSON fields: `value` and `unit` of the principal part, and an object `fields` of the named ones.
    public var jsonFields: [(String, JSONValue)] {
        var fields: [(String, JSONValue)] = []
        let principals = parts.filter { $0.name == nil && !$0.json.isNull }
        if let first = principals.first {
            fields.append(("value", principals.count == 1 ? first.json : .array(principals.map(\.json))))
            if let unit = first.unit { fields.append(("unit", .string(unit))) }
        }
        let named = parts.compactMap { part in part.name.map { (Self.key($0), part.jsonObject) } }
        if !named.isEmpty { fields.append(("fields", .object(named))) }
        return fields
    }

    /// `meanPressure` for `mean pressure`.
    private static func key(_ name: String) -> String {
        let words = name.split { $0 == " " || $0 == "-" }
        return words.prefix(1).map { $0.lowercased() }.joined()
            + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

extension DecodedValue.Part {
    fileprivate var jsonObject: JSONValue {
        isMark ? json : .object([("value", json)] + (unit.map { [("unit", .string($0))] } ?? []))
    }
}

extension JSONValue {
    fileprivate var isNull: Bool { if case .null = self { true } else { false } }
}

extension ScalarNumber {
    /// The number as JSON; null if it is not a finite number.
    package var json: JSONValue {
        switch self {
        case .decimal(let number):
            if let integer = number.integer {
                Int(exactly: integer).map { .integer($0) } ?? .wideInteger(integer)
            } else {
                .number(number.double)
            }
        case .binary(let number, _): .number(number)
        case .special: .null
        }
    }
}
