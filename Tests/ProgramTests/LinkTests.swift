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

    @Test func theParametersArePrinted() async throws {
        let ended = try await run("ble", ["params", "--simulate"])
        #expect(ended.status == 0)
        #expect(
            ended.output == """
                ATT_MTU      517 bytes
                parameters   interval 30 ms, latency 0, supervision time-out 420 ms
                PHYs         transmit LE 1M, receive LE 1M
                data length  unknown

                """)
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
                + "\n")
    }

    @Test(
        arguments: [
            (["--interval", "5000"], 64, "7.5 ms to 4 s"), (["--interval", "30-15"], 64, "30-15"),
            (["--interval", "x"], 64, "such as 15 or 15-30"), (["--phy", "4m"], 64, "4m"),
            (["--phy", "coded"], 76, "unchanged"), (["--coded"], 76, "does not support LE Coded"),
            (["--data-length", "1000"], 64, "27 to 251"), (["--latency", "500"], 64, "499"),
        ] as [([String], Int32, String)])
    func invalidArgumentsAreRejected(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("ble", ["params", "--simulate"] + arguments)
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
        #expect(ended.output == "")
    }
}
