import ExampleSupport
import Glibc
import TestSupport
import Testing

/// The programs on several adapters as one: `-i hci0,hci1` and `-i all`.
@Suite(.serialized) struct SeveralAdaptersTests {
    /// Two adapters, of which the first receives no advertisement, and a device.
    private static let world = """
        {"adapters": [{"events": [{"event": "hearsNothing"}]}, {}],
         "devices": [{"name": "Pulse", "services": [{"uuid": "180F", "characteristics": [
            {"uuid": "2A19", "properties": ["read", "notify"], "value": "57"}]}]}]}
        """

    private static func run(_ program: String, _ arguments: [String]) async throws -> Ended {
        try await withFolder { folder in
            #expect(await shell("printf '%s' '\(world)' >\(folder)/world.json") == 0)
            return try await ProgramTests.run(program, arguments + ["--world", "\(folder)/world.json"])
        }
    }

    @Test(
        arguments: [
            ["read", "2A19", "-i", "hci0,hci1"], ["explore", "-i", "all"], ["rssi", "-i", "hci1,hci0"],
        ])
    func theAdapterThatReceivesTheDeviceConnects(_ arguments: [String]) async throws {
        let ended = try await Self.run("ble", arguments + ["-n", "Pulse", "-v"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages.contains("connected by hci1, ATT_MTU"), "\(ended.messages)")
    }

    @Test func theAdapterThatReceivesADeviceKnownByItsKeyConnects() async throws {
        let lines = """
            echo '{"adapters":[{"events":[{"event":"hearsNothing"}]},{}],"devices":[{"name":"x","address":"4A:1B:2C:42:AB:84","services":[{"uuid":"180F","characteristics":[{"uuid":"2A19","properties":["read"],"hex":"63"}]}]}]}' >$FOLDER/world
            ble read --world $FOLDER/world -i all --irk 8B3F6D01C2E94A7788D0B1A35C4E9F20 --format hex 2A19 -v
            """
        let ended = try await inShell(lines)
        #expect(ended.output == "63\n", "\(ended.messages)")
        #expect(ended.messages.contains("connected by hci1, ATT_MTU"), "\(ended.messages)")
    }

    @Test func aUARTIsOpenedByOneOfThem() async throws {
        let ended = try await ProgramTests.run("linble", ["exchange", "-i", "all", "--simulate", "0100"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains("Rx | "), "\(ended.output)")
    }

    @Test(
        arguments: [
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,hci0"], 64, "--adapter names hci0 twice."),
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,0"], 64, "--adapter names 0 twice."),
            (
                ["read", "-n", "Pulse", "2A19", "-i", "hci0,00:AA:01:00:00:01"], 64,
                "hci0 twice: hci0 and 00:AA:01:00:00:01"
            ),
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,hci7"], 69, "hci7"),
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,"], 64, "--adapter takes hci0"),
            (["scan", "-i", "hci0,hci7"], 69, "hci7"),
            (["scan", "-i", "hci0,all"], 64, "all cannot be part of a list"),
            (["scan", "-i", "All"], 64, "a list of these or all, not 'All'."),
            (["pair", "-n", "Pulse", "-i", "hci0,hci1"], 64, "This command uses one adapter."),
            (["exec", "-i", "all", "-n", "Pulse", "rssi"], 64, "This command uses one adapter."),
            (["exec", "-i", "hci0,hci1", "-n", "Pulse", "rssi"], 64, "Name one: -i hci0"),
            (["shell", "-i", "hci0,hci1", "-n", "Pulse"], 64, "This command uses one adapter."),
            (["shell", "-i", "all"], 64, "Name one: -i hci0"),
            (["record", "-i", "hci0,hci1", "-n", "Pulse", "world.json"], 64, "This command uses one adapter."),
            (["serve", "battery", "-i", "all"], 64, "This command uses one adapter."),
            (["advertise", "-i", "hci0,hci1"], 64, "This command uses one adapter."),
        ] as [([String], Int32, String)])
    func wrongAdaptersAreAnError(_ arguments: [String], _ status: Int32, _ message: String) async throws {
        let ended = try await Self.run("ble", arguments)
        #expect(ended.status == status, "\(ended.messages)")
        #expect(ended.output.isEmpty, "\(ended.output)")
        #expect(ended.messages.contains(message), "\(ended.messages)")
    }

    /// The second adapter comes while the first has the link, which is then unplugged.
    @Test func aBridgeKeepsItsDeviceConnectedByTheAdaptersThatAreThere() async throws {
        let world = """
            {"adapters": [{"events": [{"after": 3, "event": "unplugged"}]},
                          {"events": [{"event": "unplugged"}, {"after": 1, "event": "plugged"}]}],
             "devices": [{"linble": "loopback"}]}
            """
        try await withFolder { folder in
            #expect(await shell("printf '%s' '\(world)' >\(folder)/world.json") == 0)
            let lines = try await onItsOwnThread {
                let program = try RunningProgram(
                    "linble",
                    [
                        "bridge", "-i", "hci0,hci1", "--world", "\(folder)/world.json", "-n", "LINBLE-Z1", "--json",
                        "--pty", "\(folder)/tty",
                    ], messages: "\(folder)/err")
                _ = try program.line(containing: "bridging")
                let port = open("\(folder)/tty", O_RDWR | O_NOCTTY)
                try #require(port >= 0)
                defer { close(port) }
                for adapter in ["hci0", "hci1"] {
                    _ = try program.line(containing: #""profile":"LINBLE","adapter":"\#(adapter)""#)
                    #expect(write(port, Array(adapter.utf8), 4) == 4)
                    #expect(readDescriptor(port, count: 4) == Array(adapter.utf8))
                }
                #expect(program.stop() == 0, "\(contents(of: "\(folder)/err"))")
                return program.lines
            }
            #expect(contents(of: "\(folder)/err").contains("waiting for hci1: "))
            let schema = try Schema(named: "lines")
            for line in lines {
                let value = try #require(try? JSONValue(reading: Array(line.utf8)), "\(line)")
                #expect(schema.errors(in: value).isEmpty, "\(schema.errors(in: value)) in \(line)")
            }
            #expect(lines.count { $0.contains(#""event":"offline""#) } == 1, "\(lines)")
        }
    }
}
