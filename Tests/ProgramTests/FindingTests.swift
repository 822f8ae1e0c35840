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
            (["bonds", "--passkey", "123456"], 64, "--passkey has no meaning for this command."),
            (["scan", "--pick", "first"], 64, "--pick has no meaning for this command."),
            (["scan", "--duplicates"], 64, "--duplicates has a meaning only with --json."),
            (["exec", "scan --raw"], 64, "--raw has a meaning only with --json."),
            (["scan", "--json", "--sort", "name"], 64, "--sort has a meaning only without --json."),
            (["serve", "battery", "--device", "x"], 64, "battery is not a file."),
            (["serve", "bench", "--device", "x"], 64, "bench is not a file."),
            (
                ["scan", "--irk", "8B3F6D"], 64,
                "The key has 6 hexadecimal digits instead of 32."
            ),
            (["read", "--irk", "8B3F6D", "2A00"], 64, "The key has 6 hexadecimal digits instead of 32."),
            (
                ["read", "--irk", "8B3F6D01C2E94A7788D0B1A35C4E9F20", "-a", "C0:98:E5:12:34:56", "2A00"], 64,
                "Give either a key (--irk) or an address (-a), not both."
            ),
            (
                ["read", "--irk", "8B3F6D01C2E94A7788D0B1A35C4E9F20", "--find-time", "0.5", "2A00"], 68,
                "No device with the key of --irk advertised within 0.5 s."
            ),
            (
                ["read", "--irk", "8B3F6D01C2E94A7788D0B1A35C4E9F20", "-n", "phone", "2A00"], 64,
                "-n 'phone' has no meaning with it.\nLeave out the name."
            ),
            (["serve", "battery", "--irk", "x"], 64, "--irk has no meaning for this command."),
            (["serve", "battery", "--coded"], 64, "--coded has no meaning for this command."),
            (["scan", "--min-key-size", "16"], 64, "--min-key-size has no meaning for this command."),
            (["adapters", "-i", "hci9"], 69, "There is no such adapter: hci9."),
            (["power", "off", "-i", "hci9"], 69, "There is no such adapter: hci9."),
            (["bonds", "-i", "hci9"], 69, "There is no such adapter: hci9."),
            (["scan", "-i", "hci9"], 69, "There is no such adapter: hci9; available are: hci0 (00:AA:01:00:00:01)."),
            (["pair", "--min-key-size", "17"], 64, "--min-key-size takes 7 to 16 bytes, not 17."),
            (["pair", "pulse", "--min-key-size", "16"], 0, "16-byte key"),
            (["advertise", "--min-key-size", "16"], 64, "--min-key-size has no meaning for this command."),
            (["scan", "--key", "231d39"], 64, "--key takes ADDRESS=KEY or a file, and there is no such file."),
            (
                ["scan", "--key", "54:48:E6:8F:80:A5=231d39"], 64,
                "--key: The key of 54:48:E6:8F:80:A5 is not 32 hexadecimal digits."
            ),
            (["exec", "scan --key -"], 64, "--key - has no meaning for a step."),
            (["scan", "--irk", "/dev/null"], 65, "/dev/null is not a regular file."),
            (["scna"], 64, "ble: 'scna' is not a command. Did you mean scan?\nList the commands with: ble --help\n"),
            (["-n", "scan", "raed"], 64, "Did you mean read?"),
            (["bonds", "lst"], 64, "ble bonds: 'lst' is not a command. Did you mean list?"),
            (["scan", "--for", "-1"], 64, "ble scan: --for takes a number of seconds above 0, up to 1000000, not -1."),
            (["scan", "--for", "2000000"], 64, "up to 1000000, not 2000000."),
            (
                ["read", "-t", "-0.5", "2A00"], 64,
                "--timeout takes a number of seconds above 0, up to 1000000, not -0.5."
            ),
            (["read", "-n", "Pulze-Z1", "--find-time", "1", "2A00"], 68, "within 1 s. Did you mean Pulse-Z1?"),
            (["serve", "heart-rat"], 66, "heart-rat: there is no such file. Did you mean heart-rate?"),
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
            (["exchange", "-n", "linble", "0100"], 64, "2 devices match"),
            (["exchange", "--irk", "8B3F6D", "0100"], 64, "The key has 6 hexadecimal digits instead of 32."),
            (["serve", "-t", "5"], 64, "Use --for 5."),
            (["exchange", "-n", "nobody", "--find-time", "0.5", "0100"], 68, "advertised within 0.5 s.\nSeen: "),
        ] as [([String], Int32, String)])
    func theUARTProgramFindsDevicesInTheSameWay(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("linble", arguments + ["--simulate"])
        #expect(ended.status == status)
        #expect((status == 0 ? ended.output : ended.messages).contains(words), "\(ended.messages)")
    }

    /// The name of a LINBLE as delivered stands for its own profile only.
    @Test(arguments: [("--profile nordic", "Rx | 6F"), ("", "Rx | AB")])
    func withoutANameTheProfileDecides(_ options: String, _ word: String) async throws {
        let ended = try await inShell(
            """
            echo '{"devices":[{"name":"LINBLE-Z1","linble":"loopback"},
            {"name":"Nordic","advertisedServices":["6E400001-B5A3-F393-E0A9-E50E24DCCA9E"],
            "services":[{"uuid":"6E400001-B5A3-F393-E0A9-E50E24DCCA9E","characteristics":[
            {"uuid":"6E400002-B5A3-F393-E0A9-E50E24DCCA9E","properties":["write","writeWithoutResponse"]},
            {"uuid":"6E400003-B5A3-F393-E0A9-E50E24DCCA9E","properties":["notify"],"hex":"6F6B","every":2}]}]}]}' \
            >$FOLDER/world
            linble exchange --world $FOLDER/world AB \(options)
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains(word), "\(ended.output)")
    }

    @Test func helpOnAnUnknownCommandIsAnError() async throws {
        let ended = try await run("ble", ["help", "scna"])
        #expect(ended.status == 64)
        #expect(ended.messages.contains("Did you mean scan?"), "\(ended.messages)")
    }

    @Test(
        arguments: [
            (["--request"], 0, "Rx | AB"), (["--command"], 0, "Rx | AB"), ([], 0, "Rx | AB"),
            (["--profile", "nordic"], 64, "either --profile or --service"),
            (["--request", "--command"], 64, "--command"),
        ] as [([String], Int32, String)])
    func aUARTIsNamedByItsUUIDs(_ arguments: [String], _ status: Int32, _ words: String) async throws {
        let uuids = [("--service", "A"), ("--write", "C"), ("--notify", "B")].flatMap {
            [$0.0, "27ADC9C\($0.1)-35EB-465A-9154-B8FF9076F3E8"]
        }
        let ended = try await run("linble", ["exchange", "-n", "LINBLE-ECHO", "AB", "--simulate"] + uuids + arguments)
        #expect(ended.status == status, "\(ended.messages)")
        #expect((status == 0 ? ended.output : ended.messages).contains(words), "\(ended.messages)")
        for missing in [["--service", "FFE0"], ["--write", "x", "--service", "FFE0", "--notify", "FFE1"]] {
            #expect(try await run("linble", ["exchange", "AB", "--simulate"] + missing).status == 64)
        }
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

    @Test(
        arguments: [
            (["scan", "--count", "-1"], "ble scan: The value '-1' is invalid for '--count <count>'\nHelp:"),
            (["scan", "--count"], "ble scan: Missing value for '--count <count>'\nHelp:"),
            (["write", "2A39", "01", "--request", "--command"], "Give either --request or --command, not both.\n"),
            (["scan", "--find-time", "x"], "Usage: ble scan <options>\n  See 'ble scan --help' for more information."),
            (["bonds", "-i", "x"], "  See 'ble bonds list --help' for more information."),
            // The nearest word is no better than any.
            (["scan", "--qqq"], "ble scan: Unknown option '--qqq'\nUsage:"),
            (["scan", "--wacth"], "Unknown option '--wacth'. Did you mean '--watch'?"),
            (["read", "0x"], "(180F/2A19).\nHelp:"),
            (
                ["scan", "--service", "heart-rat"],
                "for '--service <uuid>': give a UUID or an assigned name, such as 180D or heart-rate. Did you mean heart-rate?"
            ),
            (["advertise", "--manufacturer", "aple:01"], "Did you mean apple?"),
        ])
    func aUsageErrorSaysWhatIsWrong(_ arguments: [String], _ words: String) {
        let error = #expect(throws: (any Error).self) { try BleCommand.parseAsRoot(arguments) }
        let text = error.map { BleCommand.explanation(of: $0, for: arguments).text }
        #expect(text?.contains(words) == true, "\(text ?? "")")
    }

    @Test func servicesAndCompaniesAreNamed() throws {
        let arguments = ["scan", "--service", "heart-rate", "--manufacturer", "apple", "--manufacturer", "4C:0215"]
        let command = try #require(try BleCommand.parseAsRoot(arguments) as? ScanCommand)
        #expect(command.service == [0x180D])
        #expect(command.manufacturer.map(\.company) == [.apple, .apple])
        #expect(command.manufacturer.map(\.data) == [[], [0x02, 0x15]])
        for option in ["--service", "--write", "--notify"] {
            let arguments = ["send", option, "zz", "file"]
            let error = #expect(throws: (any Error).self) { try LinbleCommand.parseAsRoot(arguments) }
            let text = error.map { LinbleCommand.explanation(of: $0, for: arguments).text } ?? ""
            #expect(
                text.hasPrefix("linble send: The value 'zz' is invalid for '\(option) <uuid>': give a UUID"), "\(text)")
        }
    }

    @Test func aStepIsExplainedAsOne() throws {
        let step = try #require(try ShellWords.steps(in: "sleep x").first)
        let error = #expect(throws: ProgramError.self) { try Session.parse(step) }
        #expect(error?.message.hasPrefix("sleep: The value 'x' is invalid for '<seconds>'") == true)
        #expect(error?.message.hasSuffix("Usage: sleep <seconds>\n  See 'help sleep' for more information.") == true)
    }

    @Test func aDeviceWithAPrivateAddressHasTheNameOfItsKey() async throws {
        let lines = """
            echo '{"devices":[{"name":"x","address":"4A:1B:2C:42:AB:84"},{"name":"y"}]}' >$FOLDER/world
            echo 'phone 8B3F6D01C2E94A7788D0B1A35C4E9F20' >$FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --json --irk $FOLDER/keys
            chmod 600 $FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --irk $FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --json --once --irk 209F4E5CA3B1D088774AE9C2016D3F8B
            """
        let ended = try await inShell(lines)
        #expect(ended.messages.contains("chmod 600"), "\(ended.messages)")
        #expect(ended.output.contains("4A:1B:2C:42:AB:84"), "\(ended.messages)")
        #expect(ended.output.contains("phone"))
        #expect(ended.lines.last?.contains(#""identity":"device""#) == true, "\(ended.output)")
        #expect(!ended.output.contains("8B3F") && !ended.messages.contains("8B3F"))
    }

    /// A sensor that encrypts its values, with its key from a file, a wrong key, and without one.
    @Test func aSensorIsDecryptedWithItsKey() async throws {
        let lines = """
            echo '{"devices":[{"name":"x","address":"54:48:E6:8F:80:A5","advertisements":[{"connectable":false,"serviceData":{"FCD2":"41A47266C95F730011223378237214"}}]}]}' >$FOLDER/world
            printf '# Sensors\\n\\n54:48:E6:8F:80:A5 = 231d39c1d7cc1ab1aee224cd096db932\\n' >$FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --json --once --key $FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --once --key $FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --once --key - <$FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --once --key 54:48:E6:8F:80:A5=331d39c1d7cc1ab1aee224cd096db932
            ble scan --world $FOLDER/world --for 1 --once
            echo 54:48:E6:8F:80:A5=231d >>$FOLDER/keys
            ble scan --world $FOLDER/world --for 1 --key $FOLDER/keys
            echo $?
            """
        let ended = try await inShell(lines)
        let output = ended.output
        #expect(output.contains(#"{"quantity":"temperature","value":25.06,"unit":"°C"}"#), "\(ended.messages)")
        #expect(output.ranges(of: "BTHome temperature 25.06 °C, humidity 50.55 %").count == 2, "\(output)")
        #expect(output.contains("BTHome the key is wrong or the data damaged"), "\(output)")
        #expect(output.contains("BTHome encrypted"), "\(output)")
        #expect(ended.lines.last == "65")
        #expect(
            ended.messages.contains("/keys, line 4: The key of 54:48:E6:8F:80:A5 is not 32 hexadecimal digits."),
            "\(ended.messages)")
        #expect(!output.contains("31d39c1") && !ended.messages.contains("31d39c1"))
    }

    @Test func aDeviceIsConnectedToByItsKey() async throws {
        let lines = """
            echo '{"devices":[{"name":"x","address":"4A:1B:2C:42:AB:84","services":[{"uuid":"180F","characteristics":[{"uuid":"2A19","properties":["read"],"hex":"63"}]}]}]}' >$FOLDER/world
            echo 'phone 8B3F6D01C2E94A7788D0B1A35C4E9F20' >$FOLDER/keys
            echo 'watch 000102030405060708090A0B0C0D0E0F' >>$FOLDER/keys
            chmod 600 $FOLDER/keys
            ble read --world $FOLDER/world --irk $FOLDER/keys -n phone --format hex 2A19
            ble read --world $FOLDER/world --irk $FOLDER/keys 2A19
            ble read --world $FOLDER/world --irk $FOLDER/keys -n nobody 2A19
            """
        let ended = try await inShell(lines)
        #expect(ended.output == "63\n", "\(ended.messages)")
        #expect(ended.messages.contains("--irk has the keys of 2 devices.\nChoose one with -n: phone, watch"))
        #expect(ended.messages.contains("--irk has no key of a device named 'nobody'.\nIt has: phone, watch"))
    }
}
