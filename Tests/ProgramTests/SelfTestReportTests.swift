import ArgumentParser
import BluetoothLE
import BluetoothSimulation
import ExampleSupport
import Testing

@testable import ble

/// The report of `ble selftest`.
@Suite(.serialized) struct SelfTestReportTests {
    private static let name = "Wristband of Ada"
    private static let address = BluetoothAddress(0xC0FE_D1C0_FFEE, kind: .random)

    /// A test of an adapter in reach of a device with a known name, whose failures name both, and what the adapter has.
    @Test func neitherAddressesNorNamesAreInIt() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel(adapters: [.fresh])
        SimulatedPeripheral(
            on: radio, address: Self.address,
            // Complete Local Name.
            advertisements: [SimulatedAdvertisement(data: [UInt8(Self.name.utf8.count + 1), 0x09] + Self.name.utf8)])
        try await radio.run(limit: .seconds(600)) {
            let common = try CommonOptions.parse(["--simulate"])
            let console = Console(common)
            let own = try #require(try await Adapter.all(on: kernel).first)
            let clock = BenchmarkClock(loop: radio.loop)
            let run = SelfTestRun(console, only: ["scan.active"], clock: clock)
            let adapters = try await SelfTest(
                common: common, kernel: kernel, console: console, trace: nil, clock: clock
            ).run(run, on: own, with: nil)
            #expect(run.results.contains { $0.test == "scan.active" && $0.verdict == .passed })
            let reason = "\(own.address.digits) and \(Self.address.digits) of \(own.localName)"
            for error: any Error in [
                BluetoothError(.timedOut, .init("read", peer: Self.address, adapter: own.name), reason),
                SelfTestObstacle.failed(reason, figure: SelfTestFigure("\(own.localName) at \(own.address.digits)")),
            ] {
                run.record(SelfTestResult("loss", "loss", .failure(error), in: .zero))
            }
            let report = SelfTestReport(adapters, run.results, isSimulated: false)
            let text = String(decoding: report.bytes, as: UTF8.self)
            let schema = try Schema(named: "selftest")
            #expect(schema.errors(in: try JSONValue(reading: report.bytes)).isEmpty)
            for address in [own.address, Self.address] {
                let digits = address.digits.filter { $0 != ":" }
                #expect(!text.contains(address.digits) && !text.contains(digits), "\(text)")
                #expect(!text.lowercased().contains(digits.lowercased()))
            }
            #expect(!text.contains(Self.name) && !text.contains(own.localName), "\(text)")
            #expect(text.contains("(address) and (address) of (name)"), "\(text)")
        }
    }

    @Test func aFullDiskLeavesTheTable() async throws {
        // Without SIGXFSZ, a write beyond the limit fails as on a full disk.
        let ended = try await inShell(
            """
            trap '' XFSZ
            (ulimit -f 0; ble selftest --simulate --only scan.restart --report $FOLDER/report.json; echo $?) 2>&1 | cat
            ls $FOLDER | grep report
            """.replacing("\n", with: "; "))
        #expect(ended.output.contains("passed  starting and ending a scan"), "\(ended.output)")
        #expect(ended.output.contains("Cannot write"), "\(ended.output)")
        #expect(ended.output.hasSuffix("\n74\n"), "\(ended.output)")
    }

    @Test(arguments: [[], ["--json"]])
    func resultsThatCannotBeWrittenAreAnError(_ options: [String]) async throws {
        let ended = try await inShell(
            "ble selftest --simulate --only scan.restart \(options.joined(separator: " ")) >/dev/full; echo $?")
        #expect(ended.output == "74\n")
        #expect(ended.messages.contains("No space left on device"), "\(ended.messages)")
    }

    @Test func aSecondSignalPutsEverythingBackAtOnce() async throws {
        let ended = try await inShell(
            """
            ble selftest --simulate --json --only scan.passive >$FOLDER/result & program=$!
            until grep -q controller $FOLDER/result; do sleep 0.05; done
            kill -INT $program; kill -TERM $program; wait $program; echo $?
            """)
        // The first signal may have put back everything by then.
        #expect(["130\n", "143\n"].contains(ended.output), "\(ended.output)")
        #expect(!ended.messages.contains("could not restore"), "\(ended.messages)")
    }
}
