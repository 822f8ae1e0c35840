/// The order of a help screen: what belongs to the command itself precedes the groups of common options.
enum HelpLayout {
    /// The screen of ArgumentParser with the command's own options before the titled groups, and with its subcommands
    /// before those. `--version` and `--help` follow in the last group, "Output".
    static func arranged(_ screen: String) -> String {
        let lines = screen.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // "EXAMPLES:" in the overview looks like a heading too.
        guard let usage = lines.firstIndex(where: { $0.hasPrefix("USAGE: ") }) else { return screen }
        guard let first = lines[usage...].firstIndex(where: isHeading) else { return screen }
        var sections: [[String]] = []
        for line in lines[first...] {
            if isHeading(line) { sections.append([]) }
            sections[sections.count - 1].append(line)
        }
        // The hint to the subcommands' help is no part of the last section.
        var end: [String] = []
        if let last = sections.last, let hint = last.firstIndex(where: { $0.hasPrefix("  See '") }) {
            end = Array(last[hint...])
            sections[sections.count - 1] = Array(last[..<hint])
        }
        sections = sections.map { Array($0[..<(($0.lastIndex { !$0.isEmpty } ?? 0) + 1)]) }
        let ranks = sections.map { section in
            switch section[0] {
            case "ARGUMENTS:": 0
            case "OPTIONS:": 1
            case let heading where heading.hasSuffix("SUBCOMMANDS:"): 2
            default: 3
            }
        }
        let order = sections.indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }
        // As wide as the rest, below its first word.
        let usages = wrapped("       " + lines[usage].dropFirst(7), toCells: 80).joined(separator: "\n")
        let head = lines[..<usage] + ["USAGE: " + usages.dropFirst(7)] + lines[(usage + 1)..<first]
        var result = head.joined(separator: "\n") + "\n"
        result += order.map { sections[$0].joined(separator: "\n") }.joined(separator: "\n\n")
        return end.isEmpty ? result : result + "\n\n" + end.joined(separator: "\n")
    }

    private static func isHeading(_ line: String) -> Bool {
        line.last == ":" && line.first != " "
            && line.dropLast().allSatisfy { $0 == " " || $0.isUppercase }
    }
}
