import Testing

/// `ble read`, `write` and `notify` on the simulated radio.
@Suite(.serialized) struct ValueTests {
    private static let handle = "0x2A19 is a handle. Battery Level has the UUID 2A19: leave out 0x.\n"
    private let own = "CA010001-1234-5678-9ABC-DEF012345678"

    @Test func attributesAreSelectedInThreeWays() async throws {
        let ended = try await run("ble", ["read", "--simulate", "2A19", "0x0003", "180F/2A19/2904"])
        #expect(ended.status == 0)
        #expect(ended.lines.count == 3)
        #expect(ended.lines.first == "2A19 Battery Level 0x001B  61  97 %")
        #expect(ended.lines.dropFirst().first?.hasSuffix("0x0003  \"Pulse-Z1\"") == true)
    }

    @Test(
        arguments: [
            ("hex", "50756C73652D5A31\n"), ("text", "Pulse-Z1\n"), ("raw", "Pulse-Z1"),
            ("u32", "1936487760 827993445\n"), ("u16be", "20597 27763 25901 23089\n"),
        ])
    func theValueAloneIsPrinted(format: String, output: String) async throws {
        let ended = try await run("ble", ["read", "--simulate", "2A00", "--format", format])
        #expect(ended.status == 0)
        #expect(ended.output == output)
    }

    @Test(
        arguments: [
            // Refused; ambiguous UUID; unknown UUID; invalid selector; no device; two devices; device not seen.
            (["read", "--simulate", "CA010005-1234-5678-9ABC-DEF012345678"], 76, "--security encrypted"),
            (["read", "--simulate", "2901"], 64, "by its handle"),
            (["read", "--simulate", "2AFF"], 76, "no attribute 2AFF"),
            (["read", "--simulate", "2AFF"], 76, "List its attributes with: ble explore --simulate\n"),
            (
                ["read", "--simulate", "-n", "Pulse-Z1", "2AFF"], 76,
                "List its attributes with: ble explore --simulate -n Pulse-Z1\n"
            ),
            (
                ["read", "--simulate", "180F"], 64,
                "180F Battery is a service.\nName one of its characteristics: 180F/2A19\n"
            ),
            (["write", "--simulate", "180D", "01"], 64, "Name one of its characteristics: 180D/2A39\n"),
            (["read", "--simulate", "180D/2A19"], 76, "no attribute 180D/2A19.\n2A19 is here: 180F/2A19\n"),
            (["read", "--simulate", "0xZZ"], 64, "0xZZ"),
            (["read", "2A19"], 64, "-n NAME"),
            (["read", "--simulate", "-n", "a", "-a", "C0:98:E5:12:34:58", "2A19"], 64, "either"),
            (
                ["read", "--simulate", "-n", "nobody", "--find-time", "1", "2A19"], 68,
                "No device named 'nobody' advertised within 1 s."
            ),
            (
                ["read", "--simulate", "-n", "nobody", "--find-time", "1", "2A19"], 68,
                "Seen: LINBLE-ECHO, LINBLE-Z1, Pulse-Z1, Thermometer, "
            ),
            (["read", "--simulate", "--format", "text", "CA010004-1234-5678-9ABC-DEF012345678"], 65, "not text"),
            (
                ["read", "--simulate", "--format", "u24", "2A00"], 65,
                "is not u24: 50756C73652D5A31 is 8 bytes long; u24 needs a multiple of 3 bytes."
            ),
            (["read", "--simulate", "--format", "u61", "2A00"], 64, "Did you mean u16?"),
            (["read", "--simulate", "batery"], 64, "ble read: The value 'batery' is invalid"),
            (["read", "--simulate", "batery"], 64, "Did you mean battery?"),
            (["read", "--simulate", "180F/batery-levle"], 64, "Did you mean 180F/battery-level?"),
            (["read", "--simulate", "--security", "encryptd", "2A00"], 64, "Did you mean encrypted?"),
            (["read", "--simulate", "0x2A19"], 76, Self.handle),
            (["write", "--simulate", "0x2A19", "01"], 76, Self.handle),
            (["notify", "--simulate", "0x2A19", "--for", "1"], 76, Self.handle),
            (
                ["write", "--simulate", "battery-level", "01"], 76,
                """
                ble write: write battery-level of C0:98:E5:12:34:58: The peer refused: Write Not Permitted (0x03).
                Its properties are [read, notify].

                """
            ),
            (
                ["notify", "--simulate", "body-sensor-location", "--for", "1"], 76,
                "subscribe body-sensor-location of C0"
            ),
            (["read", "--simulate", "--format", "u128", "2A00"], 64, "sfloat or float"),
            (
                ["read", "--simulate", "heart rate"], 64,
                "'heart rate' matches 2 attributes: 2A37 Heart Rate Measurement 0x000F in 180D, 2A39"
            ),
            (["read", "--simulate", "humidity"], 76, "no attribute humidity"),
            (["write", "--simulate", "2A39", "02"], 76, "0x80"),
            (["write", "--simulate", "2A39", "xyz"], 64, "text:WORDS"),
            (["read", "--simulate", "engine"], 64, "'engine'"),
            (["read", "--simulate", "engine"], 64, "give a UUID (2A19), an assigned name (battery-level)"),
            (
                ["write", "--simulate", "2A39", "--format", "u8", "256"], 64,
                "'256' is not a value of u8: give 0 to 255."
            ),
            (["write", "--simulate", "2A39", "--fromat", "u8", "1"], 64, "'--fromat u8 1' is not a value"),
            (["write", "--simulate", "2A39", "file:"], 64, "'file:' is not a value: give hexadecimal digits"),
            (["write", "--simulate", "2A39", "file:/nowhere"], 66, "/nowhere: there is no such file."),
            (["write", "--simulate", "--command", "2A39", "file:/proc/version"], 0, ""),
            (["notify", "--simulate", "2A38", "--for", "1"], 76, "does not support that"),
            (["notify", "--simulate", "180F/2A19/2904", "--for", "1"], 76, "not a characteristic"),
            (["notify", "--simulate", "-n", "nobody", "2A37", "--keep", "--for", "1"], 75, "no subscription"),
            (
                ["notify", "--simulate", "2A19", "--for", "1", "--count", "1"], 75,
                "Only 0 of 1 results within the time limit."
            ),
        ] as [([String], Int32, String)])
    func everyFailureHasItsStatusAndMessage(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("ble", arguments)
        #expect(ended.status == status)
        #expect(words.isEmpty || ended.messages.contains(words), "\(ended.messages)")
        #expect(status == 0 || ended.output == "")
    }

