/// Rows in columns as wide as their widest cell, or as a terminal has room for.
public struct Table: Sendable {
    /// Where the cells of a column stand.
    public enum Alignment: Sendable {
        /// At its left edge.
        case left
        /// At its right edge.
        case right
    }

    /// What is the same for all cells of a column.
    public struct Column: Sendable {
        /// What its first line says.
        public var title: String
        /// Where its cells stand.
        public var alignment: Alignment
        /// Whether it is left out where a terminal is too narrow: the least number first, and nil never.
        public var omission: Int?
        /// How many cells it has at least while other columns are left out for it; nil: as many as its widest cell.
        public var minimum: Int?

        /// A column from its parts.
        public init(_ title: String, _ alignment: Alignment = .left, omission: Int? = nil, minimum: Int? = nil) {
            self.title = title
            self.alignment = alignment
            self.omission = omission
            self.minimum = minimum
        }
    }

    private static let gap = 2

    private let columns: [Column]
    private var rows: [[String]] = []

    /// A table without rows.
    public init(_ columns: [Column]) {
        self.columns = columns
    }

    /// A table without rows, all columns of which are always there.
    public init(_ columns: [(title: String, alignment: Alignment)]) {
        self.init(columns.map { Column($0.title, $0.alignment) })
    }

    /// Adds a row; missing cells are empty, those beyond the columns are ignored.
    public mutating func add(_ cells: [String]) {
        rows.append(Array((cells + Array(repeating: "", count: columns.count)).prefix(columns.count)))
    }

    /// The titles and the rows. Cells must hold no colours, for they would be counted as characters.
    public var lines: [String] {
        lines(of: Array(columns.indices), widths: naturalWidths)
    }

    /// The titles and the rows in so many cells: columns are left out, and cells shortened, as their ``Column`` says.
    public func lines(fitting width: Int) -> [String] {
        let (chosen, widths) = layout(width)
        return lines(of: chosen, widths: widths).map { shortened($0, toCells: width) }
    }

    /// As ``lines(fitting:)``, with nothing shortened: what the last column has no room for follows on a line of its own.
    public func wholeLines(fitting width: Int) -> [String] {
        var (chosen, widths) = layout(width)
        guard let last = columns.indices.last else { return [] }
        let natural = naturalWidths
        for column in chosen where column != last { widths[column] = natural[column] }
        let hasLast = chosen.contains(last)
        let shown = chosen.filter { $0 != last }
        let start = shown.reduce(0) { $0 + widths[$1] + Self.gap }
        return all.enumerated().flatMap { index, row -> [String] in
            let fits = hasLast && start + cellWidth(row[last]) <= width
            let line = self.line(row, of: fits ? chosen : shown, widths)
            return fits || row[last].isEmpty || index == 0 ? [line] : [line, "  " + row[last]]
        }
    }

    private var all: [[String]] { [columns.map(\.title)] + rows }

    private var naturalWidths: [Int] {
        columns.indices.map { column in all.map { cellWidth($0[column]) }.max() ?? 0 }
    }

    /// Which columns have room in so many cells, and how many of those each has.
    private func layout(_ width: Int) -> (columns: [Int], widths: [Int]) {
        let natural = naturalWidths
        var chosen = Array(columns.indices)
        var widths = columns.indices.map { min(natural[$0], columns[$0].minimum ?? .max) }
        func excess() -> Int { chosen.reduce(-Self.gap) { $0 + widths[$1] + Self.gap } - width }
        let omissions = chosen.filter { columns[$0].omission != nil }
            .sorted { columns[$0].omission ?? 0 < columns[$1].omission ?? 0 }
        for column in omissions where excess() > 0 { chosen.removeAll { $0 == column } }
        // What is left over goes to those that want more, from the left; what is missing comes from them.
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
            let cell = shortened(row[column], toCells: widths[column])
            let padding = String(repeating: " ", count: max(0, widths[column] - cellWidth(cell)))
            line +=
                (number > 0 ? String(repeating: " ", count: Self.gap) : "")
                + (columns[column].alignment == .left ? cell + padding : padding + cell)
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}
