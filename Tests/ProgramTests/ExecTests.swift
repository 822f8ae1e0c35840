import Testing

/// `ble exec`: several steps on one link, on the simulated radio.
@Suite(.serialized) struct ExecTests {
    @Test func stepsShareALink() async throws {
        let ended = try await run(
            "ble",
            ["exec", "connect pulse; read 2A19; write 2A39 01", "notify 2A37 --count 1; disconnect", "--simulate"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages == "connected to Pulse-Z1\ndisconnected from Pulse-Z1\n")
        #expect(
            ended.output.timeless == """
                2A19 Battery Level 0x001B  61  97 %
                wrote 1 byte to 2A39 Heart Rate Control Point 0x0014
                TIME  2A37 Heart Rate Measurement 0x000F  00 48  72 beats/min

                """)
    }

    @Test func valuesArePrintedWhileOtherStepsRun() async throws {
        let ended = try await run(
            "ble", ["exec", "-", "--simulate"], input: "subscribe 2A37 # beats\nsleep 2.5\nread 2A19")
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains("2A37 Heart Rate Measurement"))
        #expect(ended.lines.last?.hasPrefix("2A19") == true)
    }

    @Test(
        arguments: [
            (["read 2AFF; read 2A19"], 76, "ble exec: read 2AFF: The device has no attribute 2AFF.", ""),
            (["-k", "read 2AFF; read 2A19 --format hex"], 76, "no attribute 2AFF", "61\n"),
            (["read 2A19; raed 2A19"], 64, "'raed' is not a step. Did you mean read?", ""),
            ([#"read "x"#], 64, "A quote in line 1 is not closed.", ""),
            (["connect; connect"], 64, "Pulse-Z1 is connected already.\nEnd the link with: disconnect", ""),
            (["disconnect"], 64, "No device is connected.", ""),
            (["read -n pulse 2A19"], 64, "Choose the device with: connect", ""),
            (["pair pulse"], 64, "Choose the device with: connect", ""), ([], 64, "Give steps", ""),
            (["--file", "/nowhere"], 66, "/nowhere", ""),
            (["--file", "/dev/zero"], 65, "/dev/zero is larger than 1024 KiB.", ""),
            (["read 2A19; read 2A19 --trace x"], 64, "--trace has no meaning for a step", ""),
            (["scan --world x"], 64, "--world has no meaning for a step", ""),
            (["read 2A19; read --help"], 0, "OVERVIEW: Read", ""),
            (["connect nobody --find-time 0.5"], 68, "No device named 'nobody'", ""),
        ] as [([String], Int32, String, String)])
    func aFailureHasTheStatusOfItsStep(
        _ arguments: [String], _ status: Int32, _ words: String, _ output: String
    ) async throws {
        let ended = try await run("ble", ["exec"] + arguments + ["--simulate"])
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
        #expect(ended.output == output)
    }

    @Test func aSignalEndsIt() async throws {
        let ended = try await run("ble", ["exec", "read 2A19; sleep 60", "--simulate"], signal: "INT", after: "2A19")
        #expect(ended.status == 130)
        #expect(ended.messages.hasSuffix("ble exec: interrupted\n"), "\(ended.messages)")
    }
}
