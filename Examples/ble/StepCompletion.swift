import BluetoothJSON
import BluetoothLE
import ExampleSupport
import Synchronization

/// The completion of steps that a user types: their names and options, devices in range, and the attributes of the
/// connected device.
final class StepCompletion: Sendable {
    private let session: Session
    private let adapter: Adapter
    private let steps = StepSyntax.all
    /// The names of devices, and when they were seen.
    private let seen = Mutex<(names: [String], time: ContinuousClock.Instant)?>(nil)

    /// How long a completion may take that asks the device or listens for others.
    private static let patience = Duration.seconds(1.5)
    private static let memory = Duration.seconds(30)

    init(of session: Session, on adapter: Adapter) {
        (self.session, self.adapter) = (session, adapter)
    }

    /// The ways to continue a line, given its text before the cursor.
    func completion(of text: String) async -> InteractiveTerminal.Completion {
        guard let typed = ShellWords.unfinished(in: text) else { return .init(replacing: 0, with: []) }
        let candidates = await candidates(typed)
            .filter { $0.lowercased().hasPrefix(typed.last.lowercased()) && printable($0) == $0 }
        return .init(replacing: typed.count, with: candidates.map(ShellWords.quoted))
    }

    private func candidates(_ typed: ShellWords.Unfinished) async -> [String] {
        guard let name = typed.words.first else { return steps.map(\.name).sorted() }
        guard let step = steps.first(where: { $0.name == name }) else { return [] }
        let words = typed.words.dropFirst()
        switch step.expectation(after: words, typing: typed.last) {
        case .option: return step.optionNames.sorted()
        case .words(let words): return words
        case .file: return files(typed.last)
        case .device: return await devices()
        case .attribute(let properties): return await attributes(properties)
        case .nothing: return []
        }
    }

    private func files(_ prefix: String) -> [String] {
        let folder = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
        let isHidden = prefix.dropFirst(folder.count).hasPrefix(".")
        return fileNames(in: folder).filter { isHidden || !$0.hasPrefix(".") }.map { folder + $0 }
    }

    /// The names of the devices in range.
    private func devices() async -> [String] {
        let known = seen.withLock { $0 }
        if let known, known.time.duration(to: .now) < Self.memory { return known.names }
        guard let found = try? await adapter.devices(for: Self.patience) else { return known?.names ?? [] }
        let names = Set(found.compactMap(\.localName)).sorted()
        seen.withLock { $0 = (names, .now) }
        return names
    }

    /// The attributes of the connected device, by the names that have only one of them, the others by UUID.
    private func attributes(_ properties: CharacteristicProperties) async -> [String] {
        guard let connection = session.connection,
            let services = try? await connection.discover(timeout: Self.patience).services
        else { return [] }
        let all = services.flatMap(\.characteristics)
            .filter { properties.isEmpty || !$0.properties.isDisjoint(with: properties) }
        return Set(all.flatMap { [$0.uuid.knownName.map(AttributeName.typed), "\($0.uuid)"].compactMap { $0 } })
            .sorted()
    }
}

/// The words that a step takes, from its own description.
private struct StepSyntax: Sendable {
    enum Expectation {
        case option, file, device, nothing
        case words([String])
        /// An attribute with any of these properties; none for any.
        case attribute(CharacteristicProperties)
    }

    var name: String
    /// The options with what their values are; nil for flags.
    private var options: [String: Expectation?]

    var optionNames: [String] { Array(options.keys.filter { $0.hasPrefix("--") }) }

    static let all: [StepSyntax] = {
        let json = try? JSONValue(reading: Array(SessionCommand._dumpHelp().utf8))
        let commands = json?["command"]?["subcommands"]?.elements ?? []
        return commands.compactMap { StepSyntax($0) }
    }()

    private init?(_ json: JSONValue) {
        guard let name = json["commandName"]?.text else { return nil }
        self.name = name
        options = [:]
        for argument in json["arguments"]?.elements ?? [] {
            let isFlag = argument["kind"]?.text == "flag"
            if case .bool(false)? = argument["shouldDisplay"] { continue }
            for name in argument["names"]?.elements ?? [] {
                guard let text = name["name"]?.text else { continue }
                let hyphens = name["kind"]?.text == "long" ? "--" : "-"
                options[hyphens + text] = .some(isFlag ? nil : Self.value(of: argument))
            }
        }
    }

    private static func value(of option: JSONValue) -> Expectation {
        let values = (option["allValues"]?.elements ?? []).compactMap(\.text)
        if !values.isEmpty { return .words(values) }
        if option["completionKind"]?["file"] != nil { return .file }
        return option["names"]?.elements?.contains { $0["name"]?.text == "name" } == true ? .device : .nothing
    }

    /// What may follow these words of the step.
    func expectation(after words: ArraySlice<String>, typing last: String) -> Expectation {
        if let previous = words.last, let option = options[previous], let value = option { return value }
        if last.hasPrefix("-") { return .option }
        // The positional arguments so far.
        var count = 0
        var isValue = false
        for word in words {
            if isValue {
                isValue = false
            } else if word.hasPrefix("-") {
                isValue = options[word].map { $0 != nil } ?? false
            } else {
                count += 1
            }
        }
        switch name {
        case "connect", "pair": return count == 0 ? .device : .nothing
        case "read": return .attribute(.read)
        case "write": return count == 0 ? .attribute([.write, .writeWithoutResponse]) : .nothing
        case "notify", "subscribe": return .attribute([.notify, .indicate])
        case "unsubscribe": return .attribute([.notify, .indicate])
        case "help": return .words(Self.all.map(\.name))
        default: return .nothing
        }
    }
}
