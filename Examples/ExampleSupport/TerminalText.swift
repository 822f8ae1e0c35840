import CTerminal

/// Whether `wcwidth` has a multibyte locale; the C locale is not one.
private let hasCharacters: Bool = {
    // The user's locale first: it may define widths of its own.
    _ = setlocale(LC_CTYPE, "")
    if count("漢") != 2 { _ = setlocale(LC_CTYPE, "C.UTF-8") }
    return count("漢") == 2
}()

private func count(_ scalar: Unicode.Scalar) -> Int {
    Int(wcwidth(wchar_t(truncatingIfNeeded: scalar.value)))
}

/// The number of terminal cells of a scalar.
private func cellCount(_ scalar: Unicode.Scalar) -> Int {
    if hasCharacters, case let count = count(scalar), count >= 0 { return count }
    // No locale, or a scalar missing from its tables.
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: return scalar.properties.isEmojiPresentation ? 2 : 1
    }
}

/// The number of terminal cells of a text: the sum of its scalars' `wcwidth`, as terminals count.
public func cellWidth(_ text: some StringProtocol) -> Int {
    text.unicodeScalars.reduce(0) { $0 + cellCount($1) }
}

/// `1 packet`, `2 packets`.
public func quantity(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
}

/// The text truncated to `width` cells, between characters, with an ellipsis if anything was removed.
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

/// The text truncated to `width` cells as above, but between words; words of more than `length` cells are cut.
func shortened(_ text: String, toCells width: Int, keepingWordsOf length: Int) -> String {
    guard cellWidth(text) > width else { return text }
    var result = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
        let longer = result.isEmpty ? String(word) : result + " " + word
        // Room for a space and the ellipsis.
        guard cellWidth(longer) + 2 > width else {
            result = longer
            continue
        }
        if cellWidth(word) > length { return shortened(longer, toCells: width) }
        break
    }
    if result.last == "," { result.removeLast() }
    return shortened(result.isEmpty ? "…" : result + " …", toCells: width)
}

