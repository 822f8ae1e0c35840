/// The lines that were entered, oldest first, and the place of the user in them.
struct LineHistory: Hashable, Sendable {
    /// The maximum number of lines.
    static let capacity = 1000

    private(set) var lines: [String]
    /// The place in the history, and the line that was left for it; nil while the user edits a new line.
    private var visit: Visit?

    private struct Visit: Hashable {
        var index: Int
        var draft: String
    }

    /// A history of the last of these lines.
    init(_ lines: [String] = []) {
        self.lines = Array(lines.suffix(Self.capacity))
    }

    /// Adds a line, and leaves the history. Empty lines, lines that begin with a blank, and repetitions of the last are
    /// not added; returns whether it was.
    mutating func add(_ line: String) -> Bool {
        visit = nil
        guard let first = line.first, !first.isWhitespace, line != lines.last else { return false }
        lines.append(line)
        if lines.count > Self.capacity { lines.removeFirst(lines.count - Self.capacity) }
        return true
    }

    /// The line before the present one, which is `current` if the user has not left it; nil if there is none.
    mutating func previous(leaving current: String) -> String? {
        let index = (visit?.index ?? lines.count) - 1
        guard lines.indices.contains(index) else { return nil }
        visit = Visit(index: index, draft: visit?.draft ?? current)
        return lines[index]
    }

    /// The line after the present one, at last the one that was left; nil if the user is there.
    mutating func next() -> String? {
        guard let visit else { return nil }
        if lines.indices.contains(visit.index + 1) {
            self.visit?.index += 1
            return lines[visit.index + 1]
        }
        self.visit = nil
        return visit.draft
    }

    /// Leaves the history.
    mutating func leave() { visit = nil }

    /// The index of the newest line before `index` that contains a text; nil if there is none.
    func index(of text: String, before index: Int) -> Int? {
        guard !text.isEmpty else { return nil }
        return lines[..<min(index, lines.count)].lastIndex { $0.contains(text) }
    }
}
