import BluetoothSystem

/// The programs of `Examples/Small`, and the source files generated from them, which `Tests/SmallPrograms` compiles into one
/// executable.
enum SmallPrograms {
    /// The folder of the generated files.
    static let folder = "Tests/SmallPrograms/Programs"

    private static let source = "Examples/Small/Programs"

    /// The generated files: a function for each program, and their table.
    static func files() throws -> [(path: String, text: String)] {
        let names = try SystemFiles.names(in: "\(Pages.root)/\(source)").filter { $0.hasSuffix(".swift") }.sorted()
            .map { String($0.dropLast(".swift".count)) }
        return try names.map { (path(of: $0), try file(of: $0)) } + [(path(of: "All"), table(of: names))]
    }

    /// The test of one's own program, which these tests run.
    static func test() throws -> (path: String, text: String) {
        let source = "Examples/Small/Tests/OwnTest.swift"
        return (
            "\(Pages.folder)/OwnTest.swift",
            """
            // \(source), to run it. Generated from it:
            //     \(Pages.remedy)
            // swift-format-ignore-file

            \(try Pages.text(of: source).split(separator: "\n", omittingEmptySubsequences: false)
                .drop { $0.hasPrefix("//") }.joined(separator: "\n"))
            """
        )
    }

    private static func path(of name: String) -> String { "\(folder)/\(name).swift" }

    private static func file(of name: String) throws -> String {
        let lines = try Pages.text(of: "\(source)/\(name).swift").split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        let code = Array(lines.drop { $0.hasPrefix("//") })
        // Without `@main` it must say that its `main` is the main actor's.
        let body = Pages.body(of: code).map {
            $0.replacing("static func main()", with: "@MainActor static func main()")
        }
        return """
            // \(source)/\(name).swift, for the tests. Generated from it:
            //     \(Pages.remedy)
            // swift-format-ignore-file

            \(code.filter { $0.hasPrefix("import ") }.joined(separator: "\n"))

            extension SmallPrograms {
                @MainActor static func run\(name)() async throws {
            \(body.map { $0.isEmpty ? "" : "        \($0)" }.joined(separator: "\n"))
                }
            }

            """
    }

    private static func table(of names: [String]) -> String {
        """
        // The programs of \(source). Generated from it:
        //     \(Pages.remedy)
        // swift-format-ignore-file

        extension SmallPrograms {
            /// The programs by name.
            static let all: [String: @MainActor () async throws -> Void] = [
        \(names.map { "        \"\($0)\": { try await run\($0)() }," }.joined(separator: "\n"))
            ]
        }

        """
    }
}
