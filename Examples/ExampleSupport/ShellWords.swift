/// The steps of a line: commands separated by `;` or line ends, with their words quoted as in a shell.
public enum ShellWords {
    /// A step's words, and its text for messages.
    public struct Step: Equatable, Sendable {
        /// The words, without quotes.
        public var words: [String]
        /// The text as written.
        public var text: String
    }

    /// Splits a text into steps; empty ones and comments, from `#` at the beginning of a word, are left out.
    ///
    /// Within `'…'` everything is literal; within `"…"` and outside, a backslash quotes the next character.
    /// - Throws: ``ProgramError`` with ``ExitStatus/usage`` for a quote that is not closed, with its line.
    public static func steps(in text: some StringProtocol) throws -> [Step] {
        var splitter = Splitter()
        for character in text { splitter.take(character) }
        return try splitter.end()
    }

    /// The beginning of a step that a user is typing.
    public struct Unfinished: Equatable, Sendable {
        /// The complete words of the step.
        public var words: [String]
        /// The last word so far, without quotes; empty before its first character.
        public var last: String
        /// The number of characters of the last word as written.
        public var count: Int
    }

    /// The last step of a text that a user is typing; nil within a comment.
    public static func unfinished(in text: some StringProtocol) -> Unfinished? {
        var splitter = Splitter()
        for character in text { splitter.take(character) }
        return splitter.unfinished
    }

    /// A word, quoted if necessary so that it is read as this one word.
    public static func quoted(_ word: String) -> String {
        let isPlain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:+,@%=".contains($0) }
        let quoted = word.unicodeScalars.map { $0 == "'" ? #"'\''"# : String($0) }.joined()
        return isPlain && !word.isEmpty ? word : "'" + quoted + "'"
    }

    private struct Splitter {
        private enum State {
            case plain, comment, single, double
        }

        private var steps: [Step] = []
        private var words: [String] = []
        private var word: String?
        private var text = ""
        private var state = State.plain
        private var isEscaped = false
        private var line = 1
        /// The line of the open quote.
        private var quote = 1
        private var count = 0
        /// The number of characters before the word.
        private var wordStart: Int?

        /// The step so far; nil within a comment.
        var unfinished: Unfinished? {
            guard state != .comment else { return nil }
            return Unfinished(words: words, last: word ?? "", count: wordStart.map { count - $0 } ?? 0)
        }

        mutating func take(_ character: Character) {
            // A mark combines with the quote or the space before it, which keeps its meaning.
            for scalar in character.isNewline ? [character] : character.unicodeScalars.map({ Character($0) }) {
                split(scalar)
                if word == nil, !isEscaped { wordStart = nil } else if wordStart == nil { wordStart = count }
            }
            count += 1
        }

        private mutating func split(_ character: Character) {
            let isLineEnd = character.isNewline
            defer { if isLineEnd { line += 1 } }
            if state == .comment, !isLineEnd { return }
            if isEscaped {
                isEscaped = false
                text.append(character)
                // An escaped line end continues the line.
                if !isLineEnd { word = (word ?? "") + String(character) }
                return
            }
            switch (state, character) {
            case (.single, "'"), (.double, "\""): state = .plain
            case (.plain, "\\"), (.double, "\\"): isEscaped = true
            case (.single, _), (.double, _): word = (word ?? "") + String(character)
            case (.plain, "'"), (.plain, "\""):
                (state, quote) = (character == "'" ? .single : .double, line)
                word = word ?? ""
            case (_, ";"): return endStep()
            case (_, _) where isLineEnd: return endStep()
            case (.plain, "#") where word == nil: state = .comment; return
            case (_, " "), (_, "\t"): endWord()
            default: word = (word ?? "") + String(character)
            }
            text.append(character)
        }

        private mutating func endWord() {
            if let word { words.append(word) }
            word = nil
        }

        private mutating func endStep() {
            endWord()
            let shown = text.drop { $0.isWhitespace }
            if !words.isEmpty { steps.append(Step(words: words, text: String(shown.trimmed))) }
            (words, text, state) = ([], "", .plain)
        }

        mutating func end() throws -> [Step] {
            guard state != .single, state != .double else {
                throw ProgramError(.usage, "A quote in line \(quote) is not closed.")
            }
            if isEscaped { word = (word ?? "") + "\\" }
            endStep()
            return steps
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
