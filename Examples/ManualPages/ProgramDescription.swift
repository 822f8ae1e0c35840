import BluetoothJSON

/// A command of a program, as `--experimental-dump-help` describes it.
struct CommandDescription: Sendable {
    var name: String
    var abstract: String
    var discussion: String
    var arguments: [ArgumentDescription]
    var subcommands: [CommandDescription]

    /// Reads the description of a program; nil if the text is something else.
    init?(dumpedHelp value: JSONValue) {
        guard let command = value["command"] else { return nil }
        self.init(command)
    }

    private init?(_ value: JSONValue) {
        guard let name = value["commandName"]?.text else { return nil }
        self.name = name
        abstract = value["abstract"]?.text ?? ""
        discussion = value["discussion"]?.text ?? ""
        arguments = ArgumentDescription.merging(
            (value["arguments"]?.elements ?? []).compactMap { ArgumentDescription($0) })
        // `help` belongs to the parser; --help does the same.
        let all = (value["subcommands"]?.elements ?? []).filter(\.isDisplayed)
        subcommands = all.compactMap { CommandDescription($0) }.filter { $0.name != "help" }
    }
}

/// An option, a flag or a positional argument of a command.
struct ArgumentDescription: Sendable {
    enum Kind: String {
        case positional, option, flag
    }

    var kind: Kind
    /// The names with their hyphens; none for a positional argument.
    var names: [String]
    var valueName: String
    var abstract: String
    var discussion: String
    var values: [String]
    var defaultValue: String?
    /// The title of the group that the program declares for it.
    var group: String?
    var isOptional: Bool
    var isRepeating: Bool

    fileprivate init?(_ value: JSONValue) {
        guard let kind = value["kind"]?.text.flatMap(Kind.init), value.isDisplayed else { return nil }
        self.kind = kind
        names = (value["names"]?.elements ?? []).compactMap { name in
            name["name"]?.text.map { (name["kind"]?.text == "long" ? "--" : "-") + $0 }
        }
        guard kind == .positional || !names.isEmpty else { return nil }
        valueName = value["valueName"]?.text ?? ""
        abstract = value["abstract"]?.text ?? ""
        discussion = value["discussion"]?.text ?? ""
        values = (value["allValues"]?.elements ?? []).compactMap(\.text)
        defaultValue = value["defaultValue"]?.text
        group = value["sectionTitle"]?.text
        isOptional = value["isOptional"]?.isTrue ?? true
        isRepeating = value["isRepeating"]?.isTrue ?? false
    }

    /// The arguments, with a flag and its inversion as one.
    fileprivate static func merging(_ arguments: [ArgumentDescription]) -> [ArgumentDescription] {
        var merged: [ArgumentDescription] = []
        for argument in arguments {
            if let last = merged.last, last.kind == .flag, argument.kind == .flag, last.abstract == argument.abstract,
                last.group == argument.group
            {
                merged[merged.count - 1].names += argument.names
                merged[merged.count - 1].defaultValue = last.defaultValue ?? argument.defaultValue
            } else {
                merged.append(argument)
            }
        }
        return merged
    }
}

extension JSONValue {
    fileprivate var isTrue: Bool {
        if case .bool(true) = self { true } else { false }
    }

    /// Whether the help lists the command or argument.
    fileprivate var isDisplayed: Bool { self["shouldDisplay"]?.isTrue ?? true }
}
