import Testing

/// `ble bonds` on the simulated radio.
@Suite(.serialized) struct BondsTests {
    private let device = "C0:98:E5:12:34:60"

    @Test func bondsAreListed() async throws {
        for arguments in [["bonds", "list", "--simulate"], ["bonds", "--simulate"]] {
            let ended = try await run("ble", arguments)
            #expect(ended.status == 0)
            #expect(
                ended.output == """
                    ADDRESS            TYPE    NAME       PAIRED                ADAPTER            PROTECTION
                    C0:98:E5:12:34:60  random  Door lock  2026-09-21T14:13:20Z  00:AA:01:00:00:01  Secure Connections, authenticated

                    """)
        }
    }

    @Test func aBondIsShownWithoutItsKeys() async throws {
        for options in [[], ["--json"]] {
            let ended = try await run("ble", ["bonds", "show", device, "--simulate", "-vv"] + options)
            #expect(ended.status == 0)
            #expect(ended.output.contains("Door lock"))
            // The keys' bytes, in every notation of bytes.
            for text in [ended.output, ended.messages] {
                for byte in ["5E", "1D"] {
                    for separator in ["", " ", ":", ", 0x", "-"] {
                        let bytes = [String](repeating: byte, count: 3).joined(separator: separator)
                        #expect(!text.uppercased().contains(bytes), "a key was printed")
                    }
                }
                #expect(!text.contains("94, 94, 94") && !text.contains("29, 29, 29"), "a key was printed")
            }
        }
        let shown = try await run("ble", ["bonds", "show", device, "--simulate"])
        #expect(
            shown.output == """
                device         C0:98:E5:12:34:60 (random)
                name           Door lock
                adapter        00:AA:01:00:00:01
                paired         2026-09-21T14:13:20Z
                protection     Secure Connections, authenticated
                key size       16 bytes
                addresses      private addresses are resolved

                """)
    }

    @Test func aBondIsRemoved() async throws {
        let ended = try await run("ble", ["bonds", "remove", device, "--simulate"])
        #expect(ended.status == 0)
        #expect(ended.output == "removed \(device)\n")
        let json = try await run("ble", ["bonds", "remove", device, "--simulate", "--json"])
        #expect(
            json.output.timeless
                == #"{"t":"TIME","event":"removed","address":"C0:98:E5:12:34:60","adapter":"00:AA:01:00:00:01"}"# + "\n"
        )
    }

    @Test(arguments: ["bonds list", "read 2A19", "pair", "scan", "exec 'read 2A19'"])
    func aFolderThatCannotBeUsedIsSaidOnce(_ command: String) async throws {
        let ended = try await inShell("touch $FOLDER/file; ble \(command) --simulate --bonds $FOLDER/file")
        #expect(ended.status == 64)
        #expect(ended.messages.hasSuffix("/file is not a folder.\n"), "\(ended.messages)")
        #expect(ended.messages.contains(": read the bonds: /tmp/"), "\(ended.messages)")
        #expect(ended.messages.split(separator: "\n").count == 1, "\(ended.messages)")
    }

    @Test(
        arguments: [
            (["show", "C0:98:E5:12:34:61"], 68, "no bond"), (["remove", "C0:98:E5:12:34:61"], 68, "no bond"),
            (["show", "lock"], 64, "'lock'"),
            (["show", "C0:98:E5:12:34:60", "--address-type", "public"], 68, "no bond"),
            (["list", "-i", "hci7"], 69, "no such adapter"),
        ] as [([String], Int32, String)])
    func whatIsNotThereIsSaid(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("ble", ["bonds"] + arguments + ["--simulate"])
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
        #expect(ended.output == "")
    }
}
