import Glibc
import Testing

/// `ble advertise` and `ble serve` on the simulated radio.
@Suite(.serialized) struct PeripheralTests {
    @Test func anAdvertisementIsPrintedAndReceived() async throws {
        let ended = try await run(
            "ble",
            [
                "advertise", "--simulate", "-n", "hello", "--service", "180D", "--manufacturer", "004C:0102", "--for",
                "2",
            ])
        #expect(ended.status == 0)
        #expect(ended.lines.count == 2)
        #expect(ended.lines.first?.hasSuffix("advertises") == true)
        #expect(ended.lines.last?.hasPrefix("  advertisement, 17 bytes:") == true, "\(ended.output)")
        #expect(ended.messages.contains("another machine received: hello"))
    }

    @Test func ctrlCEndsIt() async throws {
        let ended = try await run("ble", ["advertise", "--simulate", "--json", "-n", "hello"], signal: "INT")
        #expect(ended.status == 130)
        #expect(ended.output.contains(#""event":"advertising""#))
        #expect(ended.output.contains(#""advertising":"060968656C6C6F","scanResponse":"","leftOut":[]"#))
    }

    @Test(arguments: [["advertise", "-n", "hello"], ["serve", "battery"]])
    func aServiceManagerStopsIt(_ arguments: [String]) async throws {
        let ended = try await run("ble", arguments + ["--simulate"], signal: "TERM")
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages.hasSuffix("ble \(arguments[0]): stopped\n"), "\(ended.messages)")
    }

    @Test func foreignAdvertisementsAreRemoved() async throws {
        // The simulated radio has no foreign advertisements; Tests/Kernel has the test on the real kernel.
        let ended = try await run("ble", ["advertise", "--simulate", "--clear"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output == "hci0: 0 advertisements removed\n")
    }

    @Test func aNegativePowerIsAccepted() async throws {
        let ended = try await run("ble", ["advertise", "--simulate", "-n", "hello", "--power", "-10", "--for", "1"])
        #expect(ended.status == 0, "\(ended.messages)")
    }

    @Test func beaconsAreNotConnectable() async throws {
        let iBeacon = "00112233-4455-6677-8899-AABBCCDDEEFF,1,2,-59"
        for arguments in [["--ibeacon", iBeacon], ["--eddystone-url", "https://swift.org/"]] {
            let ended = try await run("ble", ["advertise", "--simulate", "--for", "1"] + arguments)
            #expect(ended.status == 0, "\(ended.messages)")
            #expect(ended.lines.count == 2)
        }
    }

    @Test(
        arguments: [
            (["--service", "xyz"], 64, "xyz"), (["--manufacturer", "4C:0"], 64, "4C:0"),
            (["--clear", "-n", "x"], 64, "--clear"), (["--interval", "5"], 64, "'5'"),
            (["--extended", "3m"], 64, "3m"), (["--power", "99"], 64, "dBm"),
            (["--ibeacon", "1"], 64, "UUID,MAJOR"), (["--eddystone-url", "ftp://x"], 64, "http://"),
            (["--manufacturer", "004C:" + String(repeating: "00", count: 40)], 64, "Manufacturer"),
        ] as [([String], Int32, String)])
    func invalidArgumentsAreRejected(arguments: [String], status: Int32, words: String) async throws {
        let ended = try await run("ble", ["advertise", "--simulate", "--for", "1"] + arguments)
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
    }

    @Test(arguments: [("battery", "2A19", "read"), ("heart-rate", "2A37", "subscribed")])
    func aProfileIsServed(_ profile: String, _ uuid: String, _ event: String) async throws {
        let ended = try await run("ble", ["serve", profile, "--simulate", "--once", "--for", "60"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines.first?.contains("serves") == true)
        let events = ended.lines.dropFirst().map(\.timeless)
        #expect(events.first?.hasSuffix("connected") == true)
        #expect(events.contains { $0.contains("\(event)  \(uuid)") }, "\(ended.output)")
        #expect(events.last?.hasSuffix("disconnected  remote") == true)
        #expect(ended.messages.contains("receives \(uuid)"))
    }

    @Test(arguments: ["battery", "bench"]) func aLongNameIsShortened(_ profile: String) async throws {
        let arguments = [
            "serve", profile, "--simulate", "--once", "--for", "60", "-n", String(repeating: "n", count: 40),
        ]
        let ended = try await run("ble", arguments)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages.contains("shortened to '\(String(repeating: "n", count: 29))'"), "\(ended.messages)")
        #expect(ended.lines.last?.hasSuffix("disconnected  remote") == true, "\(ended.output)")
    }

    @Test func aDescribedDeviceIsServed() async throws {
        let path = "/tmp/device-\(getpid()).json"
        defer { unlink(path) }
        let file = try #require(fopen(path, "w"))
        fputs(
            #"{"name": "N\u00f8te", "services": [{"uuid": "FFF0", "characteristics": ["#
                + #"{"uuid": "FFF1", "properties": ["read", "write", "notify"], "text": "hello", "description": "a note"}]}]}"#,
            file)
        fclose(file)
        let ended = try await run("ble", ["serve", path, "--simulate", "--once", "--json", "--for", "60"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains(#""name":"Nøte","services":["FFF0"]"#))
        #expect(ended.output.contains(#""event":"read""#))
        #expect(ended.output.contains(#""event":"write""#))
        #expect(ended.messages.contains("reads FFF1: 68 65 6C 6C 6F  \"hello\""))
    }

    @Test(
        arguments: [
            ("{", 65, "line 1"), ("{\"name\":\"a\"}", 65, "no services"),
            (
                #"{"services":[{"uuid":"180F","characteristics":[{"uuid":"2A19","value":"x"}]}]}"#, 65,
                "characteristics[0].value"
            ),
        ] as [(String, Int32, String)])
    func anInvalidDescriptionIsRejected(_ text: String, _ status: Int32, _ words: String) async throws {
        let path = "/tmp/bad-\(getpid()).json"
        defer { unlink(path) }
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
        let ended = try await run("ble", ["serve", path, "--simulate", "--for", "1"])
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
    }

    @Test func aMissingFileIsReported() async throws {
        let ended = try await run("ble", ["serve", "/nowhere.json", "--simulate"])
        #expect(ended.status == 66)
        #expect(ended.messages.contains("/nowhere.json"))
    }
}
