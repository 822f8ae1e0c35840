import ExampleSupport
import Glibc
import Testing

/// The output of `--json`, on the simulated radio.
@Suite(.serialized) struct JSONLineTests {
    @Test(
        arguments: [
            ("ble", ["scan", "--for", "1"]), ("ble", ["scan", "--for", "1", "--raw"]), ("ble", ["explore"]),
            ("ble", ["read", "2A19"]),
            ("ble", ["write", "2A39", "01"]), ("ble", ["notify", "2A37", "--count", "1"]), ("ble", ["pair"]),
            ("ble", ["record", "/tmp/line-test.json", "--for", "0", "--force"]), ("ble", ["bonds"]),
            ("ble", ["bonds", "list"]), ("ble", ["bonds", "show", "C0:98:E5:12:34:60"]),
            ("ble", ["bonds", "remove", "C0:98:E5:12:34:60"]), ("ble", ["rssi"]),
            ("ble", ["exec", "connect; read 2A19; disconnect"]), ("ble", ["params"]),
            ("ble", ["params", "--defaults"]),
            ("ble", ["bench", "--count", "1"]), ("ble", ["bench", "-n", "Pulse-Z1", "--count", "1"]),
            ("ble", ["serve", "bench", "--once"]), ("ble", ["serve", "firmware", "--once"]),
            ("ble", ["serve", "keyboard"]), ("ble", ["update"]),
            ("ble", ["advertise", "-n", "hello", "--for", "1"]), ("ble", ["serve", "battery", "--once"]),
            ("ble", ["advertise", "--clear"]), ("ble", ["oob"]), ("ble", ["adapters"]), ("ble", ["power", "on"]),
            ("ble", ["power", "off"]),
            ("ble", ["adapters", "--watch", "--for", "1"]), ("ble", ["doctor"]),
            ("ble", ["doctor", "--watch", "--for", "0.2"]),
            ("ble", ["selftest", "--with", "hci1", "--only", "advertise", "uart"]),
            ("linble", ["exchange", "0100"]), ("linble", ["terminal"]), ("linble", ["send", "/proc/version"]),
            ("linble", ["demo", "--sample", "1"]), ("linble", ["serve", "--once"]),
            ("linble", ["bridge", "--tcp", "0", "--for", "1"]),
        ] as [(String, [String])])
    func everyLineBeginsWithTheTimeAndIsDocumented(_ program: String, _ arguments: [String]) async throws {
        defer { unlink("/tmp/line-test.json") }
        // The input makes the terminal request the microcontroller's version.
        let ended = try await run(program, arguments + ["--simulate", "--json"], input: "\u{1}\u{3}")
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(!ended.lines.isEmpty)
        let schema = try Schema(named: "lines")
        for line in ended.lines {
            #expect(line.timeless.hasPrefix(#"{"t":"TIME","event":""#), "\(line)")
            let value = try #require(try? JSONValue(reading: Array(line.utf8)), "\(line)")
            #expect(schema.errors(in: value).isEmpty, "Docs/schemas/lines.json: \(schema.errors(in: value)) in \(line)")
            #expect(!line.dropFirst(2).contains(#""t":"#), "twice: \(line)")
        }
    }

    @Test(arguments: ["ble", "linble"]) func theVersionIsPrinted(_ program: String) async throws {
        for arguments in [["--version"], [program == "ble" ? "scan" : "serve", "--version"]] {
            let ended = try await run(program, arguments)
            #expect(ended.status == 0)
            #expect(ended.output == "\(program) \(packageVersion)\n")
        }
    }
}