/// The number of cells of a text without the escape sequences in it.
func visibleWidth(_ text: some StringProtocol) -> Int {
    // Without one, the search would take longer than the rest.
    guard text.utf8.contains(0x1B) else { return cellWidth(text) }
    return cellWidth(String(text).replacing(/\u{1B}\[[0-9]*[A-Za-z]/, with: ""))
}

/// The lines of at most `width` cells that a line is broken into: between words, or within a longer word. Those after the
/// first are indented as it is, with the branches of a tree, or by two cells.
func wrapped(_ line: some StringProtocol, toCells width: Int) -> [String] {
    guard visibleWidth(line) > width else { return [String(line)] }
    let start = line.prefix { " │├└─".contains($0) }
    let isFlat = start.isEmpty || cellWidth(start) > width / 2
    let indent = isFlat ? "  " : String(start.map { "├│".contains($0) ? "│" : " " })
    var lines = [String(start)]
    for (number, word) in line[start.endIndex...].split(separator: " ", omittingEmptySubsequences: false).enumerated() {
        for (index, part) in parts(of: String(word), toCells: max(1, width - cellWidth(indent))).enumerated() {
            let longer = lines[lines.count - 1] + (number > 0 && index == 0 ? " " : "") + part
            if visibleWidth(longer) <= width {
                lines[lines.count - 1] = longer
            } else if !part.isEmpty {
                lines = (lines == [String(start)] ? [] : lines) + [indent + part]
            }
        }
    }
    return lines.map { String($0[..<($0.lastIndex { $0 != " " }.map($0.index(after:)) ?? $0.startIndex)]) }
}

/// A word in pieces of at most `width` cells, which end with a part of it, such as of a UUID or a path, or with a byte.
private func parts(of word: String, toCells width: Int) -> [Substring] {
    var (parts, rest) = ([Substring](), word[...])
    while visibleWidth(rest) > width {
        let fitting = rest.indices.prefix { visibleWidth(rest[...$0]) <= width }
        let end = fitting.dropFirst(fitting.count / 2).last { "-/:,".contains(rest[$0]) }
        let last = end ?? fitting.dropLast(fitting.count % 2).last ?? rest.startIndex
        parts.append(rest[...last])
        rest = rest[rest.index(after: last)...]
    }
    return parts + [rest]
}

/// A text whose lines are broken for the terminal of a descriptor; the same text for anything else.
func fitted(_ text: String, to descriptor: Int32) -> String {
    guard isatty(descriptor) == 1 else { return text }
    let width = terminalSize(of: descriptor).width
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.flatMap { wrapped($0, toCells: width) }.joined(separator: "\n")
}

/// The escape sequences that redraw a block of lines at the end of a terminal's output.
public struct LiveText: Sendable {
    private var count = 0
    private var widest = 0

    /// A block without lines.
    public init() {}

    /// The output that redraws the block, cut to the terminal's height; the last line then counts the omitted ones.
    ///
    /// - Parameters:
    ///   - lines: the lines; the first is always shown.
    ///   - size: the terminal's size in cells.
    public mutating func frame(_ lines: [String], in size: (width: Int, height: Int)) -> String {
        // The cursor is on a line of its own below.
        let room = max(2, size.height - 1)
        var visible = lines
        if lines.count > room { visible = lines.prefix(room - 1) + ["… \(lines.count - room + 1) more"] }
        return draw(visible.map { shortened($0, toCells: size.width) }, toCells: size.width)
    }

    /// The output that draws the final lines in a terminal of `width` cells, without cutting any.
    public mutating func last(_ lines: [String], toCells width: Int = .max) -> String {
        defer { (count, widest) = (0, 0) }
        return draw(lines, toCells: width)
    }

    private mutating func draw(_ lines: [String], toCells width: Int) -> String {
        // Return to column 0, since the terminal may have echoed ^C. Clear each line before writing it: after a line of
        // the terminal's full width the cursor is still on its last character.
        // A terminal that has become narrower than the former lines has broken them: clear it all.
        let start = widest > width ? "\u{1B}[H\u{1B}[2J" : "\r" + (count > 0 ? "\u{1B}[\(count)A" : "")
        (count, widest) = (lines.count, lines.map { cellWidth($0) }.max() ?? 0)
        return start + lines.map { "\u{1B}[K\($0)\n" }.joined() + "\u{1B}[J"
    }
}

/// A terminal line that is redrawn in place until it is released.
public final class StatusLine {
    /// Leaves room for an echoed ^C.
    private static let margin = 3

    private let descriptor: Int32
    private var text: String?
    private var time: ContinuousClock.Instant?

    /// A line on the terminal of a descriptor.
    public init(on descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Clears the line, and those into which a terminal has broken it that has become narrower.
    private var start: String {
        let count = (visibleWidth(text ?? "") - 1) / terminalSize(of: descriptor).width
        return "\r" + (count > 0 ? "\u{1B}[\(count)A\u{1B}[J" : "\u{1B}[K")
    }

    /// The number of cells available.
    public var width: Int { max(1, terminalSize(of: descriptor).width - Self.margin) }

    /// Replaces the text by one that is cut to ``width`` cells; without effect if that was done within the interval.
    public func show(_ text: String, atMostEvery interval: Duration = .zero) {
        let now = ContinuousClock.now
        if let time, now - time < interval { return }
        time = now
        // What fits may have colours.
        let text = visibleWidth(text) > width ? shortened(text, toCells: width) : text
        if self.text == nil { hideCursor(on: descriptor) }
        writeAll("\(start)\(text)", to: descriptor)
        self.text = text
    }

    /// Removes the text, which otherwise remains at the end.
    public func clear() {
        guard text != nil else { return }
        writeAll(start, to: descriptor)
        text = nil
        showCursor()
    }

    deinit {
        guard let text else { return }
        writeAll("\(start)\(text)\n", to: descriptor)
        showCursor()
    }
}

extension Console {
    /// Redraws `text` with these lines on the terminal for results, and hides the cursor.
    public func draw(_ lines: [String], over text: inout LiveText) {
        hideCursor(on: results.descriptor)
        result(Array(text.frame(lines, in: size).utf8))
    }

    /// Replaces `text` with these lines for good, without cutting any, and shows the cursor.
    public func drawLast(_ lines: [String], over text: inout LiveText) {
        result(Array(text.last(lines, toCells: size.width).utf8))
        showCursor()
    }

    /// A status line on standard error; nil if that is no terminal, or has other messages.
    public func messageLine() -> StatusLine? {
        messages.isTerminal && verbosity == 0 ? StatusLine(on: STDERR_FILENO) : nil
    }

    /// A status line on the terminal for results.
    public func statusLine() -> StatusLine { StatusLine(on: results.descriptor) }
}
