extension JSONValue {
    /// The value as JSON on several lines, indented by two spaces; what fits into a line of 100 characters is on one.
    public func formatted() -> String {
        var text = ""
        format(to: &text, indent: 0, before: 0)
        return text
    }

    private static let width = 100

    /// - Parameter before: the number of characters on the line before the value.
    private func format(to text: inout String, indent: Int, before: Int) {
        let parts: [(start: String, value: JSONValue)]
        let brackets: (String, String)
        switch self {
        case .array(let values) where !values.isEmpty:
            parts = values.map { ("", $0) }
            brackets = ("[", "]")
        case .object(let fields) where !fields.isEmpty:
            parts = fields.map { ("\(JSONValue.string($0.0)): ", $0.1) }
            brackets = ("{", "}")
        default:
            text += description
            return
        }
        let line = description
        if isShallow, before + line.utf8.count <= Self.width {
            text += line
            return
        }
        let inner = String(repeating: " ", count: indent + 2)
        text += brackets.0 + "\n"
        for (index, part) in parts.enumerated() {
            text += inner + part.start
            part.value.format(to: &text, indent: indent + 2, before: inner.utf8.count + part.start.utf8.count)
            text += index == parts.count - 1 ? "\n" : ",\n"
        }
        text += String(repeating: " ", count: indent) + brackets.1
    }

    /// Whether it contains no array or object that contains another.
    private var isShallow: Bool {
        func isFlat(_ value: JSONValue) -> Bool {
            switch value {
            case .array(let values): values.allSatisfy(\.isScalar)
            case .object(let fields): fields.allSatisfy(\.1.isScalar)
            default: true
            }
        }
        switch self {
        case .array(let values): return values.allSatisfy(isFlat)
        case .object(let fields): return fields.allSatisfy { isFlat($0.1) }
        default: return true
        }
    }

    private var isScalar: Bool {
        switch self {
        case .array(let values): values.isEmpty
        case .object(let fields): fields.isEmpty
        default: true
        }
    }
}
