import ExampleSupport
import Testing

/// A JSON Schema of Docs/schemas, in the subset of draft 2020-12 that these files use. An unknown keyword is an error,
/// so that no rule of a schema goes unchecked.
struct Schema {
    private let root: JSONValue

    init(named name: String) throws {
        let path = #filePath.replacing("Tests/ProgramTests/Schema.swift", with: "Docs/schemas/\(name).json")
        root = try JSONValue(reading: Array(contents(of: path).utf8))
    }

    init(_ root: JSONValue) {
        self.root = root
    }

    /// The errors of a value, each with its place; empty if the value is valid.
    func errors(in value: JSONValue) -> [String] { check(value, root, at: "").errors }

    private struct Outcome {
        var errors: [String] = []
        /// The fields that a subschema describes, for `unevaluatedProperties`.
        var described: Set<String> = []

        mutating func add(_ other: Outcome) {
            errors += other.errors
            described.formUnion(other.described)
        }
    }

    private static let annotations: Set = ["$schema", "$id", "$defs", "title", "description", "examples"]

    private func check(_ value: JSONValue, _ schema: JSONValue, at place: String) -> Outcome {
        guard case .object(let rules) = schema else {
            return Outcome(errors: ["\(place): the schema is not an object"])
        }
        var outcome = Outcome()
        // Last, since it depends on all others.
        for (keyword, rule) in rules where keyword != "unevaluatedProperties" && !Self.annotations.contains(keyword) {
            outcome.add(check(value, keyword, rule, schema, at: place))
        }
        if case .object(let fields) = value, schema["unevaluatedProperties"] != nil {
            for (name, _) in fields where !outcome.described.contains(name) {
                outcome.errors.append("\(place).\(name): an undocumented field")
            }
        }
        return outcome
    }

    private func check(
        _ value: JSONValue, _ keyword: String, _ rule: JSONValue, _ schema: JSONValue, at place: String
    ) -> Outcome {
        func outcome(_ isValid: Bool) -> Outcome {
            isValid ? Outcome() : Outcome(errors: ["\(place): \(value) violates \(keyword) \(rule)"])
        }
        switch keyword {
        case "$ref": return check(value, definition(rule), at: place)
        case "allOf":
            var all = Outcome()
            for part in rule.elements ?? [] { all.add(check(value, part, at: place)) }
            return all
        case "oneOf": return choose(among: rule.elements ?? [], value, at: place)
        case "type": return outcome((rule.elements ?? [rule]).contains { value.has(type: $0.text ?? "") })
        case "const": return outcome("\(value)" == "\(rule)")
        case "enum": return outcome(rule.elements?.contains { "\($0)" == "\(value)" } == true)
        case "pattern":
            guard let text = value.text else { return Outcome() }
            return outcome((try? Regex(rule.text ?? "").firstMatch(in: text)) != nil)
        case "minimum": return outcome(value.number.map { $0 >= rule.number ?? .infinity } ?? true)
        case "maximum": return outcome(value.number.map { $0 <= rule.number ?? -.infinity } ?? true)
        case "maxLength": return outcome(value.text.map { $0.unicodeScalars.count <= Int(rule.number ?? 0) } ?? true)
        case "minItems": return outcome(value.elements.map { $0.count >= Int(rule.number ?? 0) } ?? true)
        case "maxItems": return outcome(value.elements.map { $0.count <= Int(rule.number ?? 0) } ?? true)
        case "items":
            var all = Outcome()
            for (index, element) in (value.elements ?? []).enumerated() {
                all.errors += check(element, rule, at: "\(place)[\(index)]").errors
            }
            return all
        case "required":
            guard case .object = value else { return Outcome() }
            let missing = (rule.elements ?? []).compactMap(\.text).filter { value[$0] == nil }
            return Outcome(errors: missing.map { "\(place).\($0): it is missing" })
        case "properties":
            guard case .object(let fields) = value else { return Outcome() }
            var all = Outcome()
            for (name, field) in fields {
                guard let own = rule[name] else { continue }
                all.described.insert(name)
                all.errors += check(field, own, at: "\(place).\(name)").errors
            }
            return all
        case "additionalProperties":
            guard case .object(let fields) = value else { return Outcome() }
            var all = Outcome()
            for (name, field) in fields where schema["properties"]?[name] == nil {
                if case .bool(false) = rule {
                    all.errors.append("\(place).\(name): an undocumented field")
                } else {
                    all.described.insert(name)
                    all.errors += check(field, rule, at: "\(place).\(name)").errors
                }
            }
            return all
        default: return Outcome(errors: ["\(place): the schema has an unknown keyword, \(keyword)"])
        }
    }

