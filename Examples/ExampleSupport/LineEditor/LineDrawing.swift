/// The drawing of an edited line on one row of a terminal, which scrolls sideways when the line does not fit.
struct LineDrawing: Hashable, Sendable {
    /// The number of characters that are scrolled out at the left.
    private var start = 0

    /// The output that draws the row and places the cursor.
    ///
    /// - Parameters:
    ///   - prompt: the text before the line; shortened to half of the row.
    ///   - paint: adds colours to the prompt.
    ///   - width: the number of cells of the row.
    mutating func frame(
        prompt: String, _ line: EditedLine, width: Int, paint: (String) -> String = { $0 }
    ) -> String {
        // The last cell stays free, since terminals differ in what follows a character in it.
        let prompt = shortened(prompt, toCells: max(0, width / 2))
        let room = max(1, width - 1 - cellWidth(prompt))
        let cells = line.characters.map { Self.shown($0) }
        scroll(cells, line.cursor, room)
        var visible = ""
        var used = 0
        for (text, width) in cells[start...] {
            guard used + width <= room else { break }
            visible += text
            used += width
        }
        let column = cellWidth(prompt) + cells[start..<line.cursor].reduce(0) { $0 + $1.width }
        let move = column > 0 ? "\u{1B}[\(column)C" : ""
        return "\r" + paint(prompt) + visible + "\u{1B}[K\r" + move
    }

    /// Moves the visible part as little as possible, so that the cursor is in it.
    private mutating func scroll(_ cells: [(text: String, width: Int)], _ cursor: Int, _ room: Int) {
        start = min(start, cursor)
        // Whatever follows the cursor fills the row, also after the line has become shorter.
        var rest = cells[start...].reduce(0) { $0 + $1.width }
        while start > 0, rest + cells[start - 1].width < room {
            start -= 1
            rest += cells[start].width
        }
        // A cell for the cursor itself.
        var before = cells[start..<cursor].reduce(0) { $0 + $1.width }
        while before >= room, start < cursor {
            before -= cells[start].width
            start += 1
        }
    }

    /// A character as it is shown, with its width: a line end is visible, control characters are escaped.
    private static func shown(_ character: Character) -> (text: String, width: Int) {
        let text = character.isNewline ? "↵" : character.isTyped ? String(character) : printable(String(character))
        return (text, cellWidth(text))
    }

    /// The output that removes the row.
    static let clear = "\r\u{1B}[K"
}

extension Character {
    /// Whether the character contains nothing but what `printable` leaves as it is, or joins what it does.
    fileprivate var isTyped: Bool {
        // Emoji are joined by a format character.
        unicodeScalars.allSatisfy { $0.value == 0x200D || printable(String($0)) == String($0) }
    }
}
