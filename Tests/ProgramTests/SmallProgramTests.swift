import BluetoothSystem
import Testing

/// The programs of Examples/Small print what their heads say.
@Suite struct SmallProgramTests {
    @Test(arguments: try SmallProgram.all(), MainExecutor.all) func itPrintsWhatItsHeadSays(
        _ program: SmallProgram, on executor: MainExecutor
    ) async throws {
        try await withFolder { folder in
            try await onItsOwnThread {
                let running = try program.start(messages: "\(folder)/err", on: executor)
                var expected: [String] = []
                for line in program.transcript {
                    if line.hasPrefix("> ") {
                        running.type(String(line.dropFirst(2)))
                        continue
                    }
                    expected.append(line)
                    let isThere = running.reaches { Self.printed($0).count >= expected.count }
                    #expect(isThere, "no line \(line) in \(running.lines), \(contents(of: "\(folder)/err"))")
                }
                if program.isVisited { _ = try running.line(containing: Self.visited) }
                running.endInput()
                let status = program.isStopped ? running.stop() : running.join()
                #expect(status == (program.isStopped ? 143 : 0), "\(contents(of: "\(folder)/err"))")
                let printed = Self.printed(running.lines)
                // One that is stopped may have printed more.
                let shown = program.isStopped ? Array(printed.prefix(expected.count)) : printed
                #expect(shown.count == expected.count, "\(printed)")
                for (line, pattern) in zip(shown, expected) {
                    #expect(SmallProgram.matches(line, pattern), "\(line) is not \(pattern)")
                }
            }
        }
    }

