import BluetoothSystem

/// A snippet of Swift code on a page of the guide.
struct Snippet: Hashable, Sendable {
    /// The path of the page, such as `Docs/Guide/Central/Scanning.md`.
    var page: String
    /// The heading above it.
    var heading: String
    /// Its number below that heading, from 1.
    var number: Int
    /// Its lines.
    var lines: [String]
}

/// The pages with snippets, and the source files generated from them, one a page.
///
/// A snippet becomes the body of an `async throws` function. The names that the guide explains (``contexts``) become
/// parameters of the function, unless the snippet declares them itself.
enum Pages {
    /// The pages whose snippets are compiled and run.
    static let paths = [
        "README.md", "Docs/Guide/Bonds.md", "Docs/Guide/Capture.md", "Docs/Guide/Central.md",
        "Docs/Guide/Central/Adapters.md", "Docs/Guide/Central/Advertisements.md",
        "Docs/Guide/Central/Attributes.md", "Docs/Guide/Central/Caching.md",
        "Docs/Guide/Central/Channels.md", "Docs/Guide/Central/Connecting.md", "Docs/Guide/Central/LocalServer.md",
        "Docs/Guide/Central/Scanning.md", "Docs/Guide/Central/SeveralAdapters.md",
        "Docs/Guide/Central/UARTModules.md", "Docs/Guide/ComingFrom.md", "Docs/Guide/FirmwareUpdate.md",
        "Docs/Guide/Keyboard.md",
        "Docs/Guide/Peripheral.md", "Docs/Guide/Peripheral/Accepting.md", "Docs/Guide/Peripheral/Advertising.md",
        "Docs/Guide/Peripheral/Publishing.md", "Docs/Guide/Peripheral/UART.md", "Docs/Guide/Profiles.md",
        "Docs/Guide/Security.md",
        "Docs/Guide/Simulation.md", "Docs/Guide/Testing.md",
        "Sources/BluetoothLE/BluetoothLE.docc/Adapter.md", "Sources/BluetoothLE/BluetoothLE.docc/Connection.md",
        "Sources/BluetoothSimulation/BluetoothSimulation.docc/SimulatedPeripheral.md",
        "Sources/LINBLE/LINBLE.docc/Framer.md", "Sources/LINBLE/LINBLE.docc/KeptUARTOptions.md",
        "Sources/LINBLE/LINBLE.docc/UARTCentral.md", "Sources/LINBLE/LINBLE.docc/UARTOptions.md",
        "Sources/LINBLE/LINBLE.docc/UARTProfile.md", "Sources/LINBLE/LINBLE.docc/UARTServerOptions.md",
    ]

    /// The page of terms, which has no snippets.
    static let glossary = "Docs/Guide/Glossary.md"

    /// The names that a snippet may use without declaring them, as the pages say.
    static let contexts = [
        (name: "adapter", type: "Adapter"), (name: "address", type: "BluetoothAddress"),
        (name: "connection", type: "Connection"), (name: "radio", type: "SimulatedRadio"),
        (name: "kernel", type: "SimulatedKernel"), (name: "thermometer", type: "SimulatedPeripheral"),
        (name: "firmware", type: "[UInt8]"),
    ]

    /// The command to run after changing a page.
    static let remedy = "GUIDE_WRITE=1 swift test --filter GuideTests"

