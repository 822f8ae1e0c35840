import Testing

/// `ble pair` and protected values, on the simulated radio.
@Suite(.serialized) struct PairTests {
    /// Out-of-band data of the simulated machine itself.
    static let data =
        "BLE-OOB:081B01000001AA0000021C0211" + "2211BF08556E8123C2206FEB1E36BB77B511"
        + "23305FAD6349CBE96E0F318842F6DC6370"
    static let secret = "CA010005-1234-5678-9ABC-DEF012345678"

    @Test func pairingCreatesABond() async throws {
        let ended = try await run("ble", ["pair", "--simulate"])
        #expect(ended.status == 0)
        #expect(ended.output == "paired with C0:98:E5:12:34:58: encrypted, 16-byte key, bonded\n")
    }

    @Test func aPasskeyAuthenticatesTheLink() async throws {
        let ended = try await run(
            "ble", ["pair", "--simulate", "--json", "--passkey", "123456", "--security", "secure-connections"])
        #expect(ended.status == 0)
        #expect(ended.output.contains(#""security":"secure-connections","keySize":16,"bonded":true"#))
        #expect(ended.output.contains(#""address":"C0:98:E5:12:34:58","addressType":"random""#))
    }

    @Test func aWrongPasskeyIsReported() async throws {
        let ended = try await run("ble", ["pair", "--simulate", "--passkey", "654321"])
        #expect(ended.status == 76)
        #expect(ended.messages.contains("the number was wrong"), "\(ended.messages)")
        #expect(!ended.messages.contains("654321"))
    }

