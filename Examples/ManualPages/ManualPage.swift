/// The manual pages of a program: one for the program and one for each of its commands.
struct Manual: Sendable {
    var program: CommandDescription
    /// The date of the pages, as YYYY-MM-DD.
    var date: String
    /// The package and its version.
    var source: String

    /// The pages by their file names.
    var pages: [(name: String, text: String)] {
        [("\(program.name).1", programPage)]
            + program.subcommands.map { ("\(program.name)-\($0.name).1", page(of: $0)) }
    }

    private var help: HelpText { HelpText(program.discussion) }

    private var programPage: String {
        var page = Roff(title: program.name, date: date, source: source)
        writeName(program.name, program.abstract, to: &page)
        page.section("SYNOPSIS")
        page.write("\(Roff.bold(program.name)) [\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]")
        page.section("DESCRIPTION")
        page.write(prose: program.abstract)
        page.write(help.introduction)
        page.section("COMMANDS")
        page.write(prose: "Each command has a page of its own: \(program.name)-COMMAND(1).")
        for command in program.subcommands {
            let usage = ([command.name] + command.operands.map(\.usage)).joined(separator: " ")
            page.entry(Roff.bold(usage), command.abstract)
        }
        page.write(groups(of: program))
        writeRest(of: help, examples: help.examples, to: &page)
        return page.text
    }

    private func page(of command: CommandDescription) -> String {
        let name = "\(program.name) \(command.name)"
        let help = HelpText(command.discussion)
        var page = Roff(title: "\(program.name)-\(command.name)", date: date, source: source)
        writeName("\(program.name)-\(command.name)", command.abstract, to: &page)
        page.section("SYNOPSIS")
        if command.subcommands.isEmpty {
            page.write(synopsis(of: command, named: name))
        } else {
            for (index, subcommand) in command.subcommands.enumerated() {
                if index > 0 { page.breakLine() }
                page.write(synopsis(of: subcommand, named: "\(name) \(subcommand.name)"))
            }
        }
        page.section("DESCRIPTION")
        page.write(prose: command.abstract)
        page.write(help.introduction)
        var examples = help.examples
        if !command.subcommands.isEmpty { page.section("COMMANDS") }
        for subcommand in command.subcommands {
            let help = HelpText(subcommand.discussion)
            page.subsection("\(name) \(subcommand.name)")
            page.write(prose: subcommand.abstract)
            page.write(help.introduction)
            let own = subcommand.arguments.filter { argument in
                !command.arguments.contains { argument.isSame(as: $0) } && !isStandard(argument)
            }
            for argument in own { page.write(argument) }
            for section in help.sections where section.title != "EXAMPLES" { page.write(section.blocks) }
            examples += help.examples.filter { !examples.contains($0) }
        }
        page.write(groups(of: command))
        writeRest(of: help, examples: examples, command: command.name, to: &page)
        return page.text
    }

    // MARK: - Sections

    private func writeName(_ name: String, _ abstract: String, to page: inout Roff) {
        var summary = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
        // A title without a verb may begin with an abbreviation.
        if summary.dropFirst().first?.isLowercase == true {
            summary = summary.prefix(1).lowercased() + summary.dropFirst()
        }
        page.section("NAME")
        page.write("\(Roff.escape(name)) \\- \(Roff.escape(summary))")
    }

    private func synopsis(of command: CommandDescription, named name: String) -> String {
        let operands = command.operands.map { operand in
            let value = Roff.italic(operand.valueName) + (operand.isRepeating ? " ..." : "")
            return operand.isOptional ? "[\(value)]" : value
        }
        return ([Roff.bold(name), "[\\fIoptions\\fR]"] + operands).joined(separator: " ")
    }

    /// The arguments of a command under the titles of their groups: its own first, then those that the program itself has.
    private func groups(of command: CommandDescription) -> [(title: String, arguments: [ArgumentDescription])] {
        var groups: [(title: String, arguments: [ArgumentDescription])] = [("ARGUMENTS", []), ("OPTIONS", [])]
        for argument in command.arguments {
            let isCommon = command.name != program.name && program.arguments.contains { argument.isSame(as: $0) }
            let title =
                argument.kind == .positional
                ? "ARGUMENTS" : argument.group?.uppercased() ?? (isCommon ? "COMMON OPTIONS" : "OPTIONS")
            if let index = groups.firstIndex(where: { $0.title == title }) {
                groups[index].arguments.append(argument)
            } else {
                groups.append((title, [argument]))
            }
        }
        return groups.filter { !$0.arguments.isEmpty }
    }

