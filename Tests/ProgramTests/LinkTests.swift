import Testing

/// `ble rssi` and `params` on the simulated radio.
@Suite(.serialized) struct LinkTests {
    @Test func aNonConnectableDeviceIsReportedAsSuch() async throws {
        let ended = try await run("ble", ["read", "--simulate", "-n", "Thermometer", "--find-time", "1", "2A19"])
        #expect(ended.status == 68)
        #expect(
            ended.messages.contains("The device named 'Thermometer' advertises, but does not accept connections."),
            "\(ended.messages)")
    }

    @Test func theRSSIIsPrinted() async throws {
        let ended = try await run("ble", ["rssi", "--simulate"])
        #expect(ended.status == 0)
        #expect(ended.output == "-55 dBm\n")
    }

    @Test func theRSSIIsPrintedUntilTheTimeout() async throws {
        let ended = try await run("ble", ["rssi", "--simulate", "--watch", "--for", "1.5"])
        #expect(ended.status == 0)
        #expect(ended.output.timeless == "TIME  -55 dBm\nTIME  -55 dBm\n")
    }

    @Test func theRSSIIsPrintedForACount() async throws {
        let ended = try await run("ble", ["rssi", "--simulate", "--count", "2"])
        #expect(ended.status == 0)
        #expect(ended.output.timeless == "TIME  -55 dBm\nTIME  -55 dBm\n")
        #expect(try await run("ble", ["rssi", "--simulate", "--count", "9", "--for", "0.5"]).status == 75)
    }

    @Test func theParametersArePrinted() async throws {
        let ended = try await run("ble", ["params", "--simulate"])
        #expect(ended.status == 0)
        #expect(
            ended.output == """
                ATT_MTU      517 bytes
                parameters   interval 30 ms, latency 0, supervision timeout 420 ms
                PHYs         transmit LE 1M, receive LE 1M
                data length  unknown
                preferred    interval 7.5 ms to 50 ms, latency 0, supervision timeout 5000 ms

                """)
    }

    @Test func theLeastMTUIsUsedWithoutAnExchange() async throws {
        let ended = try await run("ble", ["params", "--simulate", "--mtu", "23"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines.first == "ATT_MTU      23 bytes")
    }

    @Test func theParametersAreChanged() async throws {
        let ended = try await run(
            "ble",
            [
                "params", "--simulate", "--json", "--interval", "15-30", "--latency", "2", "--supervision-timeout",
                "4000", "--phy", "2m", "--data-length", "100",
            ])
        #expect(ended.status == 0)
        #expect(
            ended.output.timeless
                == #"{"t":"TIME","event":"link","mtu":517,"interval":15.0,"latency":2,"supervisionTimeout":4000.0,"txPHY":"LE 2M","rxPHY":"LE 2M","txOctets":100,"rxOctets":100}"#
                + "\n"
                + #"{"t":"TIME","event":"preferred","shortestInterval":7.5,"longestInterval":50.0,"latency":0,"supervisionTimeout":5000.0}"#
                + "\n")
    }

    @Test(arguments: [
        (["--use", "throughput"], "interval 15 ms, latency 0, supervision timeout 5000 ms", "LE 2M"),
        (["--use", "low-power"], "interval 100 ms, latency 2, supervision timeout 5000 ms", "LE 1M"),
        (["--use", "throughput", "--interval", "60", "--phy", "1m"], "interval 60 ms, latency 0,", "LE 1M"),
    ])
    func aUseChoosesTheSettingsThatAreNotGiven(_ arguments: [String], _ parameters: String, _ phy: String) async throws
    {
        let ended = try await run("ble", ["params", "--simulate"] + arguments)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains("parameters   \(parameters)"), "\(ended.output)")
        #expect(ended.output.contains("PHYs         transmit \(phy), receive \(phy)"), "\(ended.output)")
    }

    @Test func commandsConnectWithTheSettings() async throws {
        // The link's parameters are those of the command line, not of the steps.
        let ended = try await run(
            "ble", ["exec", "--simulate", "--interval", "75", "params; disconnect; connect --use low-power; params"])
        #expect(ended.status == 0, "\(ended.messages)")
        let lines = ended.lines.filter { $0.hasPrefix("parameters") }
        #expect(
            lines == [
                "parameters   interval 75 ms, latency 0, supervision timeout 5000 ms",
                "parameters   interval 100 ms, latency 2, supervision timeout 5000 ms",
            ])
        let read = try await run("ble", ["read", "--simulate", "--use", "throughput", "2A19"])
        #expect(read.status == 0, "\(read.messages)")
    }

    @Test func theDefaultsOfTheAdapterAreShownAndChanged() async throws {
        let shown = try await run("ble", ["params", "--simulate", "--defaults"])
        #expect(
            shown.output == """
                links        interval 30 ms to 50 ms, latency 0, supervision timeout 420 ms
                connecting   scan interval 60 ms, window 60 ms, time limit 20000 ms
                advertising  interval 1280 ms
                PHYs         LE 1M, LE 2M

                """)
        let changed = try await run(
            "ble",
            [
                "params", "--simulate", "--defaults", "--latency", "2", "--scan-interval", "100", "--scan-window",
                "12.5",
                "--connect-timeout", "2000", "--advertising-interval", "100-200",
            ])
        #expect(changed.status == 0, "\(changed.messages)")
        #expect(
            changed.output == """
                links        interval 30 ms to 50 ms, latency 2, supervision timeout 420 ms
                connecting   scan interval 100 ms, window 12.5 ms, time limit 2000 ms
                advertising  interval 100 ms to 200 ms
                PHYs         LE 1M, LE 2M

                """)
        for (phy, phys) in [("1m", "LE 1M"), ("1m,2m", "LE 1M, LE 2M")] {
            let ended = try await run("ble", ["params", "--simulate", "--defaults", "--phy", phy])
            #expect(ended.status == 0, "\(ended.messages)")
            #expect(ended.lines.last == "PHYs         \(phys)", "\(ended.output)")
        }
    }

    @Test(
        arguments: [
            (["--interval", "5000"], 64, "7.5 ms to 4 s"), (["--interval", "30-15"], 64, "30-15"),
            (["--interval", "x"], 64, "such as 15 or 15-30"), (["--phy", "4m"], 64, "4m"),
            (["--phy", "coded"], 76, "does not support LE Coded"), (["--coded"], 76, "does not support LE Coded"),
            (["--data-length", "1000"], 64, "27 to 251"), (["--mtu", "22"], 64, "23 to 517"),
            (["--defaults", "--mtu", "100"], 64, "--mtu is not among"), (["--latency", "500"], 64, "499"),
            (["--supervision-timeout", "99"], 64, "100 to 32000"), (["--use", "speed"], 64, "speed"),
            // They contradict each other.
            (["--interval", "4000"], 64, "more than twice the longest interval"),
            (["--latency", "9", "--supervision-timeout", "500"], 64, "more than twice the longest interval"),
            (["--defaults", "--latency", "499"], 64, "more than twice the longest interval"),
            (["--scan-window", "10"], 64, "needs --defaults"), (["--defaults", "--phy", "2m"], 64, "--phy"),
            (["--defaults", "--phy", "1m,coded"], 76, "does not support LE Coded"), (["--phy", "1m,"], 64, "1m,"),
            (["--defaults", "--scan-window", "10"], 64, "must be given together"),
            (["--defaults", "--scan-window", "20", "--scan-interval", "10"], 64, "at most the interval"),
            (["--defaults", "--connect-timeout", "0"], 64, "1 to 65535"),
            (["--defaults", "--advertising-interval", "10-20"], 64, "20 to 10240"),
            (["--defaults", "-n", "Pulse-Z1"], 64, "not with -n or -a"),
            (["--defaults", "--security", "encrypted"], 64, "not with --security"),
            (["--defaults", "--coded"], 64, "not with --coded"), (["--defaults", "-i", "all"], 64, "Name it: -i hci0"),
            // What was given, and what it had to be.
            (["--interval", "16"], 64, "in steps of 1.25 ms, not 16 ms."),
            (["--interval", "7.5-15", "--latency", "499"], 64, "which is 15000 ms: not 5000 ms."),
            (["--supervision-timeout", "105"], 64, "in steps of 10 ms"),
            (["--coded", "--phy", "2m"], 64, "--coded and --phy select different PHYs"),
        ] as [([String], Int32, String)])
    func invalidArgumentsAreRejected(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("ble", ["params", "--simulate"] + arguments)
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
        #expect(ended.output == "")
    }

    @Test(arguments: ["read 2A19 --use throughput", "params --defaults"])
    func aStepCannotHaveSettingsOfAnother(_ step: String) async throws {
        let ended = try await run("ble", ["exec", "--simulate", step])
        #expect(ended.status == 64, "\(ended.messages)")
    }
}
