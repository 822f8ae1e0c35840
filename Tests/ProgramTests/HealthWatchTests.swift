import ExampleSupport
import Glibc
import Testing

/// `ble doctor --watch` and `ble adapters`, on simulated adapters that fail.
@Suite(.serialized) struct HealthWatchTests {
    private static func withWorld<Result>(
        _ adapters: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        try await withFolder { folder in
            let path = "\(folder)/world.json"
            let status = await shell(
                "printf '%s' '{\"adapters\": [\(adapters)], \"devices\": [{\"name\": \"Pulse\"}]}' >\(path)")
            #expect(status == 0)
            return try await body(path)
        }
    }

    /// The kinds of the health lines of an adapter, which the schema must describe.
    private static func kinds(of name: String, in ended: Ended) throws -> [String] {
        let schema = try Schema(named: "lines")
        return try ended.lines.compactMap { line in
            let value = try JSONValue(reading: Array(line.utf8))
            #expect(schema.errors(in: value).isEmpty, "\(schema.errors(in: value)) in \(line)")
            guard value["name"]?.text == name else { return nil }
            return value["kind"]?.text ?? value["event"]?.text
        }
    }

    /// Who runs a program neither calls Swift nor builds it.
    @Test(arguments: [["doctor", "--simulate"], ["scan", "--simulate", "--no-power-on"]])
    func aRemedyNamesACommandOnce(_ arguments: [String]) async throws {
        let ended = try await run("ble", arguments)
        let text = ended.output + ended.messages
        #expect(text.matches(of: /Run: sudo ble power on -i hci0\n/).count == 1, "\(text)")
        for word in ["Adapter.open", "setPowered", "In code", "swift build"] {
            #expect(!text.contains(word), "\(text)")
        }
    }

    @Test(arguments: [("INT", 130, "interrupted"), ("TERM", 0, "stopped")] as [(String, Int32, String)])
    func aHardwareErrorIsToldWithItsRecovery(_ signal: String, _ status: Int32, _ word: String) async throws {
        let fault = #"{"powered": true, "events": [{"after": 0.5, "event": "hardwareError"}]}"#
        try await Self.withWorld(fault) { world in
            let ended = try await run(
                "ble", ["doctor", "--watch", "--recover", "--json", "--world", world], signal: signal,
                after: "recovered")
            #expect(ended.status == status, "\(ended.messages)")
            #expect(ended.messages == "ble doctor: \(word)\n")
            let kinds = try Self.kinds(of: "hci0", in: ended).filter { $0 != "changed" }
            #expect(Array(kinds.prefix(4)) == ["added", "problem", "step", "recovered"])
        }
    }

    @Test func anAdapterMayComeAndGo() async throws {
        let adapter =
            #"{"powered": true, "events": [{"after": 0.3, "event": "unplugged"}, {"after": 0.5, "event": "plugged"}]}"#
        try await Self.withWorld(adapter + ", {}") { world in
            let ended = try await run(
                "ble", ["doctor", "--watch", "--for", "1.5", "-i", "hci0", "--json", "--world", world])
            #expect(ended.status == 0, "\(ended.messages)")
            let kinds = try Self.kinds(of: "hci0", in: ended)
            #expect(kinds.filter { $0 != "problem" } == ["added", "removed", "added"])
            #expect(try Self.kinds(of: "hci1", in: ended).isEmpty)
        }
    }

    @Test(arguments: [
        ["--recover"], ["--silence", "5"], ["--for", "1"], ["--watch", "--silence", "0"],
    ])
    func optionsOfTheWatchAreForTheWatch(_ options: [String]) async throws {
        #expect(try await run("ble", ["doctor"] + options).status == 64)
    }

    @Test func aWatchEndsAfterACount() async throws {
        try await Self.withWorld("{}, {}, {}") { world in
            for (command, findings) in [("doctor", "finding"), ("adapters", "")] {
                let arguments = [command, "--json", "--world", world]
                let ended = try await run("ble", arguments + ["--count", "2"])
                #expect(ended.status == 0, "\(ended.messages)")
                let events = ended.lines.filter { findings.isEmpty || !$0.contains("\"event\":\"\(findings)\"") }
                #expect(events.count == 2, "\(ended.output)")
                let short = try await run("ble", arguments + ["--watch", "--count", "1000", "--for", "0.5"])
                #expect(short.status == 75)
                #expect(
                    short.messages.contains(/Only [1-9] of 1000 results within the time limit\.\n$/),
                    "\(short.messages)")
            }
        }
    }

    @Test func theAdapterOfADiagnosisMustBeThere() async throws {
        let absent = try await run("ble", ["doctor", "--simulate", "-i", "hci9"])
        #expect(absent.status == 69)
        #expect(absent.messages.contains("There is no such adapter: hci9.\nList the adapters with: ble adapters"))
        try await Self.withWorld(#"{"powered": true}, {}"#) { world in
            let second = try await run("ble", ["doctor", "--world", world, "-i", "hci1"])
            #expect(second.status == 0, "\(second.messages)")
            #expect(second.output.contains("hci1") && !second.output.contains("hci0"), "\(second.output)")
            #expect(second.output.contains("sudo ble power on -i hci1"), "\(second.output)")
            let watch = try await run("ble", ["doctor", "--watch", "--for", "0.5", "--world", world, "-i", "hci9"])
            #expect(watch.status == 0)
            #expect(watch.messages == "waiting for the adapter: There is no such adapter: hci9.\n")
        }
    }

    /// As in a container of its own network.
    @Test(
        .enabled(if: socket(31, Int32(SOCK_RAW.rawValue), 1) < 0 && errno == EAFNOSUPPORT),
        arguments: [["doctor"], ["doctor", "--watch"], ["doctor", "-i", "hci9"], ["scan"]])
    func withoutSocketsTheReasonIsGivenOnce(_ arguments: [String]) async throws {
        let ended = try await run("ble", arguments)
        #expect(ended.status == 69)
        let all = ended.output + ended.messages
        #expect(all.split(separator: "This kernel has no Bluetooth sockets (AF_BLUETOOTH).\n").count == 2, "\(all)")
        #expect(!all.contains("hci9"), "\(all)")
    }

    @Test func aControllerThatHangsIsShownWithTheOthers() async throws {
        try await Self.withWorld(#"{"powered": true, "events": [{"event": "hangs"}]}, {"powered": true}, {}"#) {
            world in
            let ended = try await run("ble", ["adapters", "--world", world])
            #expect(ended.status == 0)
            #expect(ended.messages.isEmpty)
            let health = ended.lines.map { $0.split(separator: " ", omittingEmptySubsequences: true)[3] }
            #expect(health == ["HEALTH", "silent", "good", "-"])
        }
    }
}