    /// Exactly one of the schemas must match. If none does, the errors are those of the ones whose `event` matches, or of
    /// the one with the fewest.
    private func choose(among schemas: [JSONValue], _ value: JSONValue, at place: String) -> Outcome {
        let outcomes = schemas.map { check(value, $0, at: place) }
        let valid = outcomes.filter(\.errors.isEmpty)
        guard valid.isEmpty else {
            return valid.count == 1 ? valid[0] : Outcome(errors: ["\(place): \(valid.count) definitions match"])
        }
        let prefix = "\(place).event:"
        let sameKind = outcomes.filter { outcome in !outcome.errors.contains { $0.hasPrefix(prefix) } }
        return (sameKind.isEmpty ? outcomes : sameKind).min { $0.errors.count < $1.errors.count }
            ?? Outcome(errors: ["\(place): no definition matches"])
    }

    private func definition(_ reference: JSONValue) -> JSONValue {
        let path = (reference.text ?? "").split(separator: "/")
        guard path.first == "#" else { return .null }
        return path.dropFirst().reduce(root) { $0[String($1)] ?? .null }
    }
}

extension JSONValue {
    fileprivate var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .wideInteger(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    fileprivate func has(type: String) -> Bool {
        switch (self, type) {
        case (.null, "null"), (.bool, "boolean"), (.integer, "integer"), (.integer, "number"),
            (.wideInteger, "integer"),
            (.wideInteger, "number"), (.number, "number"),
            (.string, "string"), (.array, "array"), (.object, "object"):
            true
        default: false
        }
    }
}

/// The schemas and the check itself.
@Suite struct SchemaTests {
    private static let point = """
        {"oneOf": [{
          "properties": {"event": {"const": "a"}, "x": {"type": "integer"}}, "required": ["event", "x"],
          "additionalProperties": false
        }]}
        """

    @Test(
        arguments: [
            (#"{"event":"a","x":1}"#, []), (#"{"event":"a","x":1.5}"#, [".x: 1.5 violates type \"integer\""]),
            (#"{"event":"a"}"#, [".x: it is missing"]),
            (#"{"event":"a","x":1,"y":2}"#, [".y: an undocumented field"]),
        ] as [(String, [String])])
    func anUndocumentedFieldIsAnError(_ text: String, _ errors: [String]) throws {
        let schema = Schema(try JSONValue(reading: Array(Self.point.utf8)))
        #expect(schema.errors(in: try JSONValue(reading: Array(text.utf8))) == errors)
    }

    @Test func anUnknownKeywordIsAnError() throws {
        let schema = Schema(.object([("maxProperties", .integer(1))]))
        #expect(schema.errors(in: .null) == [": the schema has an unknown keyword, maxProperties"])
    }

    @Test(
        arguments: [
            #"{"t":"2026-01-01T00:00:00.000Z","event":"unknown"}"#, #"{"event":"rssi","rssi":1}"#,
            #"{"t":"2026-01-01T00:00:00.000Z","event":"rssi","rssi":1,"new":1}"#, "[]",
        ])
    func aLineOfNoDefinitionIsRefused(_ line: String) throws {
        let schema = try Schema(named: "lines")
        #expect(!schema.errors(in: try JSONValue(reading: Array(line.utf8))).isEmpty)
    }
}
