@testable import ExampleSupport
import Testing

@testable import ble
@testable import linble

/// How the programs find a device, and answer a command line that names none or is mistyped.
@Suite(.serialized) struct FindingTests {
    @Test(
        arguments: [
            (["read", "-n", "pulse", "--format", "hex", "2A00"], 0, "50756C73652D5A31"),
            (["-n", "LINBLE-ECHO", "read", "--format", "text", "2A00"], 0, "LINBLE-ECHO"),
            (["read", "-n", "linble", "--pick", "strongest", "--format", "text", "2A00"], 0, "LINBLE-Z1"),
            (["read", "-n", "linble", "2A00"], 64, "2 devices match:\n  LINBLE-Z1  C0:98:E5:12:34:56"),
            (["pair", "pulse"], 0, "paired with C0:98:E5:12:34:58"),
            (["pair", "pulse", "-n", "pulse"], 64, "only once"),
            (["read", "-n", "", "2A00"], 64, "a name or a part of it"),
            (["scan", "-t", "5"], 64, "Use --for 5."), (["advertise", "-t", "0.5"], 64, "Use --for 0.5."),
            (["serve", "battery", "-t", "5"], 64, "Use --for 5."),
            (["adapters", "--timeout", "5"], 64, "Use --for 5."),
            (["doctor", "-t", "5"], 64, "--timeout has no meaning for this command."),
            (["adapters", "-n", "x"], 64, "--name has no meaning for this command."),
            (["bonds", "--passkey", "1"], 64, "--passkey has no meaning for this command."),
            (["scan", "--pick", "first"], 64, "--pick has no meaning for this command."),
            (["scna"], 64, "ble: 'scna' is not a command. Did you mean scan?\nList the commands with: ble --help\n"),
            (["-n", "scan", "raed"], 64, "Did you mean read?"),
            (["bonds", "lst"], 64, "ble bonds: 'lst' is not a command. Did you mean list?"),
            (["everything"], 64, "ble: 'everything' is not a command.\nList"),
        ] as [([String], Int32, String)])
    func everyCommandLineHasItsAnswer(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("ble", arguments + ["--simulate"])
        #expect(ended.status == status)
        #expect((status == 0 ? ended.output : ended.messages).contains(words), "\(ended.messages)")
    }

    @Test(
        arguments: [
            (["exchange", "-n", "echo", "AB"], 0, "Rx | AB"), (["exhange", "0100"], 64, "Did you mean exchange?"),
            (["exchange", "-n", "linble", "0100"], 64, "2 devices match"), (["serve", "-t", "5"], 64, "Use --for 5."),
            (["exchange", "-n", "nobody", "--find-time", "0.5", "0100"], 68, "advertised within 0.5 s.\nSeen: "),
        ] as [([String], Int32, String)])
    func theUARTProgramFindsDevicesInTheSameWay(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("linble", arguments + ["--simulate"])
        #expect(ended.status == status)
        #expect((status == 0 ? ended.output : ended.messages).contains(words), "\(ended.messages)")
    }

    @Test func onlyWhatAppliesIsInTheHelp() {
        let scan = BleCommand.helpMessage(for: ScanCommand.self)
        for name in ["--pick", "--find-time", "--timeout", "--security", "--passkey"] { #expect(!scan.contains(name)) }
        let doctor = BleCommand.helpMessage(for: DoctorCommand.self)
        for name in ["--name", "--address", "--bonds", "--force", "--power-on"] { #expect(!doctor.contains(name)) }
        let read = BleCommand.helpMessage(for: ReadCommand.self)
        for name in ["--pick", "--find-time", "--timeout", "--security", "--bonds", "--trace"] {
            #expect(read.contains(name))
        }
    }

    @Test(
        arguments: [
            ["adapters", "--trace", "x"], ["doctor", "--bonds", "x"], ["decode", "x", "--trace", "x"],
            ["bonds", "--trace", "x"], ["--trace", "x", "power", "off"], ["scan", "--find-time", "3"],
            ["serve", "battery", "--address-type", "random"],
        ])
    func whatHasNoMeaningIsRejected(_ arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try BleCommand.parseAsRoot(arguments) }
        #expect(error.map { BleCommand.message(for: $0) }?.contains("has no meaning") == true)
    }

    /// The words after these are no commands.
    @Test func theOptionsWithAValueAreKnown() {
        let help = BleCommand.helpMessage(columns: 1000) + LinbleCommand.helpMessage(columns: 1000)
        let named = help.matches(of: /(?:(-[a-z]), )?(--[a-z-]+) </).flatMap { [$0.1, $0.2].compactMap { $0 } }
        #expect(Set(named.map { String($0) }) == CommonOptions.namesWithValue)
    }
}
