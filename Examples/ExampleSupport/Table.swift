/// A text table whose columns are as wide as their widest cell, or fit into a terminal.
public struct Table: Sendable {
    /// The alignment of a column.
    public enum Alignment: Sendable {
        /// To the left edge.
        case left
        /// To the right edge.
        case right
    }

    /// The properties of a column.
    public struct Column: Sendable {
        /// The heading.
        public var title: String
        /// The alignment of its cells.
        public var alignment: Alignment
        /// The order in which columns are omitted on a narrow terminal, the least number first; nil is never omitted.
        public var omission: Int?
        /// The minimum width that omitting other columns preserves; nil for the width of its widest cell.
        public var minimum: Int?
        /// Whether its cells are cut between words, so that a UUID is whole or absent.
        public var cutsBetweenWords: Bool

        /// A column from its parts.
        public init(
            _ title: String, _ alignment: Alignment = .left, omission: Int? = nil, minimum: Int? = nil,
            cutsBetweenWords: Bool = false
        ) {
            self.title = title
            self.alignment = alignment
            self.omission = omission
            self.minimum = minimum
            self.cutsBetweenWords = cutsBetweenWords
        }
    }

    private static let gap = 2
    /// The width of a UUID and a comma; longer words are cut.
    static let uncutLength = 37

    private let columns: [Column]
    private var rows: [[String]] = []

    /// A table without rows.
    public init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row; missing cells are empty, excess cells ignored.
    public mutating func add(_ cells: [String]) {
        rows.append(Array((cells + Array(repeating: "", count: columns.count)).prefix(columns.count)))
    }

    /// The headings and the rows. Cells must not contain colours, since escape sequences would count as cells.
    public var lines: [String] {
        lines(of: Array(columns.indices), widths: naturalWidths)
    }

    /// The headings and the rows in `width` cells, with columns omitted and cells truncated as their ``Column`` says.
    public func lines(fitting width: Int) -> [String] {
        let (chosen, widths) = layout(width)
        return lines(of: chosen, widths: widths).map { shortened($0, toCells: width) }
    }

    /// As ``lines(fitting:)``, but nothing of a last column with text is omitted or truncated: its cells are broken between
    /// words, and are below the others' if there is no room for its heading beside theirs.
    public func wholeLines(fitting width: Int) -> [String] {
        let (chosen, widths) = (layout(width).columns, naturalWidths)
        guard let last = columns.indices.last, columns[last].alignment == .left else { return lines(fitting: width) }
        let others = chosen.filter { $0 != last }
        let isBeside = cellWidth(line(columns.map(\.title), of: others + [last], widths)) <= width
        return all.flatMap { row in
            (isBeside ? [line(row, of: others + [last], widths)] : [line(row, of: others, widths), "  " + row[last]])
                .filter { !$0.allSatisfy { $0 == " " } }.flatMap { wrapped($0, toCells: width) }
        }
    }

    private var all: [[String]] { [columns.map(\.title)] + rows }

    private var naturalWidths: [Int] {
        columns.indices.map { column in all.map { cellWidth($0[column]) }.max() ?? 0 }
    }

    /// The columns that fit into `width` cells, with the width of each.
    private func layout(_ width: Int) -> (columns: [Int], widths: [Int]) {
        let natural = naturalWidths
        var chosen = Array(columns.indices)
        var widths = columns.indices.map { min(natural[$0], columns[$0].minimum ?? .max) }
        func excess() -> Int { chosen.reduce(-Self.gap) { $0 + widths[$1] + Self.gap } - width }
        let omissions = chosen.filter { columns[$0].omission != nil }
            .sorted { columns[$0].omission ?? 0 < columns[$1].omission ?? 0 }
        for column in omissions where excess() > 0 { chosen.removeAll { $0 == column } }
        // Flexible columns share what is left over, and cover what is missing, from the left.
        for column in chosen where columns[column].minimum != nil {
            widths[column] = max(1, min(natural[column], widths[column] - excess()))
        }
        return (chosen, widths)
    }

    private func lines(of chosen: [Int], widths: [Int]) -> [String] {
        all.map { line($0, of: chosen, widths) }
    }

    private func line(_ row: [String], of chosen: [Int], _ widths: [Int]) -> String {
        var line = ""
        for (number, column) in chosen.enumerated() {
            let cell =
                columns[column].cutsBetweenWords
                ? shortened(row[column], toCells: widths[column], keepingWordsOf: Self.uncutLength)
                : shortened(row[column], toCells: widths[column])
            let padding = String(repeating: " ", count: max(0, widths[column] - cellWidth(cell)))
            line +=
                (number > 0 ? String(repeating: " ", count: Self.gap) : "")
                + (columns[column].alignment == .left ? cell + padding : padding + cell)
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}
