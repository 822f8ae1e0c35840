import Testing

@testable import ExampleSupport

/// The completion scripts, sourced by bash as it does after the first Tab.
@Suite struct CompletionTests {
    /// What bash offers for a command line.
    private static func offered(for line: String, in folder: String = "$FOLDER") async throws -> [String] {
        let script = """
            cd "\(folder)"
            touch lamp.json notes.txt
            export line='\(line)'
            bash -c '
                program=${line%% *}
                source <($program --generate-completion-script bash)
                read -ra COMP_WORDS <<<"$line"
                [[ "$line" != *" " ]] || COMP_WORDS+=("")
                COMP_LINE=$line COMP_POINT=${#line} COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
                "_$program" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf "%s\\n" "${COMPREPLY[@]}"
            '
            """
        let ended = try await inShell(script)
        #expect(ended.status == 0 && ended.messages.isEmpty, "\(ended.messages)")
        return ended.lines.filter { !$0.isEmpty }
    }

    @Test(arguments: [
        ("ble sc", ["scan"]), ("ble bonds rem", ["remove"]), ("ble scan --simulate -i ", ["hci0"]),
        ("ble serve ", ["battery", "bench", "firmware", "heart-rate", "keyboard", "lamp.json"]),
        ("ble scan --trace no", ["notes.txt"]),
        ("ble params --phy ", ["1m", "2m", "coded"]), ("ble params --use l", ["low-power"]),
        ("ble advertise --extended c", ["coded"]),
        ("ble scan -n ", []), ("ble read --format u3", ["u32"]),
        ("ble read battery-l", ["battery-level"]), ("ble notify heart-rate-mea", ["heart-rate-measurement"]),
        ("ble write alert-l", ["alert-level"]), ("ble scan --sort s", ["seen"]),
        ("ble scan --service heart-r", ["heart-rate"]), ("ble scan --manufacturer app", ["apple"]),
        ("linble serve --profile nor", ["nordic"]), ("linble send l", ["lamp.json"]),
    ])
    func bashOffers(_ line: String, _ words: [String]) async throws {
        #expect(try await Self.offered(for: line).sorted() == words)
    }

    @Test(arguments: ["ble", "linble"], ["bash", "zsh", "fish"])
    func aScriptIsPrintedForEachShell(_ program: String, _ shell: String) async throws {
        let ended = try await run(program, ["--generate-completion-script", shell])
        #expect(ended.status == 0 && ended.messages.isEmpty)
        #expect(ended.output.contains("_\(program)"))
    }

    @Test func adaptersAreOfferedWithoutTheirLinks() async throws {
        try await withFolder { folder in
            #expect(await ProgramTests.shell("cd \(folder) && mkdir hci10 hci2 hci0 hci0:64 other") == 0)
            #expect(adapterNames(in: folder) == ["hci0", "hci2", "hci10"])
            #expect(adapterNames(in: "\(folder)/missing").isEmpty)
        }
    }

    @Test func filesAreOfferedInTheirDirectory() async throws {
        try await withFolder { folder in
            #expect(await ProgramTests.shell("cd \(folder) && touch b.json a.json .hidden.json a.txt") == 0)
            let all = fileNames(beginningWith: "\(folder)/a", endingIn: ".json")
            #expect(all == ["\(folder)/a.json", "\(folder)/b.json"])
            #expect(fileNames(beginningWith: "\(folder)/missing/", endingIn: ".json").isEmpty)
        }
    }
}