    static let root = String(#filePath.dropLast("/Tests/GuideTests/Pages.swift".count))

    static func text(of path: String) throws -> String {
        guard let bytes = try SystemFiles.read("\(root)/\(path)", limit: 1 << 20) else {
            throw MissingPage(path: path)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    struct MissingPage: Error {
        var path: String
    }

    // MARK: Extracting

    /// The snippets of a page, in order.
    static func snippets(of page: String, text: String) -> [Snippet] {
        var snippets: [Snippet] = []
        var heading = ""
        var fence: String?
        var lines: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if let kind = fence {
                guard line == "```" else {
                    lines.append(line)
                    continue
                }
                fence = nil
                guard kind == "swift", !isManifest(lines) else { continue }
                let number = 1 + snippets.count { $0.heading == heading }
                snippets.append(Snippet(page: page, heading: heading, number: number, lines: lines))
            } else if line.hasPrefix("```") {
                fence = String(line.dropFirst(3))
                lines = []
            } else if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" || $0 == " " })
            }
        }
        return snippets
    }

    /// Whether it is a Package.swift or a part of one, which no test can compile.
    static func isManifest(_ lines: [String]) -> Bool {
        lines.contains("import PackageDescription") || lines.allSatisfy { $0.hasPrefix(".package(") }
            || lines.first?.contains("arget(") == true
    }

    // MARK: Writing

    /// The folder of the generated files.
    static let folder = "Tests/GuideTests/Snippets"

    /// The generated files: the path and the text of each.
    static func files() throws -> [(path: String, text: String)] {
        let pages = try paths.map { ($0, snippets(of: $0, text: try text(of: $0))) }
        return try [modules(of: pages.flatMap(\.1))]
            + pages.filter { !$0.1.isEmpty }.map { page, snippets in
                let name = space(of: page)
                return (
                    "\(folder)/\(name).swift",
                    """
                    // The snippets of \(page), for the compiler. Generated from it:
                    //     \(remedy)
                    // swift-format-ignore-file

                    /// \(page)
                    enum \(name) {
                    \(snippets.map(function).joined(separator: "\n"))}

                    """
                )
            } + Tutorial.paths.map { try Tutorial($0).file }
    }

    /// The modules of all snippets, for all files: a snippet need not repeat an import of an earlier page.
    private static func modules(of snippets: [Snippet]) -> (path: String, text: String) {
        let imports = Set(snippets.flatMap(\.lines).filter { $0.hasPrefix("import ") }).union(["import BluetoothLE"])
        return (
            "\(folder)/Modules.swift",
            """
            // The modules that the snippets import. Generated from the pages:
            //     \(remedy)
            // swift-format-ignore-file

            \(imports.sorted().map { "@_exported \($0)" }.joined(separator: "\n"))

            """
        )
    }

    /// The type with a page's functions, such as `ScanningPage`.
    static func space(of page: String) -> String {
        let file = page.split(separator: "/").last ?? ""
        return (file == "README.md" ? "Readme" : String(file.dropLast(".md".count))) + "Page"
    }

    /// The name of a snippet's function: the words of its heading, and its number from the second on.
    static func name(of snippet: Snippet) -> String {
        let words = snippet.heading.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        let rest = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
        let name = ((words.first?.lowercased() ?? "") + rest.joined())
        return snippet.number == 1 ? name : "\(name)\(snippet.number)"
    }

    /// The parameters of a snippet's function.
    static func parameters(of snippet: Snippet) -> [(name: String, type: String)] {
        contexts.filter { context in
            let makings = [
                "let \(context.name) =", "(let \(context.name))", "{ \(context.name) in", "await \(context.name) in",
            ]
            let isMade = snippet.lines.contains { line in makings.contains { line.contains($0) } }
            return !isMade && snippet.lines.contains { mentions(context.name, in: $0) }
        }
    }

    private static func function(_ snippet: Snippet) -> String {
        let list = parameters(of: snippet).map { "_ \($0.name): \($0.type)" }.joined(separator: ", ")
        let lines = body(of: snippet.lines).map { $0.isEmpty ? "" : "        \($0)" }
        return """
                /// \(snippet.heading)
                static func \(name(of: snippet))(\(list)) async throws {
            \(lines.joined(separator: "\n"))
                }

            """
    }

    /// The body of a function with the code of these lines. A complete program becomes a local type, whose `main` it calls.
    static func body(of lines: [String]) -> [String] {
        var body = Array(lines.filter { !$0.hasPrefix("import ") }.drop(while: \.isEmpty))
        guard let line = body.firstIndex(where: { $0.hasPrefix("@main struct ") }) else { return body }
        body[line].trimPrefix("@main ")
        while body.last?.isEmpty == true { body.removeLast() }
        let main = body.first { $0.contains("static func main()") } ?? ""
        let effects = (main.contains("throws") ? "try " : "") + (main.contains("async") ? "await " : "")
        body.append("\(effects)\(body[line].dropFirst("struct ".count).prefix { $0 != " " }).main()")
        return body
    }

    /// Whether a line of code uses a name other than as a member or a label.
    private static func mentions(_ name: String, in line: String) -> Bool {
        let code = line.replacing(/"[^"\\]*"/, with: "").replacing(/\/\/.*/, with: "")
        return code.ranges(of: name).contains { range in
            let before = code[..<range.lowerBound].last
            let after = code[range.upperBound...]
            let isPart = { (character: Character) in character.isLetter || character.isNumber || character == "_" }
            return before.map { !isPart($0) && $0 != "." } ?? true
                && !(after.first.map(isPart) ?? false) && !after.hasPrefix(":")
        }
    }
}
