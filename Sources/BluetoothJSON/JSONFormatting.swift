extension JSONValue {
    /// The value as JSON on several lines, indented by two spaces; what fits into a line of 100 characters is on one.
    public func formatted() -> String { formatted(indent: 0, before: 0) }

    private static let width = 100

    /// - Parameter before: the number of characters on the line before the value.
    private func formatted(indent: Int, before: Int) -> String {
        if depth <= 2 {
            let line = description
            if before + line.utf8.count <= Self.width { return line }
        }
        let parts: [(start: String, value: JSONValue)]
        let brackets: (String, String)
        switch self {
        case .array(let values) where !values.isEmpty:
            parts = values.map { ("", $0) }
            brackets = ("[", "]")
        case .object(let fields) where !fields.isEmpty:
            parts = fields.map { (Self.quoted($0.0) + ": ", $0.1) }
            brackets = ("{", "}")
        default: return description
        }
        let margin = String(repeating: " ", count: indent)
        let lines = parts.map { part in
            let start = margin + "  " + part.start
            return start + part.value.formatted(indent: indent + 2, before: start.utf8.count)
        }
        return brackets.0 + "\n" + lines.joined(separator: ",\n") + "\n" + margin + brackets.1
    }

    /// The number of arrays and objects within each other; empty ones do not count.
    private var depth: Int {
        switch self {
        case .array(let values): values.map { $0.depth + 1 }.max() ?? 0
        case .object(let fields): fields.map { $0.1.depth + 1 }.max() ?? 0
        default: 0
        }
    }
}