    /// A program that cannot work says why, and fails.
    @Test(arguments: try SmallProgram.all().filter(\.needsAdapter)) func withoutAnAdapterItFailsWithTheReason(
        _ program: SmallProgram
    ) async throws {
        try await withFolder { folder in
            let world = "\(folder)/world"
            try SystemFiles.replace(world, with: Array(#"{"adapters": [], "devices": []}"#.utf8))
            try await onItsOwnThread {
                let running = try program.start(messages: "\(folder)/err", world: world)
                // Core Bluetooth has no exit statuses.
                #expect(running.join() == (program.name == "CoreBluetoothScanner" ? 1 : 69))
                let reasons = ["No Bluetooth adapter found.", "Bluetooth is not usable: unsupported"]
                let first = running.lines.first ?? ""
                #expect(reasons.contains { first.contains($0) }, "\(running.lines)")
            }
        }
    }

    /// The README's first program, on the radio that its command names.
    @Test func theFirstProgramRunsWithoutHardware() async throws {
        try await withFolder { folder in
            try await onItsOwnThread {
                let running = try RunningProgram(
                    "FirstProgram", [], messages: "\(folder)/err",
                    environment: [("BLUETOOTH_SIMULATION", "\(SmallProgram.folder)/world.json")])
                #expect(running.join() == 0, "\(contents(of: "\(folder)/err"))")
                #expect(running.lines.map { $0.prefix(4) } == ["1800", "1801", "27AD"], "\(running.lines)")
            }
        }
    }

    #if compiler(>=6.3)
        /// The stories of Tests/SmallPrograms/MainLoopStories.swift.
        @Test(arguments: [
            (
                "Threads", 1,
                [
                    "main actor true", "call of an actor on the loop true", "queued call", "after a sleep true",
                    "task true", "detached task false", "after a detached task true", "block of the main queue true",
                ]
            ),
            ("UART", 0, ["[97]", "[97, 97]", "[97, 97, 97]"]),
            (
                "Monitor", 0,
                [
                    "scanning for a heart rate sensor", "found Pulse-Z1", "connected", "worn on the wrist",
                    "72 beats per minute", "73 beats per minute", "75 beats per minute", "disconnected",
                ]
            ),
        ]) func theMainActorRunsOnTheEventLoop(_ story: String, status: Int32, lines: [String]) async throws {
            let ended = try await run(
                "SmallPrograms", [],
                environment: [
                    ("BLUETOOTH_SIMULATION", "\(SmallProgram.folder)/world.json"), ("SMALL_PROGRAM", story),
                    ("SMALL_MAIN_LOOP", "1"),
                ])
            #expect(ended.lines == lines, "\(ended.messages)")
            #expect(ended.status == status)
            #expect(ended.messages == (status == 0 ? "" : "Ended()\n"))
        }

        @Test func anErrorThatEndsTheMainLoopHasItsStatus() async throws {
            try await withFolder { folder in
                try SystemFiles.replace("\(folder)/world", with: Array(#"{"adapters": [], "devices": []}"#.utf8))
                let ended = try await run(
                    "SmallPrograms", [],
                    environment: [
                        ("BLUETOOTH_SIMULATION", "\(folder)/world"), ("SMALL_PROGRAM", "UART"),
                        ("SMALL_MAIN_LOOP", "1"),
                    ])
                #expect(ended.status == 69)
                #expect(ended.output.isEmpty)
                #expect(ended.messages.contains("No Bluetooth adapter found."))
            }
        }
    #endif

    /// What a visitor prints at its end (Tests/SmallPrograms/Visitors.swift).
    private static let visited = "(visited)"

    private static func printed(_ lines: [String]) -> [String] { lines.filter { $0 != visited } }
}

/// What runs a program's main actor.
enum MainExecutor: Sendable {
    case mainQueue
    /// The event loop, by BluetoothMainLoop.
    case eventLoop

    #if compiler(>=6.3)
        static let all = [mainQueue, eventLoop]
    #else
        static let all = [mainQueue]
    #endif
}

/// A program of Examples/Small with its head.
struct SmallProgram: Sendable, CustomTestStringConvertible {
    var name: String
    /// The variables and arguments of the command in the head.
    var environment: [(String, String)]
    var arguments: [String]
    /// The lines that it prints, with … for any text, and after `> ` those that are typed.
    var transcript: [String]
    /// Whether the head ends with Ctrl-C. A test sends SIGTERM, which nothing that starts a test ignores.
    var isStopped: Bool

    static let root = String(#filePath.dropLast("/Tests/ProgramTests/SmallProgramTests.swift".count))
    static let folder = "\(root)/Examples/Small"

    var testDescription: String { name }
    /// Whether a central visits it: its head says what happens then.
    var isVisited: Bool {
        ["BatteryPeripheral", "Beacon", "ChannelEcho", "ShowPasskey", "WriteHandler"].contains(name)
    }
    var needsAdapter: Bool { !["AdapterStates", "ParseAdvertisement"].contains(name) }

    static func all() throws -> [SmallProgram] {
        try SystemFiles.names(in: "\(folder)/Programs").sorted().filter { $0.hasSuffix(".swift") }.map {
            try SmallProgram(file: $0)
        }
    }

    init(file: String) throws {
        name = String(file.dropLast(".swift".count))
        let lines = contents(of: "\(Self.folder)/Programs/\(file)").split(
            separator: "\n", omittingEmptySubsequences: false)
        let head = lines.prefix { $0.hasPrefix("//") }
        var shown = head.filter { $0.hasPrefix("//     ") }.map { String($0.dropFirst("//     ".count)) }
        let command = try #require(shown.first, "\(file) has no command").split(separator: " ").map(String.init)
        let run = "swift run --package-path Examples/Small \(name)".split(separator: " ").map(String.init)
        let start = try #require(command.firstRange(of: run), "\(file): \(command) does not run it")
        environment = command[..<start.lowerBound].dropFirst().map { variable in
            let parts = variable.split(separator: "=").map(String.init)
            return (parts[0], "\(Self.root)/\(parts.last ?? "")")
        }
        arguments = Array(command[start.upperBound...])
        shown.removeFirst()
        isStopped = shown.last == "^C"
        transcript = isStopped ? shown.dropLast() : shown
    }

    func start(
        messages: String, world: String? = nil, on executor: MainExecutor = .mainQueue
    ) throws -> RunningProgram {
        let variables = world.map { [("BLUETOOTH_SIMULATION", $0)] } ?? environment
        let visitor = isVisited && world == nil ? [("SMALL_VISITOR", "1")] : []
        let loop = executor == .eventLoop ? [("SMALL_MAIN_LOOP", "1")] : []
        return try RunningProgram(
            "SmallPrograms", arguments, messages: messages,
            environment: variables + [("SMALL_PROGRAM", name)] + visitor + loop,
            // A pipe gets what a terminal gets, a line at a time.
            through: ["stdbuf", "-oL"], isTyped: true)
    }

    /// Whether a line is what the head says, where … is any text.
    static func matches(_ line: String, _ pattern: String) -> Bool {
        let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1, let first = parts.first, let last = parts.last else { return line == pattern }
        guard line.hasPrefix(first), line.hasSuffix(last), line.count >= first.count + last.count else { return false }
        var rest = line.dropFirst(first.count).dropLast(last.count)
        for part in parts.dropFirst().dropLast() {
            guard let range = rest.firstRange(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }
}
