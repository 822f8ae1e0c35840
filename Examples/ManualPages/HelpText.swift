/// The discussion in a command's help, divided into the sections of a manual page.
///
/// Paragraphs are separated by empty lines; lines that begin with two spaces are literal. A paragraph that begins with words
/// in capitals and a colon, such as `EXAMPLES:`, begins the section of that name.
struct HelpText: Hashable, Sendable {
    enum Block: Hashable, Sendable {
        case paragraph(String)
        case literal([String])
    }

    struct Section: Hashable, Sendable {
        var title: String
        var blocks: [Block]
    }

    /// The blocks before the first section.
    var introduction: [Block] = []
    /// The titled sections in their order.
    var sections: [Section] = []

    init(_ text: String) {
        var paragraph = ""
        var literal: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("  ") || (line.isEmpty && !literal.isEmpty) {
                append(paragraph: &paragraph)
                literal.append(String(line.dropFirst(2)))
                continue
            }
            append(literal: &literal)
            guard !line.isEmpty else {
                append(paragraph: &paragraph)
                continue
            }
            guard paragraph.isEmpty else {
                paragraph += " " + line
                continue
            }
            let (title, rest) = Self.title(of: line)
            if let title { sections.append(Section(title: title, blocks: [])) }
            paragraph = rest
        }
        append(literal: &literal)
        append(paragraph: &paragraph)
    }

    /// The blocks of a section; nil without such a section.
    subscript(_ title: String) -> [Block]? {
        sections.first { $0.title == title }?.blocks
    }

    /// The lines of the examples.
    var examples: [String] {
        (self["EXAMPLES"] ?? []).flatMap { block -> [String] in
            if case .literal(let lines) = block { lines } else { [] }
        }
    }

    private mutating func append(paragraph: inout String) {
        defer { paragraph = "" }
        if !paragraph.isEmpty { append(.paragraph(paragraph)) }
    }

    private mutating func append(literal: inout [String]) {
        defer { literal = [] }
        while literal.last == "" { literal.removeLast() }
        if !literal.isEmpty { append(.literal(literal)) }
    }

    private mutating func append(_ block: Block) {
        if sections.isEmpty {
            introduction.append(block)
        } else {
            sections[sections.count - 1].blocks.append(block)
        }
    }

    private static func title(of line: Substring) -> (String?, String) {
        guard let colon = line.firstIndex(of: ":"), line.startIndex < colon else { return (nil, String(line)) }
        let title = line[..<colon]
        let rest = line[line.index(after: colon)...]
        guard title.count > 2, title.allSatisfy({ $0 == " " || ("A"..."Z").contains($0) }),
            rest.isEmpty || rest.first == " "
        else { return (nil, String(line)) }
        return (String(title), String(rest.drop { $0 == " " }))
    }
}
