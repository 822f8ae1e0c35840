import BluetoothSystem
import Testing

/// The compiled snippets equal those of the pages, and each has a story.
@Suite struct PageTests {
    @Test func theCompiledSnippetsAreThoseOfThePages() throws {
        try expectCurrent(try Pages.files() + [try SmallPrograms.test()], in: Pages.folder)
    }

    @Test func theTestedProgramsAreTheSmallOnes() throws {
        try expectCurrent(try SmallPrograms.files(), in: SmallPrograms.folder)
    }

    /// The generated files of a folder, which `GUIDE_WRITE=1` writes.
    private func expectCurrent(_ files: [(path: String, text: String)], in folder: String) throws {
        if SystemFiles.environment("GUIDE_WRITE") != nil {
            for file in files { try SystemFiles.replace("\(Pages.root)/\(file.path)", with: Array(file.text.utf8)) }
        }
        let names = try SystemFiles.names(in: "\(Pages.root)/\(folder)").map { "\(folder)/\($0)" }
        #expect(Set(names) == Set(files.map(\.path)), "\(Pages.remedy), and remove the files of former pages")
        for file in files where names.contains(file.path) {
            let compiled = try Pages.text(of: file.path)
            let (old, new) = (compiled.split(separator: "\n"), file.text.split(separator: "\n"))
            let same = zip(old, new).prefix { $0 == $1 }.count
            let isCurrent = compiled == file.text
            #expect(
                isCurrent,
                "\(file.path) is not its source, which is \(new.dropFirst(same).first ?? "shorter"): \(Pages.remedy)"
            )
        }
    }

    /// Tests/Kernel runs it without permission.
    @Test func theFirstProgramIsTheOneThatIsBuilt() throws {
        let program = try Pages.text(of: "Examples/FirstProgram/FirstProgram.swift")
        #expect(try Pages.text(of: "README.md").contains("```swift\n\(program)```\n"))
    }

    /// `swift test --package-path Examples/Gateway` builds it.
    @Test func theGatewayIsTheOneThatIsBuilt() throws {
        let program = try Pages.text(of: "Examples/Gateway/Sources/Gateway/Gateway.swift")
        #expect(try Pages.text(of: "Docs/Guide/Services.md").contains("```swift\n\(program)```\n"))
    }

    @Test func everyPageOfTheGuideIsListed() throws {
        for (front, count) in [("Central", 5), ("Peripheral", 4)] {
            let text = try Pages.text(of: "Docs/Guide/\(front).md")
            let linked = text.matches(of: /\]\(([A-Za-z\/]+\.md)\)/).map { "Docs/Guide/\($0.1)" }
            #expect(linked.count > count)
            #expect(Set(linked).isSubset(of: Pages.paths + Tutorial.paths + [Pages.glossary]))
            #expect(linked.contains(Pages.glossary))
        }
    }

    @Test func everySnippetHasAStory() throws {
        let files = try SystemFiles.names(in: "\(Pages.root)/Tests/GuideTests").filter { $0.hasSuffix("Stories.swift") }
        let stories = try files.map { try Pages.text(of: "Tests/GuideTests/\($0)") }.joined()
        for path in Pages.paths {
            let snippets = Pages.snippets(of: path, text: try Pages.text(of: path))
            #expect(!snippets.isEmpty, "\(path) has no snippets")
            for snippet in snippets {
                let call = "\(Pages.space(of: path)).\(Pages.name(of: snippet))"
                // The whole name, not the beginning of a longer one.
                let isRun = stories.ranges(of: call).contains {
                    stories[$0.upperBound...].first.map { "(),".contains($0) } == true
                }
                #expect(isRun, "no story runs \(call)")
            }
        }
    }

    /// A declaration without a topic is in an alphabetical list at the end.
    @Test(arguments: [
        "BluetoothAdvertising", "BluetoothGateway", "BluetoothHCI", "BluetoothLE", "BluetoothMainLoop",
        "BluetoothProfiles", "BluetoothSimulation", "CoreBluetooth", "LINBLE", "LINBLESimulation",
    ])
    func everyDeclarationHasATopic(product: String) throws {
        let page = try Pages.text(of: "Sources/\(product)/\(product).docc/\(product).md")
        let top = /^(?:@\w+ |final )*(?:class|enum|func|let|protocol|struct|typealias) ([A-Za-z0-9_]+)/
        for line in try Pages.text(of: "Tests/PublicAPI/\(product).txt").split(separator: "\n") {
            guard let name = line.firstMatch(of: top)?.1 else { continue }
            // With one grave accent in the lists of what is re-exported.
            let isListed = page.contains("`\(name)`") || page.contains("``\(name)(")
            #expect(isListed, "\(name) is in no topic of \(product)")
        }
    }

    /// An enum in the listings is on the page, with the reason for which it is closed.
    @Test func everyClosedEnumHasAReason() throws {
        let page = try Pages.text(of: "Docs/PublicAPI.md")
        let declaration = /^(?:([A-Za-z0-9.]+): )?(?:@resultBuilder |indirect )?enum ([A-Za-z0-9]+)/
        let listings = try SystemFiles.names(in: "\(Pages.root)/Tests/PublicAPI").filter { $0.hasSuffix(".txt") }
        for listing in listings where listing != "CoreBluetooth.txt" {
            for line in try Pages.text(of: "Tests/PublicAPI/\(listing)").split(separator: "\n") {
                guard let found = line.firstMatch(of: declaration) else { continue }
                let name = found.1.map { "\($0).\(found.2)" } ?? "\(found.2)"
                #expect(page.contains("`\(name)`"), "\(name) is closed without a reason in Docs/PublicAPI.md")
            }
        }
    }

    /// The types with many members have topics of their own, in the guide's order.
    @Test(arguments: ["BluetoothLE", "BluetoothSimulation", "LINBLE"])
    func everyMemberOfATypeWithTopicsHasOne(product: String) throws {
        let folder = "Sources/\(product)/\(product).docc"
        let types = try SystemFiles.names(in: "\(Pages.root)/\(folder)").map { $0.dropLast(".md".count) }
            .filter { $0 != product }
        #expect(!types.isEmpty)
        let name = /\b(?:case|enum|func|let|struct|typealias|var) ([A-Za-z0-9_]+)|\b(init)\b/
        for line in try Pages.text(of: "Tests/PublicAPI/\(product).txt").split(separator: "\n") {
            guard let type = types.first(where: { line.hasPrefix("\($0): ") }), let found = line.firstMatch(of: name),
                let member = found.1 ?? found.2
            else { continue }
            let page = try Pages.text(of: "\(folder)/\(type).md")
            let isListed = page.contains("``\(member)``") || page.contains("``\(member)(")
            #expect(isListed, "\(member) is in no topic of \(type)")
        }
    }

    @Test func everyPageSaysWhatComesNext() throws {
        let folders = ["Docs/Guide", "Docs/Guide/Central", "Docs/Guide/Peripheral", "Docs/Guide/Tutorials"]
        for folder in folders {
            for name in try SystemFiles.names(in: "\(Pages.root)/\(folder)") where name.hasSuffix(".md") {
                let last = try Pages.text(of: "\(folder)/\(name)").split(separator: "\n").last ?? ""
                #expect(last.hasPrefix("**Next:** ["), "\(folder)/\(name) does not end with what to read next")
            }
        }
    }

    @Test func everyStepOfATutorialHasAStory() throws {
        let stories = try Pages.text(of: "Tests/GuideTests/TutorialStories.swift")
        for path in Tutorial.paths {
            let tutorial = try Tutorial(path)
            #expect(!tutorial.steps.isEmpty)
            #expect(tutorial.strays.map(\.heading).isEmpty, "begin each block with the path of its file")
            for step in tutorial.steps {
                // Its own tests run as those here do.
                let isTest = step.heading != "The lamp as a file" && step.files.contains { $0.path.hasPrefix("Tests/") }
                let name = "Page.\(Tutorial.space(of: step))."
                #expect(isTest || stories.contains(name), "no story runs \(name)")
            }
        }
    }

    // MARK: Extracting

    @Test func aSnippetIsNamedAfterItsHeadingAndTakesParametersFromItsContext() {
        let page = """
            # A page
            ## To a device's end
            ```swift
            import BluetoothLE

            let found = adapter.address  // the connection
            print("connection", found)
            ```
            ```
            not Swift
            ```
            ```swift
            let adapter = try await Adapter.open()
            ```
            ```swift
            .package(url: "…", from: "1.0.0")
            ```
            ```swift
            // swift-tools-version: 6.2
            import PackageDescription
            ```
            """
        let snippets = Pages.snippets(of: "Docs/Guide/Some.md", text: page)
        #expect(snippets.map(Pages.name) == ["toADeviceSEnd", "toADeviceSEnd2"])
        #expect(snippets.map { Pages.parameters(of: $0).map(\.name) } == [["adapter"], []])
        #expect(Pages.space(of: "Docs/Guide/Some.md") == "SomePage")
    }

    @Test func aStepOfATutorialHasTheFilesSoFar() throws {
        let page = """
            # A tutorial
            ## The first step
            ```swift
            // Sources/Lamp/Lamp.swift
            import BluetoothLE

            struct Lamp {}
            ```
            ## Then
            ```swift
            // Sources/lamp/Program.swift
            import Lamp

            @main struct Program {}
            ```
            ```console
            $ swift run lamp
            on
            ```
            """
        let tutorial = Tutorial("Docs/Guide/Tutorials/Some.md", text: page)
        #expect(tutorial.steps.map(Tutorial.space) == ["TheFirstStep", "Then"])
        #expect(
            tutorial.steps.map { $0.files.map(\.path) } == [
                ["Sources/Lamp/Lamp.swift"], ["Sources/Lamp/Lamp.swift", "Sources/lamp/Program.swift"],
            ])
        #expect(try tutorial.output(below: "Then") == ["on"])
        let text = tutorial.file.text
        #expect(text.contains("import BluetoothLE") && !text.contains("import Lamp") && !text.contains("@main"))
        #expect(text.split(separator: "\n").count { $0.contains("struct Lamp {}") } == 1)
        #expect(text.contains("typealias Lamp = TheFirstStep.Lamp"))
    }
}