    @Test(
        arguments: [
            (["0102"], "2 bytes"), (["01 02 03"], "3 bytes"), (["text:é"], "2 bytes"), (["file:-"], "1 byte"),
            (["--request", "00"], "1 byte"), (["01", "02"], "2 bytes"), (["--format", "i16", "-5"], "2 bytes"),
            (["--format", "u8", "1", "2", "0x30"], "3 bytes"), (["--format", "sfloat", "36.6 NaN"], "4 bytes"),
            (["--format", "text", "file:x"], "6 bytes"),
        ] as [([String], String)])
    func aValueIsWrittenInEveryForm(arguments: [String], said: String) async throws {
        let ended = try await run("ble", ["write", "--simulate", own] + arguments, input: "x")
        #expect(ended.status == 0)
        #expect(ended.output == "wrote \(said) to \(own) 0x0026\n")
    }

    @Test func aCommandIsUsedIfItIsTheOnlyWay() async throws {
        let command = "CA010002-1234-5678-9ABC-DEF012345678"
        let ended = try await run("ble", ["write", "--simulate", command, "07", "--json"])
        #expect(ended.status == 0)
        #expect(ended.output.contains(#""bytes":1,"way":"command"}"#))
    }

    @Test func valuesArePrintedAsTheyArrive() async throws {
        let ended = try await run("ble", ["notify", "--simulate", "2A37", "--count", "2"])
        #expect(ended.status == 0)
        #expect(
            ended.output.timeless == """
                TIME  2A37 Heart Rate Measurement 0x000F  00 48  72 beats/min
                TIME  2A37 Heart Rate Measurement 0x000F  00 49  73 beats/min

                """)
    }

    @Test(
        arguments: [
            ("u8", "TIME  2A37 Heart Rate Measurement 0x000F  0 72\nTIME  2A37 Heart Rate Measurement 0x000F  0 73\n"),
            ("raw", "\0H\0I"),
        ])
    func notifiedValuesHaveTheFormat(format: String, output: String) async throws {
        let ended = try await run("ble", ["notify", "--simulate", "2A37", "--count", "2", "--format", format])
        #expect(ended.status == 0)
        #expect(ended.output.timeless == output)
    }

    @Test func attributesAreSelectedByName() async throws {
        let ended = try await run(
            "ble", ["read", "--simulate", "Battery Level", "battery/battery-level", "appearance"])
        #expect(ended.status == 0)
        #expect(ended.lines.count == 3)
        #expect(ended.lines.last == "2A01 Appearance 0x0005  41 03  Heart Rate Belt")
    }

    @Test func severalCharacteristicsAreSubscribedToAtOnce() async throws {
        let ended = try await run("ble", ["notify", "--simulate", "2A37", "2A1C", "--count", "4", "--json"])
        #expect(ended.status == 0)
        #expect(ended.lines.count == 4)
        #expect(ended.output.contains(#""uuid":"2A37""#))
        #expect(ended.output.contains(#""hex":"006D0100FF","meaning":"36.5 °C","value":36.5,"unit":"°C"}"#))
    }

    @Test(arguments: [(" --keep", 0), ("", 69)] as [(String, Int32)])
    func aKeptDeviceIsSubscribedToAgain(_ option: String, _ status: Int32) async throws {
        let ended = try await inShell(
            """
            echo '{"adapters":[{"powered":true,"events":[{"after":4,"event":"unplugged"},{"after":5,"event":"plugged"}]}],
            "devices":[{"name":"Pulse","services":[{"uuid":"180D","characteristics":[
            {"uuid":"2A37","properties":["notify"],"hex":"0648","every":0.25}]}]}]}' >$FOLDER/world
            ble notify --world $FOLDER/world -n pulse 2A37 --count 20 --for 60\(option)
            """)
        #expect(ended.status == status, "\(ended.messages)")
        #expect(ended.lines.count == 20 || status != 0, "\(ended.output)")
        #expect(ended.messages.contains("Trying again.") == (status == 0), "\(ended.messages)")
    }

    @Test(arguments: [("INT", 130, "interrupted"), ("TERM", 143, "terminated")] as [(String, Int32, String)])
    func aSignalEndsItCleanly(signal: String, status: Int32, word: String) async throws {
        let ended = try await run("ble", ["notify", "--simulate", "2A37"], signal: signal)
        #expect(ended.status == status)
        #expect(ended.messages == "ble notify: \(word)\n")
        #expect(!ended.lines.isEmpty)
    }
}
