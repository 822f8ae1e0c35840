import CTerminal
import Glibc

/// Whether `wcwidth` has a locale with characters, which the locale C is not.
private let hasCharacters: Bool = {
    // The user's locale first: it may have its own widths.
    _ = setlocale(LC_CTYPE, "")
    if count("漢") != 2 { _ = setlocale(LC_CTYPE, "C.UTF-8") }
    return count("漢") == 2
}()

private func count(_ scalar: Unicode.Scalar) -> Int {
    Int(wcwidth(wchar_t(truncatingIfNeeded: scalar.value)))
}

/// How many cells a terminal gives a character.
private func cellCount(_ scalar: Unicode.Scalar) -> Int {
    if hasCharacters, case let count = count(scalar), count >= 0 { return count }
    // One that this system's tables lack, or any.
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: return scalar.properties.isEmojiPresentation ? 2 : 1
    }
}

/// How many cells of a terminal a text takes, as the terminal counts: each scalar for itself (`wcwidth`).
public func cellWidth(_ text: some StringProtocol) -> Int {
    text.unicodeScalars.reduce(0) { $0 + cellCount($1) }
}

/// The beginning of a text that fits into so many cells, with an ellipsis where something is left out; no character is cut.
public func shortened(_ text: String, toCells width: Int) -> String {
    guard cellWidth(text) > width else { return text }
    guard width > 0 else { return "" }
    var result = ""
    var count = 1
    for character in text {
        count += cellWidth(String(character))
        guard count <= width else { break }
        result.append(character)
    }
    return result + "…"
}

/// Lines at the end of a terminal's output that are drawn over: the commands for it, without the terminal.
public struct LiveText: Sendable {
    private var count = 0

    /// Nothing drawn yet.
    public init() {}

    /// What draws lines over those before, as many as the terminal has room for: how many there are more is the last.
    ///
    /// - Parameters:
    ///   - lines: the lines; the first is always there.
    ///   - size: the terminal's cells.
    public mutating func frame(_ lines: [String], in size: (width: Int, height: Int)) -> String {
        // The cursor is on a line of its own below.
        let room = max(2, size.height - 1)
        var visible = lines
        if lines.count > room { visible = lines.prefix(room - 1) + ["… \(lines.count - room + 1) more"] }
        return draw(visible.map { shortened($0, toCells: size.width) })
    }

    /// What draws all lines in the end, however many and long.
    public mutating func last(_ lines: [String]) -> String {
        defer { count = 0 }
        return draw(lines)
    }

    private mutating func draw(_ lines: [String]) -> String {
        // To the first column as well: the terminal may have shown a ^C. A line is cleared before it is written, since
        // after one that is as wide as the terminal the cursor stands on its last character.
        let start = "\r" + (count > 0 ? "\u{1B}[\(count)A" : "")
        count = lines.count
        return start + lines.map { "\u{1B}[K\($0)\n" }.joined() + "\u{1B}[J"
    }
}

/// A line of a terminal that is drawn over until it is dropped.
public final class StatusLine {
    /// A ^C of the terminal fits behind it.
    private static let margin = 3

    private let descriptor: Int32
    private var text: String?

    /// A line on the terminal that a descriptor leads to.
    public init(on descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// How many cells it may have.
    public var width: Int { max(1, terminalSize(of: descriptor).width - Self.margin) }

    /// Replaces what it says; `text` holds no more than ``width`` cells.
    public func show(_ text: String) {
        if self.text == nil { hideCursor(on: descriptor) }
        self.text = text
        writeAll("\r\u{1B}[K\(text)", to: descriptor)
    }

    deinit {
        guard let text else { return }
        writeAll("\r\u{1B}[K\(text)\n", to: descriptor)
        showCursor()
    }
}

extension Console {
    /// Draws lines on the terminal that results go to, over those that `text` has drawn; the cursor is hidden meanwhile.
    public func draw(_ lines: [String], over text: inout LiveText) {
        hideCursor(on: results.descriptor)
        result(Array(text.frame(lines, in: size).utf8))
    }

    /// Draws all lines, however many, over those that `text` has drawn, to stay.
    public func drawLast(_ lines: [String], over text: inout LiveText) {
        result(Array(text.last(lines).utf8))
        showCursor()
    }

    /// A line on the terminal that results go to.
    public func statusLine() -> StatusLine { StatusLine(on: results.descriptor) }
}