    /// Writes the sections that follow the options, in the customary order.
    private func writeRest(
        of help: HelpText, examples: [String], command: String? = nil, to page: inout Roff
    ) {
        let customary = ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"]
        for section in help.sections where !customary.contains(section.title) {
            page.section(section.title)
            page.write(section.blocks)
        }
        if let status = help["EXIT STATUS"] ?? self.help["EXIT STATUS"] {
            page.section("EXIT STATUS")
            page.write(exitStatus: status)
        }
        page.section("ENVIRONMENT")
        for variable in Surroundings.environment(of: program.name, command) {
            page.entry(Roff.bold(variable.name), variable.meaning)
        }
        page.write(help["ENVIRONMENT"] ?? [])
        page.section("FILES")
        for file in Surroundings.files { page.entry(Roff.italic(file.name), file.meaning) }
        page.write(help["FILES"] ?? [])
        page.section("CAPABILITIES")
        page.write(prose: Surroundings.capabilities)
        page.literal(Surroundings.grant(to: program.name))
        if !examples.isEmpty {
            page.section("EXAMPLES")
            page.literal(examples)
        }
        page.section("SEE ALSO")
        let pages = command == nil ? program.subcommands.map { "\(program.name)-\($0.name)" } : [program.name]
        let others = Surroundings.programs.filter { $0 != program.name }
        let references = (pages + others).map { ($0, 1) } + [("btmon", 1), ("capabilities", 7), ("setcap", 8)]
        page.write(references.map { "\(Roff.bold($0.0))(\($0.1))" }.joined(separator: ",\n"))
    }

    private func isStandard(_ argument: ArgumentDescription) -> Bool {
        argument.names.contains("--help") || argument.names.contains("--version")
    }
}

extension CommandDescription {
    fileprivate var operands: [ArgumentDescription] { arguments.filter { $0.kind == .positional } }
}

extension ArgumentDescription {
    fileprivate var usage: String {
        let value = "\(valueName.uppercased())\(isRepeating ? "..." : "")"
        return isOptional ? "[\(value)]" : value
    }

    fileprivate func isSame(as other: ArgumentDescription) -> Bool {
        kind != .positional && names == other.names
    }
}

extension Roff {
    fileprivate mutating func write(_ blocks: [HelpText.Block]) {
        for block in blocks {
            switch block {
            case .paragraph(let prose): paragraph(prose)
            case .literal(let lines): literal(lines)
            }
        }
    }

    fileprivate mutating func write(_ groups: [(title: String, arguments: [ArgumentDescription])]) {
        for group in groups {
            section(group.title)
            for argument in group.arguments { write(argument) }
        }
    }

    fileprivate mutating func write(_ argument: ArgumentDescription) {
        var heading = argument.names.map(Self.bold).joined(separator: ", ")
        if argument.kind == .option { heading += " " + Self.italic(argument.valueName) }
        if argument.kind == .positional {
            heading = Self.italic(argument.valueName) + (argument.isRepeating ? " ..." : "")
        }
        var prose = argument.abstract
        var notes: [String] = []
        if !argument.values.allSatisfy(prose.contains) {
            notes.append("values: " + argument.values.joined(separator: ", "))
        }
        if let value = argument.defaultValue, !prose.contains("default: ") { notes.append("default: \(value)") }
        if !notes.isEmpty { prose += " (\(notes.joined(separator: "; ")))" }
        entry(heading, prose)
        for block in HelpText(argument.discussion).introduction {
            switch block {
            case .paragraph(let prose):
                continueEntry(prose)
            case .literal(let lines): literal(lines)
            }
        }
    }

    /// Writes "0 success; 64 invalid arguments" as a list.
    fileprivate mutating func write(exitStatus blocks: [HelpText.Block]) {
        for block in blocks {
            guard case .paragraph(let prose) = block, prose.first?.isNumber == true else {
                write([block])
                continue
            }
            for status in (prose.hasSuffix(".") ? String(prose.dropLast()) : prose).split(separator: "; ") {
                let number = status.prefix(while: \.isNumber)
                let meaning = status.dropFirst(number.count).drop { $0 == " " }
                entry(Self.bold(String(number)), meaning.prefix(1).uppercased() + meaning.dropFirst() + ".")
            }
        }
    }
}
