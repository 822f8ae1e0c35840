/// A line of text with a cursor, and the operations of an editor on it.
struct EditedLine: Hashable, Sendable {
    /// The maximum number of characters; more are refused.
    static let capacity = 65_536

    private(set) var characters: [Character]
    /// The number of characters before the cursor.
    private(set) var cursor: Int

    /// A line with the cursor at its end.
    init(_ text: String = "") {
        characters = Array(text.prefix(Self.capacity))
        cursor = characters.count
    }

    var text: String { String(characters) }
    var textBeforeCursor: String { String(characters[..<cursor]) }
    var isEmpty: Bool { characters.isEmpty }
    var isAtEnd: Bool { cursor == characters.count }

    // MARK: Movement

    mutating func moveLeft() { cursor = max(0, cursor - 1) }
    mutating func moveRight() { cursor = min(characters.count, cursor + 1) }
    mutating func moveToStart() { cursor = 0 }
    mutating func moveToEnd() { cursor = characters.count }
    mutating func moveToWordStart() { cursor = wordStart }
    mutating func moveToWordEnd() { cursor = wordEnd }

    private static func isInWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    /// The beginning of the word before the cursor, of letters and digits.
    private var wordStart: Int {
        var position = cursor
        while position > 0, !Self.isInWord(characters[position - 1]) { position -= 1 }
        while position > 0, Self.isInWord(characters[position - 1]) { position -= 1 }
        return position
    }

    /// The end of the word at or after the cursor.
    private var wordEnd: Int {
        var position = cursor
        while position < characters.count, !Self.isInWord(characters[position]) { position += 1 }
        while position < characters.count, Self.isInWord(characters[position]) { position += 1 }
        return position
    }

    // MARK: Changes

    /// Inserts a scalar, which may extend the character before the cursor. False if the line is full.
    mutating func insert(_ scalar: Unicode.Scalar) -> Bool {
        if cursor > 0 {
            let extended = String(characters[cursor - 1]) + String(scalar)
            if let character = extended.first, extended.count == 1 {
                characters[cursor - 1] = character
                return true
            }
        }
        return insert(String(Character(scalar)))
    }

    /// Inserts text at the cursor. False if it does not fit.
    mutating func insert(_ text: String) -> Bool {
        guard characters.count + text.count <= Self.capacity else { return false }
        characters.insert(contentsOf: text, at: cursor)
        cursor += text.count
        return true
    }

    /// Removes the character before the cursor; nil if there is none.
    mutating func removeBackward() -> Character? {
        guard cursor > 0 else { return nil }
        cursor -= 1
        return characters.remove(at: cursor)
    }

    /// Removes the character at the cursor; nil if there is none.
    mutating func removeForward() -> Character? {
        isAtEnd ? nil : characters.remove(at: cursor)
    }

    /// Removes from the cursor to the end, and returns that.
    mutating func cutToEnd() -> String { cut(cursor..<characters.count) }

    /// Removes from the beginning to the cursor, and returns that.
    mutating func cutToStart() -> String { cut(0..<cursor) }

    /// Removes from the cursor to the end of the word, and returns that.
    mutating func cutWordForward() -> String { cut(cursor..<wordEnd) }

    /// Removes from the beginning of the word to the cursor, and returns that. With `isWide`, words end at blanks only.
    mutating func cutWordBackward(isWide: Bool) -> String {
        guard isWide else { return cut(wordStart..<cursor) }
        var start = cursor
        while start > 0, characters[start - 1].isWhitespace { start -= 1 }
        while start > 0, !characters[start - 1].isWhitespace { start -= 1 }
        return cut(start..<cursor)
    }

    private mutating func cut(_ range: Range<Int>) -> String {
        let text = String(characters[range])
        characters.removeSubrange(range)
        cursor = range.lowerBound
        return text
    }

    /// Exchanges the two characters before the cursor, or around it within the line.
    mutating func transpose() -> Bool {
        guard characters.count > 1, cursor > 0 else { return false }
        if !isAtEnd { cursor += 1 }
        characters.swapAt(cursor - 2, cursor - 1)
        return true
    }

    /// Replaces the `count` characters before the cursor.
    mutating func replaceBeforeCursor(_ count: Int, with text: String) -> Bool {
        let start = cursor - min(count, cursor)
        guard characters.count - (cursor - start) + text.count <= Self.capacity else { return false }
        characters.replaceSubrange(start..<cursor, with: text)
        cursor = start + text.count
        return true
    }
}
