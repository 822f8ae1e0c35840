/// A tutorial of the guide: a page whose Swift blocks are the files of a reader's package.
///
/// The first line of such a block is the path of the file, `// Sources/logger/Logger.swift`. Each section that has one is
/// a step: the package as it is after the section. A step is compiled as a type of its own, named after the heading, with
/// the contents of the files; those that are as in an earlier step are named there. So a file has types only, no extensions.
struct Tutorial: Sendable {
    /// The package after a section.
    struct Step: Sendable {
        /// The heading of the section.
        var heading: String
        /// The lines of each file, in the order of the paths.
        var files: [(path: String, lines: [String])]
    }

    /// Any block of the page.
    struct Block: Sendable {
        var heading: String
        /// The word behind the fence, such as `json`.
        var kind: String
        var lines: [String]
    }

    static let paths = ["Docs/Guide/Tutorials/ThermometerLogger.md", "Docs/Guide/Tutorials/OwnDevice.md"]

    let path: String
    let blocks: [Block]

    init(_ path: String) throws {
        self.init(path, text: try Pages.text(of: path))
    }

    init(_ path: String, text: String) {
        self.path = path
        var (blocks, heading): ([Block], String) = ([], "")
        var open: Block?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if let block = open, line == "```" {
                blocks.append(block)
                open = nil
            } else if open != nil {
                open?.lines.append(line)
            } else if line.hasPrefix("```") {
                open = Block(heading: heading, kind: String(line.dropFirst(3)), lines: [])
            } else if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" || $0 == " " })
            }
        }
        self.blocks = blocks
    }

    // MARK: Its parts

    /// The Swift blocks that are files: all but a Package.swift.
    private var sources: [Block] { blocks.filter { $0.kind == "swift" && !Pages.isManifest($0.lines) } }

    /// The Swift blocks without a path, which no test compiles.
    var strays: [Block] { sources.filter { Self.filePath($0) == nil } }

    var steps: [Step] {
        var steps: [Step] = []
        var files: [String: [String]] = [:]
        for block in sources {
            guard let path = Self.filePath(block) else { continue }
            files[path] = Array(block.lines.dropFirst())
            let sorted = files.sorted { $0.key < $1.key }.map { (path: $0.key, lines: $0.value) }
            if steps.last?.heading == block.heading { steps.removeLast() }
            steps.append(Step(heading: block.heading, files: sorted))
        }
        return steps
    }

    private static func filePath(_ block: Block) -> String? {
        guard let line = block.lines.first, line.hasPrefix("// "), line.hasSuffix(".swift") else { return nil }
        return String(line.dropFirst(3))
    }

    /// The text of the block of this kind below a heading, the first unless another number is given.
    func text(_ kind: String, below heading: String, number: Int = 1) throws -> String {
        let found = blocks.filter { $0.kind == kind && $0.heading == heading }
        guard found.indices.contains(number - 1) else {
            throw Pages.MissingPage(path: "\(path), \(heading): the block \(number) of \(kind)")
        }
        return found[number - 1].lines.joined(separator: "\n")
    }

    /// The printed lines of a terminal block, without its commands.
    func output(below heading: String, number: Int = 1) throws -> [String] {
        try text("console", below: heading, number: number).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("$ ") }
    }

    // MARK: Generating

    /// The type with the steps, such as `ThermometerLoggerPage`.
    var space: String { Pages.space(of: path) }

    /// The type with the contents of a step.
    static func space(of step: Step) -> String {
        step.heading.split { !$0.isLetter && !$0.isNumber }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// The generated file.
    var file: (path: String, text: String) {
        let steps = steps
        let paths = Set(steps.flatMap(\.files).map(\.path))
        let own = Set(paths.compactMap { $0.split(separator: "/").dropFirst().first.map(String.init) })
        let lines = steps.flatMap(\.files).flatMap(\.lines)
        let imports = Set(lines.filter { $0.hasPrefix("import ") }).filter { !own.contains(String($0.dropFirst(7))) }
        return (
            "\(Pages.folder)/\(space).swift",
            """
            // The steps of \(path), for the compiler. Generated from it:
            //     \(Pages.remedy)
            // swift-format-ignore-file

            \(imports.sorted().joined(separator: "\n"))

            /// \(path)
            enum \(space) {
            \(Self.code(steps).joined(separator: "\n"))}

            """
        )
    }

    /// The code of each step: a file that is as in an earlier step, as are those whose types it names, is a type alias.
    private static func code(_ steps: [Step]) -> [String] {
        var latest: [String: (lines: [String], space: String)] = [:]
        return steps.map { step in
            var new = step.files.filter { latest[$0.path]?.lines != $0.lines }
            while let next = step.files.first(where: { file in
                !new.contains { $0.path == file.path } && new.flatMap(types(of:)).contains { names($0, in: file.lines) }
            }) { new.append(next) }
            for file in new { latest[file.path] = (file.lines, space(of: step)) }
            let files = step.files.map { file in
                guard let space = latest[file.path]?.space, space != Self.space(of: step) else { return code(of: file) }
                return types(of: file).map { "        typealias \($0) = \(space).\($0)" }.joined(separator: "\n")
            }
            return """
                    /// \(step.heading)
                    enum \(space(of: step)) {
                \(files.joined(separator: "\n\n"))
                    }

                """
        }
    }

    private static func code(of file: (path: String, lines: [String])) -> String {
        let lines = file.lines.filter { !$0.hasPrefix("import ") && !$0.hasPrefix("@testable import ") }
        let body = lines.drop(while: \.isEmpty).map { line in
            let code = line.hasPrefix("@main ") ? String(line.dropFirst("@main ".count)) : line
            return code.isEmpty ? "" : "        \(code)"
        }
        return "        // \(file.path)\n" + body.joined(separator: "\n")
    }

    /// The types that a file declares.
    private static func types(of file: (path: String, lines: [String])) -> [String] {
        let declaration = /^(?:@\w+ )?(?:public |final )*(?:struct|class|enum|actor|protocol) (\w+)/
        return file.lines.compactMap { line in line.firstMatch(of: declaration).map { String($0.1) } }
    }

    private static func names(_ type: String, in lines: [String]) -> Bool {
        lines.contains { line in line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == type } }
    }
}
