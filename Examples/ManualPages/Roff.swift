/// A manual page in the language of man(7), written from top to bottom.
struct Roff {
    /// The page so far.
    private(set) var text = ""
    /// Whether nothing follows the title of the section yet, so that no paragraph needs to be begun.
    private var isAtTitle = false

    /// Begins the page.
    init(title: String, date: String, source: String) {
        text = ".TH \"\(Self.escape(title.uppercased()))\" 1 \(date) \"\(Self.escape(source))\" \"User Commands\"\n"
        // Not hyphenated and not justified: commands and paths stay as they are typed.
        text += ".nh\n.ad l\n"
    }

    /// Begins a section.
    mutating func section(_ title: String) {
        begin("SH", title)
    }

    /// Begins a section within a section.
    mutating func subsection(_ title: String) {
        begin("SS", title)
    }

    /// Writes a paragraph.
    mutating func paragraph(_ prose: String) {
        if !isAtTitle { text += ".PP\n" }
        write(prose: prose)
    }

    /// Writes a further paragraph of a list's entry.
    mutating func continueEntry(_ prose: String) {
        text += ".IP\n"
        write(prose: prose)
    }

    /// Continues on the next line.
    mutating func breakLine() {
        text += ".br\n"
    }

    /// Writes text that continues the current paragraph, or begins the section's first one.
    mutating func write(prose: String) {
        for line in Self.lines(of: prose) { write(Self.emphasizingOptions(line)) }
    }

    /// Writes an entry of a list: a heading, which is roff already, and the text about it.
    mutating func entry(_ heading: String, _ prose: String) {
        text += ".TP\n"
        write(heading)
        write(prose: prose)
    }

    /// Writes lines as they are, indented.
    mutating func literal(_ lines: [String]) {
        text += isAtTitle ? ".RS 4\n.EX\n" : ".PP\n.RS 4\n.EX\n"
        for line in lines { write(Self.escape(line)) }
        text += ".EE\n.RE\n"
    }

    /// Writes a line that is roff already.
    mutating func write(_ line: String) {
        isAtTitle = false
        // A line that begins with one of these would be a request.
        text += line.hasPrefix(".") || line.hasPrefix("'") ? "\\&\(line)\n" : "\(line)\n"
    }

    /// Literal text in bold.
    static func bold(_ literal: String) -> String { "\\fB\(escape(literal))\\fR" }

    /// A placeholder in italics.
    static func italic(_ literal: String) -> String { "\\fI\(escape(literal))\\fR" }

    /// Text without any meaning to roff, in ASCII.
    static func escape(_ text: some StringProtocol) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            // A hyphen to be copied into a command line, not a typographic one.
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "\u{20}"..."\u{7E}": result.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
            }
        }
        return result
    }

    private mutating func begin(_ request: String, _ title: String) {
        text += ".\(request) \(Self.escape(title))\n"
        isAtTitle = true
    }

    /// The prose in lines that a person can read in the source as well.
    private static func lines(of prose: String) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in prose.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > 72 {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + [line]
    }

    /// Roff for a line of prose, with the names of options in bold.
    private static func emphasizingOptions(_ line: String) -> String {
        line.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let start = word.drop { $0 == "(" || $0 == "\"" }
            guard start.hasPrefix("-"), start.drop(while: { $0 == "-" }).first?.isLetter == true else {
                return escape(word)
            }
            let option = start.prefix { $0 == "-" || $0.isLetter || $0.isNumber }
            let opening = word.prefix(word.count - start.count)
            return escape(opening) + bold(String(option)) + escape(start.dropFirst(option.count))
        }.joined(separator: " ")
    }
}
