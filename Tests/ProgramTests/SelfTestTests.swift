import BluetoothLE
import ExampleSupport
import Testing

@testable import ble

/// `ble selftest` on simulated adapters.
@Suite(.serialized) struct SelfTestTests {
    private static func results(_ ended: Ended) throws -> [String: JSONValue] {
        let schema = try Schema(named: "lines")
        var results: [String: JSONValue] = [:]
        for line in ended.lines {
            let value = try JSONValue(reading: Array(line.utf8))
            #expect(schema.errors(in: value).isEmpty, "\(schema.errors(in: value)) in \(line)")
            if let test = value["test"]?.text { results[test] = value }
        }
        return results
    }

    @Test func anAdapterThatFailsInTheMiddleFailsTheRest() async throws {
        try await withFolder { folder in
            let world =
                #"{"adapters": [{"legacy": true, "events": [{"event": "hearsNothing"}, {"after": 2, "event": "unplugged"}]}], "devices": [{"name": "Pulse"}]}"#
            #expect(await shell("printf '%s' '\(world)' >\(folder)/world.json") == 0)
            let ended = try await run(
                "ble",
                ["selftest", "--world", "\(folder)/world.json", "--json", "--report", "\(folder)/report.json"])
            #expect(ended.status == 1)
            let results = try Self.results(ended)
            #expect(results["controller"]?["verdict"]?.text == "passed")
            #expect(results["scan.active"]?["verdict"]?.text == "failed")
            #expect(results["restore"]?["reason"]?.text?.contains("it is no longer there") == true)
            let text = contents(of: "\(folder)/report.json")
            let schema = try Schema(named: "selftest")
            let report = try JSONValue(reading: Array(text.utf8))
            #expect(schema.errors(in: report).isEmpty, "\(schema.errors(in: report))")
            #expect(!text.contains(":00:"))
        }
    }

    @Test func ctrlCEndsItWithTheResultsSoFar() async throws {
        let ended = try await run("ble", ["selftest", "--simulate", "--json"], signal: "INT", after: "scan.passive")
        #expect(ended.status == 130)
        #expect(ended.messages.hasSuffix("ble selftest: interrupted\n"), "\(ended.messages)")
        let results = try Self.results(ended)
        #expect(results["scan.passive"] != nil)
        #expect(results["restore"] == nil)
        #expect(results["power"] == nil)
    }

    @Test(
        arguments: [
            (["-i", "hci0", "--with", "hci0"], 64, "name the same adapter"),
            (["-i", "hci0", "--with", "00:AA:01:00:00:01"], 64, "name the same adapter"),
            (["--with", "hci7"], 69, "There is no such adapter: hci7."),
            (["--with", "seven"], 64, "--with takes hci1, 1 or an address"),
            (["--only", "everything"], 64, "'everything' is not a test."),
            (["--only", "scan.pasive"], 64, "Did you mean scan.passive?"),
            (["--only", "uart"], 64, "The test uart needs a second adapter"),
            (["--report", "/proc/version"], 73, "/proc/version exists."),
            (["--report", "/dev/full"], 73, "is not a regular file"),
            (["--report", "/nowhere/at/all"], 73, "Cannot create"),
            (["--report", ""], 64, "The name of the file to write is empty."),
            (["--report", "-"], 64, "cannot be standard output"),
            (["--report", "/tmp/../tmp/a", "--trace", "/tmp/a"], 73, "/tmp/a is written twice."),
            (["--with", "hci7"], 69, "There is no such adapter: hci7."),
        ] as [([String], Int32, String)])
    func nothingIsTestedWithWrongArguments(_ arguments: [String], _ status: Int32, _ message: String) async throws {
        let ended = try await run("ble", ["selftest", "--simulate"] + arguments)
        #expect(ended.status == status)
        #expect(ended.output.isEmpty)
        #expect(ended.messages.contains(message), "\(ended.messages)")
    }

    @Test(
        arguments: [
            ("The device 00:AA:01:00:00:01 refused.", "The device (address) refused."),
            ("no name-of-machine here", "no (name) here"), ("", ""),
        ])
    func theReportHasNeitherAddressesNorNames(_ text: String, _ clean: String) {
        #expect(SelfTestReport.withoutIdentity(text, ["name-of-machine", "", "h"]) == clean)
    }

    @Test func errorsHaveVerdicts() {
        func verdict(_ error: any Error) -> SelfTestResult.Verdict {
            SelfTestResult("a", "b", .failure(error), in: .zero).verdict
        }
        #expect(verdict(BluetoothError(.unsupported, .init("a"), "b")) == .notSupported)
        #expect(verdict(BluetoothError(.timedOut, .init("a"), "b")) == .failed)
        #expect(verdict(SelfTestObstacle.notRun("a")) == .notRun)
        #expect(verdict(ProgramError(.usage, "a")) == .failed)
    }
}
