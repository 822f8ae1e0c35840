/// A line editor without input and output: keys in, actions out. The keys are those of Emacs and readline.
struct LineEditor: Hashable, Sendable {
    /// An effect of a key.
    enum Action: Hashable, Sendable {
        /// The line or its cursor has changed.
        case draw
        /// The key has no effect here.
        case bell
        /// The user has entered a line.
        case accept(String)
        /// Ctrl-C: the user has discarded the line.
        case interrupt
        /// Ctrl-D on an empty line.
        case endOfInput
        /// Ctrl-L.
        case clearScreen
        /// Ctrl-Z.
        case suspend
        /// Tab: complete the text before the cursor; a second Tab in a row also asks for the list.
        case complete(String, listsAll: Bool)
    }

    /// A search backwards in the history (Ctrl-R).
    private struct Search: Hashable {
        var query = ""
        /// The index of the match; the number of lines before the first.
        var index: Int
        var original: EditedLine
        var hasFailed = false
    }

    private var decoder = KeyDecoder()
    private(set) var line = EditedLine()
    private(set) var history: LineHistory
    private var search: Search?
    /// The text that was cut last, for Ctrl-Y.
    private var cutText = ""
    /// Whether the last key was a Tab that completed nothing.
    private var isTabRepeated = false

    /// An editor with an empty line.
    init(history: LineHistory = LineHistory()) {
        self.history = history
    }

    /// The text of the search that replaces the prompt; nil while there is none.
    var searchPrompt: String? {
        search.map { "(\($0.hasFailed ? "failing search" : "search"): \($0.query)) " }
    }

    /// Takes a byte of the terminal.
    mutating func take(_ byte: UInt8) -> Action? {
        decoder.take(byte).flatMap { take($0) }
    }

    /// Applies a completion: replaces `count` characters before the cursor.
    mutating func complete(_ count: Int, with text: String) {
        if line.replaceBeforeCursor(count, with: text), !text.isEmpty { isTabRepeated = false }
    }

    /// Takes a key.
    mutating func take(_ key: Key) -> Action? {
        let wasTab = isTabRepeated
        isTabRepeated = key == .tab
        if search != nil, let action = takeInSearch(key) { return action }
        switch key {
        case .text(let scalar): return edit { $0.insert(scalar) }
        case .paste(let text): return edit { $0.insert(text.cleaned) }
        case .enter: return accept()
        case .tab: return .complete(line.textBeforeCursor, listsAll: wasTab)
        case .backspace: return edit { $0.removeBackward() != nil }
        case .delete: return edit { $0.removeForward() != nil }
        case .left: return move { $0.moveLeft() }
        case .right: return move { $0.moveRight() }
        case .wordLeft: return move { $0.moveToWordStart() }
        case .wordRight: return move { $0.moveToWordEnd() }
        case .home: return move { $0.moveToStart() }
        case .end: return move { $0.moveToEnd() }
        case .up: return show(history.previous(leaving: line.text))
        case .down: return show(history.next())
        case .control(let letter): return control(letter)
        case .alt(let letter): return alt(letter)
        }
    }

    private mutating func control(_ letter: Character) -> Action? {
        switch letter {
        case "a": return move { $0.moveToStart() }
        case "b": return move { $0.moveLeft() }
        case "c":
            reset()
            return .interrupt
        case "d":
            if line.isEmpty { return .endOfInput }
            return edit { $0.removeForward() != nil }
        case "e": return move { $0.moveToEnd() }
        case "f": return move { $0.moveRight() }
        case "k": return cut { $0.cutToEnd() }
        case "l": return .clearScreen
        case "n": return show(history.next())
        case "p": return show(history.previous(leaving: line.text))
        case "r":
            search = Search(index: history.lines.count, original: line)
            return .draw
        case "t": return edit { $0.transpose() }
        case "u": return cut { $0.cutToStart() }
        case "w": return cut { $0.cutWordBackward(isWide: true) }
        case "y":
            let text = cutText
            return edit { !text.isEmpty && $0.insert(text) }
        case "z": return .suspend
        default: return .bell
        }
    }

    private mutating func alt(_ letter: Character) -> Action? {
        switch letter {
        case "b": move { $0.moveToWordStart() }
        case "f": move { $0.moveToWordEnd() }
        case "d": cut { $0.cutWordForward() }
        case "\u{7F}": cut { $0.cutWordBackward(isWide: false) }
        default: .bell
        }
    }

    // MARK: Effects

    private mutating func move(_ change: (inout EditedLine) -> Void) -> Action? {
        let before = line.cursor
        change(&line)
        return line.cursor == before ? .bell : .draw
    }

    private mutating func edit(_ change: (inout EditedLine) -> Bool) -> Action? {
        change(&line) ? .draw : .bell
    }

    private mutating func cut(_ change: (inout EditedLine) -> String) -> Action? {
        let text = change(&line)
        guard !text.isEmpty else { return .bell }
        cutText = text
        return .draw
    }

    private mutating func show(_ text: String?) -> Action? {
        guard let text else { return .bell }
        line = EditedLine(text)
        return .draw
    }

    private mutating func accept() -> Action {
        let text = line.text
        reset()
        return .accept(text)
    }

    private mutating func reset() {
        line = EditedLine()
        search = nil
        history.leave()
    }

    /// Adds an entered line to the history; returns whether it was added.
    mutating func remember(_ text: String) -> Bool { history.add(text) }

    // MARK: Search

    /// Takes a key during a search. Nil if the key ends the search and has its usual effect on the line that was found.
    private mutating func takeInSearch(_ key: Key) -> Action? {
        guard var search else { return nil }
        switch key {
        case .text(let scalar):
            search.query.unicodeScalars.append(scalar)
            // The present match may still be one.
            return find(search, before: search.index + 1)
        case .backspace:
            search.query = String(search.query.dropLast())
            line = search.original
            return find(search, before: history.lines.count)
        case .control("r"): return find(search, before: search.index)
        case .control("g"), .control("c"):
            line = search.original
            self.search = nil
            return .draw
        default:
            self.search = nil
            return nil
        }
    }

    private mutating func find(_ search: Search, before index: Int) -> Action {
        var search = search
        let found = history.index(of: search.query, before: index)
        search.hasFailed = found == nil && !search.query.isEmpty
        if let found {
            search.index = found
            line = EditedLine(history.lines[found])
        }
        self.search = search
        return search.hasFailed ? .bell : .draw
    }
}

extension String {
    /// Pasted text for a line: line ends are kept as such, for they separate steps; other control characters are left
    /// out, except for a tab, which is a space, and the last line end.
    fileprivate var cleaned: String {
        var cleaned = ""
        for character in self {
            if character.isNewline {
                cleaned.append("\n")
            } else if character == "\t" {
                cleaned.append(" ")
            } else {
                cleaned.unicodeScalars.append(
                    contentsOf: character.unicodeScalars.filter { $0.properties.generalCategory != .control })
            }
        }
        while cleaned.last == "\n" { cleaned.removeLast() }
        return cleaned
    }
}
