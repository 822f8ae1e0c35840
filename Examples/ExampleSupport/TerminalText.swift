import CTerminal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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

/// The lines of at most `width` cells that the words of a text fill; a longer word has a line of its own.
func wrapped(_ text: String, toCells width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
        if let last = lines.last, cellWidth(last) + 1 + cellWidth(word) <= width {
            lines[lines.count - 1] = last + " " + word
        } else {
            lines.append(String(word))
        }
    }
    return lines
}

/// The escape sequences that redraw a block of lines at the end of a terminal's output.
public struct LiveText: Sendable {
    private var count = 0

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
        return draw(visible.map { shortened($0, toCells: size.width) })
    }

    /// The output that draws the final lines, without cutting any.
    public mutating func last(_ lines: [String]) -> String {
        defer { count = 0 }
        return draw(lines)
    }

    private mutating func draw(_ lines: [String]) -> String {
        // Return to column 0, since the terminal may have echoed ^C. Clear each line before writing it: after a line of
        // the terminal's full width the cursor is still on its last character.
        let start = "\r" + (count > 0 ? "\u{1B}[\(count)A" : "")
        count = lines.count
        return start + lines.map { "\u{1B}[K\($0)\n" }.joined() + "\u{1B}[J"
    }
}

/// A terminal line that is redrawn in place until it is released.
public final class StatusLine {
    /// Leaves room for an echoed ^C.
    private static let margin = 3

    private let descriptor: Int32
    private var text: String?

    /// A line on the terminal of a descriptor.
    public init(on descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The number of cells available.
    public var width: Int { max(1, terminalSize(of: descriptor).width - Self.margin) }

    /// Replaces the text, which must fit into ``width`` cells.
    public func show(_ text: String) {
        if self.text == nil { hideCursor(on: descriptor) }
        self.text = text
        writeAll("\r\u{1B}[K\(text)", to: descriptor)
    }

    /// Removes the text, which otherwise remains at the end.
    public func clear() {
        guard text != nil else { return }
        text = nil
        writeAll("\r\u{1B}[K", to: descriptor)
        showCursor()
    }

    deinit {
        guard let text else { return }
        writeAll("\r\u{1B}[K\(text)\n", to: descriptor)
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
        result(Array(text.last(lines).utf8))
        showCursor()
    }

    /// A status line on standard error; nil if that is no terminal, or has other messages.
    public func messageLine() -> StatusLine? {
        messages.isTerminal && verbosity == 0 ? StatusLine(on: STDERR_FILENO) : nil
    }

    /// A status line on the terminal for results.
    public func statusLine() -> StatusLine { StatusLine(on: results.descriptor) }
}