    /// Arguments are visible to every user of the machine, a file or a pipe is not.
    @Test(arguments: [("$FOLDER/pin", "/dev/null"), ("-", "$FOLDER/pin"), ("/dev/stdin", "$FOLDER/pin")])
    func aPasskeyIsReadFromAFile(_ argument: String, _ input: String) async throws {
        let ended = try await inShell(
            """
            printf ' 123456\\n' >$FOLDER/pin
            ble pair --simulate --passkey \(argument) <\(input)
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains(": secure-connections, 16-byte key"), "\(ended.output)")
    }

    @Test(
        arguments: [
            ("12345x", 65, "$FOLDER/pin"), ("1234", 65, "$FOLDER/pin"), ("", 65, "$FOLDER/pin"),
            ("1234567", 65, "$FOLDER/pin"),
            ("123456", 64, "$FOLDER/absent"), ("xyzzy", 65, "-"),
        ] as [(String, Int32, String)])
    func aFileWithoutAPasskeyIsAnErrorBeforeTheSearch(_ text: String, _ status: Int32, _ argument: String) async throws
    {
        let ended = try await inShell(
            """
            printf '%s' '\(text)' >$FOLDER/pin
            ble read 2A19 --simulate -n absent --passkey \(argument) <$FOLDER/pin
            """)
        #expect(ended.status == status, "\(ended.messages)")
        #expect(ended.messages.contains("six digits"), "\(ended.messages)")
        #expect(text.isEmpty || !ended.messages.contains(text), "\(ended.messages)")
    }

    @Test func outOfBandDataAreReadFromStandardInput() async throws {
        let ended = try await inShell("echo '\(Self.data)' | ble pair --simulate --oob -")
        #expect(ended.status == 64)
        #expect(ended.messages.contains("this machine's own adapter, hci0"), "\(ended.messages)")
    }

    @Test(arguments: [("00112233445566778899aabbccddeeff", 68, "No device"), ("001122", 65, "Standard input: ")])
    func aKeyIsReadFromStandardInput(_ key: String, _ status: Int32, _ words: String) async throws {
        let ended = try await inShell("echo '\(key)' | ble read 2A19 --simulate --irk - --find-time 0.5")
        #expect(ended.status == status, "\(ended.messages)")
        #expect(ended.messages.contains(words), "\(ended.messages)")
        #expect(!ended.messages.contains(key), "\(ended.messages)")
    }

    /// LINBLE-ECHO cannot show a number: the passkey would never be asked for.
    @Test(
        arguments: [
            ["pair"], ["pair", "--security", "encrypted"], ["read", "2A00"],
            ["read", "2A00", "--security", "encrypted"],
        ])
    func withAPasskeyNothingIsPairedByJustWorks(_ arguments: [String]) async throws {
        try await withFolder { folder in
            let device = ["--simulate", "-n", "LINBLE-ECHO", "--passkey", "123456", "--bonds", "\(folder)/bonds"]
            let ended = try await run("ble", arguments + device)
            #expect(ended.status == 76, "\(ended.output)")
            #expect(ended.messages.contains("If it cannot show one"), "\(ended.messages)")
            #expect(ended.messages.contains("--just-works"), "\(ended.messages)")
            let bonds = try await run("ble", ["bonds", "--simulate", "--bonds", "\(folder)/bonds", "--json"])
            #expect(bonds.status == 0, "\(bonds.messages)")
            #expect(!bonds.output.contains("C0:98:E5:12:34:57"), "\(bonds.output)")
            let allowed = try await run("ble", arguments + device + ["--just-works"])
            #expect(allowed.status == 0, "\(allowed.messages)")
        }
    }

    @Test(arguments: [["--security", "encrypted"], ["--passkey", "123456"]])
    func aProtectedValueIsReadAfterPairing(_ options: [String]) async throws {
        let ended = try await run("ble", ["read", "--simulate", "--format", "text", Self.secret] + options)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output == "secret\n")
    }

    @Test func aUserIsAskedToPairForAProtectedValue() async throws {
        let ended = try await run(
            "ble", ["read", "--simulate", "--format", "text", Self.secret],
            answers: [("Pair with .* \\[y/N]", "y"), ("The number that .* shows:", "123456")])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output == "secret\n")
    }

    @Test func exploringAsksNothing() async throws {
        let ended = try await run("ble", ["explore", "--simulate"], answers: [("Pair with .* \\[y/N]", "y")])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages == "")
        #expect(ended.output == ExploreTests.tree)
        let paired = try await run("ble", ["explore", "--simulate", "--pair"])
        #expect(paired.status == 0, "\(paired.messages)")
        #expect(
            paired.output
                == ExploreTests.tree.replacing("(requires pairing: --pair)", with: "= 73 65 63 72 65 74  \"secret\""))
        // The steps after it ask again.
        let steps = try await run(
            "ble", ["exec", "--simulate", "explore; read --format text \(Self.secret)"],
            answers: [("Pair with .* \\[y/N]", "y"), ("The number that .* shows:", "123456")])
        #expect(steps.status == 0, "\(steps.messages)")
        #expect(steps.output == ExploreTests.tree + "secret\n")
    }

    @Test func aUserWhoDeclinesGetsTheCommand() async throws {
        let ended = try await run(
            "ble", ["read", "--simulate", "--format", "text", Self.secret], answers: [("Pair with .* \\[y/N]", "n")])
        #expect(ended.status == 76)
        #expect(ended.messages.hasSuffix("ble read --simulate --format text \(Self.secret) --security encrypted\n"))
    }

    /// What it names is the whole command, which works: a simulated device loses its bonds with the process.
    @Test(arguments: ["", "-n Pulse-Z1 -i hci0", "-a C0:98:E5:12:34:58", "--bonds \"$FOLDER/no bonds\""])
    func withoutAUserTheErrorNamesTheCommandThatPairs(_ options: String) async throws {
        let ended = try await inShell(
            """
            ble read \(Self.secret) --simulate --format text \(options) 2>$FOLDER/messages; echo $?
            eval "$(sed -n 's/^Pair from this command: //p' $FOLDER/messages)"
            """)
        #expect(ended.output == "76\nsecret\n", "\(ended.messages)")
        #expect(ended.messages == "")
    }

    @Test func aStepIsPairedByAStep() async throws {
        let ended = try await run("ble", ["exec", "--simulate", "read \(Self.secret)"])
        #expect(ended.status == 76)
        #expect(ended.messages.hasSuffix("\nPair with the step: pair\n"), "\(ended.messages)")
        let paired = try await run("ble", ["exec", "--simulate", "pair; read --format text \(Self.secret)"])
        #expect(paired.output.hasSuffix("secret\n"), "\(paired.messages)")
    }

    @Test(arguments: [["explore"], ["explore", "--pair"], ["read", "2A19"], ["pair"]])
    func withoutAUserNothingIsAuthenticated(_ command: [String]) async throws {
        let ended = try await run("ble", command + ["--simulate", "--security", "authenticated"])
        #expect(ended.status == 76)
        #expect(ended.messages.contains("run this command in a terminal, or give the passkey"), "\(ended.messages)")
    }

    @Test(
        arguments: [
            (["pair", "--simulate", "--passkey", "1234567"], 64, "--passkey takes six digits"),
            (["read", "--simulate", "-n", "absent", "--passkey", "12", "2A00"], 64, "--passkey takes six digits"),
            (["exec", "--simulate", "read 2A00; pair --passkey 12"], 64, "--passkey takes six digits"),
            (["pair", "--simulate", "--passkey", "/nowhere"], 64, "six digits or a file, and there is no such file"),
            (["pair", "--simulate", "--just-works"], 64, "goes with --passkey"),
            (
                ["pair", "--simulate", "--passkey", "1", "--just-works", "--security", "authenticated"], 64,
                "authenticates nobody"
            ),
            (["exec", "--simulate", "pair --passkey -"], 64, "--passkey - has no meaning for a step"),
            (["exec", "--simulate", "connect --irk -"], 64, "--irk - has no meaning for a step"),
            (["pair", "--simulate", "nonsense", "--find-time", "0.5"], 68, "No device named 'nonsense'"),
            (["pair", "--simulate", "--security", "high"], 64, "secure-connections"),
            (["pair", "--simulate", "--security", "low"], 64, "protects the link"),
            (["pair", "--simulate", "--security", "authenticated"], 76, "--passkey"),
            (["pair", "--simulate", "--security", "authenticated"], 76, "requested security level"),
            (["pair", "--simulate", ""], 64, "not an empty text"),
            (["pair", "--simulate", "-a", "00:AA:01:00:00:01"], 64, "this machine's own adapter, hci0"),
            (["pair", "--simulate", "--oob", Self.data, "--passkey", "123456"], 64, "either --oob or --passkey"),
            (["pair", "--simulate", "--oob", Self.data], 64, "this machine's own adapter, hci0"),
            (
                ["pair", "--simulate", "--oob", Self.data, "Pulse-Z1"], 64,
                "belongs to another device, 00:AA:01:00:00:01"
            ),
            (["pair", "--simulate", "--oob", "BLE-OOB:00"], 64, "for another machine with ble: ble oob"),
            (["pair", "--simulate", "--oob", "/tmp"], 66, "/tmp: it is a folder."),
            (["oob", "--simulate", "--privacy", "on"], 64, "--privacy off"),
        ] as [([String], Int32, String)])
    func invalidArgumentsAreRejected(_ arguments: [String], _ status: Int32, _ words: String) async throws {
        let ended = try await run("ble", arguments)
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
    }
}
