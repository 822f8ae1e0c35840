import Glibc

/// A row of bars, one for each value, between the least and the greatest of them.
public func sparkline(_ values: [Double]) -> String {
    let bars = Array("▁▂▃▄▅▆▇█")
    let finite = values.filter(\.isFinite)
    guard let low = finite.min(), let high = finite.max() else { return "" }
    return String(
        finite.map { value -> Character in
            guard high > low else { return bars[bars.count / 2] }
            return bars[min(bars.count - 1, Int((value - low) / (high - low) * Double(bars.count)))]
        })
}

/// Rows in columns as wide as their widest cell.
public struct Table: Sendable {
    /// Where the cells of a column stand.
    public enum Alignment: Sendable {
        /// At its left edge.
        case left
        /// At its right edge.
        case right
    }

    private let columns: [(title: String, alignment: Alignment)]
    private var rows: [[String]] = []

    /// A table without rows.
    public init(_ columns: [(title: String, alignment: Alignment)]) {
        self.columns = columns
    }

    /// Adds a row; missing cells are empty, those beyond the columns are ignored.
    public mutating func add(_ cells: [String]) {
        rows.append(Array((cells + Array(repeating: "", count: columns.count)).prefix(columns.count)))
    }

    /// The titles and the rows. Cells must hold no colours, for they would be counted as characters.
    public var lines: [String] {
        let all = [columns.map(\.title)] + rows
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                line +=
                    (column > 0 ? "  " : "") + (columns[column].alignment == .left ? cell + padding : padding + cell)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

/// Something with what belongs to it, to be drawn as a tree.
public struct Tree<Content> {
    private let content: Content
    private var branches: [Tree] = []

    /// Something to which nothing belongs yet.
    public init(_ content: Content, _ branches: [Tree] = []) {
        self.content = content
        self.branches = branches
    }

    /// Adds what belongs to it.
    public mutating func add(_ branch: Tree) {
        branches.append(branch)
    }

    /// What is in the tree from the top, each with the lines that lead to it.
    public var rows: [(branches: String, content: Content)] {
        var rows = [("", content)]
        for (index, branch) in branches.enumerated() {
            let isLast = index == branches.count - 1
            for (row, line) in branch.rows.enumerated() {
                rows.append(((row == 0 ? isLast ? "└─ " : "├─ " : isLast ? "   " : "│  ") + line.0, line.1))
            }
        }
        return rows
    }
}

extension Tree: Sendable where Content: Sendable {}

/// How far something has come, drawn on standard error where that is a terminal.
public final class ProgressBar {
    private let label: String
    private let total: Int
    private let style: Style
    private let start = ContinuousClock.now
    private var lastDrawing: ContinuousClock.Instant?

    /// A bar for `total` bytes.
    public init(_ label: String, total: Int, style: Style) {
        self.label = label
        self.total = total
        self.style = style
    }

    /// Draws that `done` bytes are through; at most ten times a second.
    public func update(_ done: Int) {
        guard style.isTerminal else { return }
        let now = ContinuousClock.now
        if let lastDrawing, now - lastDrawing < .milliseconds(100), done < total { return }
        lastDrawing = now
        let share = total > 0 ? Double(min(done, total)) / Double(total) : 1
        let seconds = (now - start) / .seconds(1)
        let rate = seconds > 0 ? Double(done) / seconds : 0
        let text = " \(Int(share * 100)) %  \(done)/\(total) B  \(formatRate(rate))"
        let width = max(10, min(40, terminalSize(of: STDERR_FILENO).width - label.count - text.count - 4))
        let filled = Int(share * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        writeAll("\r\(label) \(style.cyan(bar))\(text)\u{1B}[K", to: STDERR_FILENO)
    }

    deinit {
        if lastDrawing != nil { writeAll("\n", to: STDERR_FILENO) }
    }
}

/// `12.3 kB/s`.
public func formatRate(_ bytesPerSecond: Double) -> String {
    bytesPerSecond < 1000
        ? "\(Int(bytesPerSecond)) B/s" : "\(formatDecimal(bytesPerSecond / 1000, digits: 1)) kB/s"
}

/// `value` with the given number of digits after the point.
public func formatDecimal(_ value: Double, digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    var scale = 1.0
    for _ in 0..<max(0, min(3, digits)) { scale *= 10 }
    let scaled = Int((abs(value) * scale).rounded())
    let whole = scaled / Int(scale)
    let fraction = String(Int(scale) + scaled % Int(scale)).dropFirst()
    return (value < 0 && scaled > 0 ? "-" : "") + "\(whole)" + (digits > 0 ? ".\(fraction)" : "")
}

/// The present time of day as ISO 8601 has it, in UTC with milliseconds.
public func timestamp() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return "\(dateAndTime(time.tv_sec)).\(padded(time.tv_nsec / 1_000_000, 3))Z"
}

/// A moment in seconds since 1970, such as `2026-11-03T09:30:00Z`.
public func timestamp(of seconds: UInt64) -> String {
    dateAndTime(time_t(clamping: seconds)) + "Z"
}

private func dateAndTime(_ seconds: time_t) -> String {
    var (seconds, parts) = (seconds, tm())
    gmtime_r(&seconds, &parts)
    let date =
        "\(padded(Int(parts.tm_year) + 1900, 4))-\(padded(Int(parts.tm_mon) + 1, 2))-\(padded(Int(parts.tm_mday), 2))"
    let clock = "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):\(padded(Int(parts.tm_sec), 2))"
    return "\(date)T\(clock)"
}

private func padded(_ value: Int, _ count: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, count - text.count)) + text
}
