/// The common scale of RSSI sparklines in dBm: from barely received to side by side.
public let signalStrengths = -100.0 ... -30.0

/// A row of bars, one per value, scaled to `range` or, without one, from the least to the greatest value.
public func sparkline(_ values: [Double], in range: ClosedRange<Double>? = nil) -> String {
    let bars = Array("▁▂▃▄▅▆▇█")
    let finite = values.filter(\.isFinite)
    guard let low = range?.lowerBound ?? finite.min(), let high = range?.upperBound ?? finite.max() else { return "" }
    return String(
        finite.map { value -> Character in
            guard high > low else { return bars[bars.count / 2] }
            let share = (min(max(value, low), high) - low) / (high - low)
            return bars[min(bars.count - 1, Int(share * Double(bars.count)))]
        })
}

/// A node with its subtrees, to be drawn as a tree.
public struct Tree<Content> {
    private let content: Content
    private var branches: [Tree] = []

    /// A node with its subtrees.
    public init(_ content: Content, _ branches: [Tree] = []) {
        self.content = content
        self.branches = branches
    }

    /// Adds a subtree.
    public mutating func add(_ branch: Tree) {
        branches.append(branch)
    }

    /// The nodes from the top, each with the branch lines in front of it.
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

/// A progress bar on standard error, if that is a terminal.
public final class ProgressBar {
    private let label: String
    private let total: Int
    private let style: Style
    private let delay: Duration
    private let line = StatusLine(on: STDERR_FILENO)
    private let start = ContinuousClock.now

    /// A bar for `total` bytes, which appears if that takes longer than `delay`.
    public init(_ label: String, total: Int, style: Style, after delay: Duration = .zero) {
        self.label = label
        self.total = total
        self.style = style
        self.delay = delay
    }

    /// Draws the progress, at most ten times a second.
    public func update(_ done: Int) {
        guard style.isTerminal else { return }
        let now = ContinuousClock.now
        guard now - start >= delay else { return }
        let seconds = (now - start) / .seconds(1)
        let rate = seconds > 0 ? Double(done) / seconds : 0
        line.show(
            progressText(label, done, of: total, rate: rate, width: line.width, style: style),
            atMostEvery: done < total ? .milliseconds(100) : .zero)
    }

    /// Removes the bar.
    public func clear() { line.clear() }
}

/// A bar of 10 to 40 cells followed by numbers, in at most `width` cells: byte count, rate and bar are omitted in this
/// order.
func progressText(_ label: String, _ done: Int, of total: Int, rate: Double, width: Int, style: Style) -> String {
    func padded(_ text: String, _ count: Int) -> String {
        String(repeating: " ", count: max(0, count - text.count)) + text
    }
    let share = total > 0 ? Double(min(done, total)) / Double(total) : 1
    let percent = " \(padded("\(Int(share * 100))", 3)) %"
    let bytes = "  \(padded("\(done)", "\(total)".count))/\(total) B"
    // A fixed width, so that the bar keeps its length.
    let speed = "  \(padded(formatRate(rate), 10))"
    for numbers in [percent + bytes + speed, percent + speed, percent] {
        let room = width - cellWidth(label) - 1 - cellWidth(numbers)
        guard room >= 10 else { continue }
        let length = min(40, room)
        let filled = Int(share * Double(length))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: length - filled)
        return "\(label) \(style.cyan(bar))\(numbers)"
    }
    return shortened(label + percent, toCells: width)
}

/// `12.3 kB/s`.
public func formatRate(_ bytesPerSecond: Double) -> String {
    bytesPerSecond < 1000
        ? "\(Int(bytesPerSecond)) B/s" : "\(formatDecimal(bytesPerSecond / 1000, digits: 1)) kB/s"
}

/// `value` with the given number of decimals.
public func formatDecimal(_ value: Double, digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    var scale = 1.0
    for _ in 0..<max(0, min(3, digits)) { scale *= 10 }
    let scaled = Int((abs(value) * scale).rounded())
    let whole = scaled / Int(scale)
    let fraction = String(Int(scale) + scaled % Int(scale)).dropFirst()
    return (value < 0 && scaled > 0 ? "-" : "") + "\(whole)" + (digits > 0 ? ".\(fraction)" : "")
}

/// The current time in ISO 8601, in UTC with milliseconds.
public func timestamp() -> String { timestamp(microseconds: currentTime()) }

private func currentTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec / 1000)
}

extension Console {
    /// The time of a line, in microseconds of Unix time or the current one: on a terminal the local time of day, otherwise
    /// as in JSON.
    public func time(_ microseconds: Int64? = nil) -> String {
        let text = timestamp(microseconds: microseconds ?? currentTime(), isLocal: output.isTerminal)
        return output.dim(output.isTerminal ? String(text.suffix(13).dropLast()) : text)
    }

    /// A Unix time: on a terminal the local date and time, otherwise as in JSON.
    public func date(_ seconds: UInt64) -> String {
        guard output.isTerminal else { return timestamp(of: seconds) }
        return dateAndTime(time_t(clamping: seconds), isLocal: true).replacing("T", with: " ")
    }
}

/// A Unix time in ISO 8601, such as `2026-11-03T09:30:00Z`.
public func timestamp(of seconds: UInt64) -> String {
    dateAndTime(time_t(clamping: seconds)) + "Z"
}

/// A Unix time in microseconds in ISO 8601 with milliseconds, such as `2026-11-03T09:30:00.125Z`.
public func timestamp(microseconds: Int64) -> String { timestamp(microseconds: microseconds, isLocal: false) }

private func timestamp(microseconds: Int64, isLocal: Bool) -> String {
    var (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1_000_000) }
    return "\(dateAndTime(time_t(seconds), isLocal: isLocal)).\(padded(Int(rest / 1000), 3))Z"
}

/// The nearest time of the years 0 to 9999, which ISO 8601 writes with four digits.
private func dateAndTime(_ seconds: time_t, isLocal: Bool = false) -> String {
    var (seconds, parts) = (min(max(seconds, -62_167_219_200), 253_402_300_799), tm())
    _ = isLocal ? localtime_r(&seconds, &parts) : gmtime_r(&seconds, &parts)
    let date =
        "\(padded(Int(parts.tm_year) + 1900, 4))-\(padded(Int(parts.tm_mon) + 1, 2))-\(padded(Int(parts.tm_mday), 2))"
    let clock = "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):\(padded(Int(parts.tm_sec), 2))"
    return "\(date)T\(clock)"
}

private func padded(_ value: Int, _ count: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, count - text.count)) + text
}
