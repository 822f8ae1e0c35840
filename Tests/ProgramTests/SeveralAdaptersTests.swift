import Testing

/// The programs on several adapters as one: `-i hci0,hci1` and `-i all`.
@Suite(.serialized) struct SeveralAdaptersTests {
    /// Two adapters, of which the first receives no advertisement, and a device.
    private static let world = """
        {"adapters": [{"events": [{"event": "hearsNothing"}]}, {}],
         "devices": [{"name": "Pulse", "services": [{"uuid": "180F", "characteristics": [
            {"uuid": "2A19", "properties": ["read", "notify"], "value": "57"}]}]}]}
        """

    private static func run(_ program: String, _ arguments: [String]) async throws -> Ended {
        try await withFolder { folder in
            #expect(await shell("printf '%s' '\(world)' >\(folder)/world.json") == 0)
            return try await ProgramTests.run(program, arguments + ["--world", "\(folder)/world.json"])
        }
    }

    @Test(
        arguments: [
            ["read", "2A19", "-i", "hci0,hci1"], ["explore", "-i", "all"], ["rssi", "-i", "hci1,hci0"],
        ])
    func theAdapterThatReceivesTheDeviceConnects(_ arguments: [String]) async throws {
        let ended = try await Self.run("ble", arguments + ["-n", "Pulse", "-v"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages.contains("connected by hci1, ATT_MTU"), "\(ended.messages)")
    }

    @Test func aUARTIsOpenedByOneOfThem() async throws {
        let ended = try await ProgramTests.run("linble", ["exchange", "-i", "all", "--simulate", "0100"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains("Rx | "), "\(ended.output)")
    }

    @Test(
        arguments: [
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,hci0"], 64, "--adapter names hci0 twice."),
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,0"], 64, "--adapter names 0 twice."),
            (
                ["read", "-n", "Pulse", "2A19", "-i", "hci0,00:AA:01:00:00:01"], 64,
                "hci0 twice: hci0 and 00:AA:01:00:00:01"
            ),
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,hci7"], 69, "hci7"),
            (["read", "-n", "Pulse", "2A19", "-i", "hci0,"], 64, "--adapter takes hci0"),
            (["scan", "-i", "hci0,hci7"], 69, "hci7"),
            (["pair", "-n", "Pulse", "-i", "hci0,hci1"], 64, "This command uses one adapter."),
            (["exec", "-i", "all", "-n", "Pulse", "rssi"], 64, "This command uses one adapter."),
            (["serve", "battery", "-i", "all"], 64, "This command uses one adapter."),
            (["advertise", "-i", "hci0,hci1"], 64, "This command uses one adapter."),
        ] as [([String], Int32, String)])
    func wrongAdaptersAreAnError(_ arguments: [String], _ status: Int32, _ message: String) async throws {
        let ended = try await Self.run("ble", arguments)
        #expect(ended.status == status, "\(ended.messages)")
        #expect(ended.output.isEmpty, "\(ended.output)")
        #expect(ended.messages.contains(message), "\(ended.messages)")
    }
}
