import ExampleSupport
import Testing

/// The files that the programs of an earlier state have written (Tests/Stored) are read.
@Suite(.serialized) struct StoredFileTests {
    private static let stored = #filePath.replacing("/ProgramTests/StoredFileTests.swift", with: "/Stored/2026-11-26")

    /// Of `ble record --simulate -n Pulse-Z1 pulse.json --for 1`.
    @Test func aRecordedDeviceIsBroughtBack() async throws {
        let ended = try await inShell("ble read --world '\(Self.stored)/pulse.json' -n Pulse-Z1 2A19 2A00")
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines == ["2A19 Battery Level 0x001B  61  97 %", "2A00 Device Name 0x0003  \"Pulse-Z1\""])
    }

    /// Of `ble read --simulate -n Pulse-Z1 2A19 2A00 --trace read.btsnoop`.
    @Test func aTraceIsDecoded() async throws {
        let ended = try await inShell("ble decode '\(Self.stored)/read.btsnoop'")
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages == "93 packets of btsnoop (Linux monitor), 21 not shown\n")
        let response = "ATT ←    C0:98:E5:12:34:58  Read Response  2A00 Device Name 0x0003  \"Pulse-Z1\""
        #expect(ended.lines.contains { $0.hasSuffix(response) })
    }

    /// Of `ble selftest --simulate --report selftest.json`. No program reads it: its schema is its form.
    @Test func aSelfTestReportHasTheDocumentedForm() throws {
        let report = try JSONValue(reading: Array(contents(of: "\(Self.stored)/selftest.json").utf8))
        let errors = try Schema(named: "selftest").errors(in: report)
        #expect(errors.isEmpty, "\(errors)")
        #expect(report["format"]?.text == "swift-bluetooth-le selftest")
        #expect(report["tests"]?.elements?.count == 11)
    }

    /// Of `linble bridge --simulate -n LINBLE-ECHO --tcp 41873 --log bridge.log`, of which a client has sent `ping`.
    @Test func aBridgeAppendsToALog() async throws {
        let stored = "\(Self.stored)/bridge.log"
        let ended = try await inShell(
            """
            cp '\(stored)' $FOLDER/log
            linble bridge --simulate -n LINBLE-ECHO --pty $FOLDER/tty --log $FOLDER/log >/dev/null & program=$!
            until [ -e $FOLDER/tty ]; do sleep 0.05; done
            exec 3<>$FOLDER/tty
            echo pong >&3
            head -n 1 <&3 >/dev/null
            kill $program; wait $program || exit
            cat $FOLDER/log
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.hasPrefix(contents(of: stored)))
        let added = ended.lines.dropFirst(3).map { $0.split(separator: " ").dropFirst().joined(separator: " ") }
        #expect(added.first == "Tx | 706F6E670A")
        #expect(added.last?.hasSuffix("0A") == true && added.last?.hasPrefix("Rx | ") == true, "\(added)")
    }

    /// Of `ble pair --simulate Pulse-Z1 --bonds bonds`.
    @Test func aBondIsShown() async throws {
        let ended = try await inShell(
            """
            umask 077; cp -r '\(Self.stored)/bonds' $FOLDER
            ble bonds show C0:98:E5:12:34:58 --bonds $FOLDER/bonds --simulate
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        for line in [
            "name           Pulse-Z1", "protection     Secure Connections, not authenticated",
            "key size       16 bytes",
        ] {
            #expect(ended.lines.contains(line), "\(ended.output)")
        }
    }
}
