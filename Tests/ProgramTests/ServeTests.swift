import Dispatch
import Glibc
import Testing

/// `linble serve` on the simulated radio.
@Suite(.serialized) struct ServeTests {
    @Test(
        arguments: [
            ([], "receives 68 65 6C 6C 6F  \"hello\"", "5 bytes received"),
            (["--mtu", "23"], "\"hello\"", "5 bytes received"),
            (["--sample"], "receives 0D 43 31 2E 32", "4 bytes received"),
            (["--profile", "nordic", "-n", "other"], "\"hello\"", "5 bytes received"),
            (
                ["-n", String(repeating: "n", count: 40)], "shortened to '\(String(repeating: "n", count: 29))'",
                "5 bytes received"
            ),
            (
                ["--service", "FFF5", "--write", "FFF6", "--notify", "FFF7", "--request", "-n", "own"], "\"hello\"",
                "5 bytes received"
            ),
        ] as [([String], String, String)])
    func aUARTIsServed(_ arguments: [String], _ answer: String, _ count: String) async throws {
        let ended = try await run("linble", ["serve", "--simulate", "--once", "--for", "60"] + arguments)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines.first?.contains("serves the") == true)
        let events = ended.lines.dropFirst().map(\.timeless)
        #expect(events.count == 3)
        #expect(events.first?.hasSuffix("connected") == true)
        #expect(events.last?.hasSuffix("offline  \(count)  remote") == true, "\(ended.output)")
        #expect(ended.messages.contains(answer), "\(ended.messages)")
    }

    @Test func theSecondMachineOfAPseudoTerminalPrintsWhatItSends() async throws {
        let ended = try await inShell("linble serve --simulate --pty $FOLDER/tty --for 3")
        #expect(ended.messages.contains("another machine sends 68 65 6C 6C 6F 0D 0A"), "\(ended.messages)")
    }

    @Test(arguments: [["--encrypted"], ["--security", "encrypted"]])
    func anEncryptedLinkIsServed(_ options: [String]) async throws {
        let ended = try await run("linble", ["serve", "--simulate", "--once", "--for", "60"] + options)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages.contains("\"hello\""), "\(ended.messages)")
    }

    @Test func eventsArePrintedInJSON() async throws {
        let ended = try await run("linble", ["serve", "--simulate", "--once", "--json", "-n", "own", "--for", "60"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(
            ended.output.contains(
                #""name":"own","service":"27ADC9CA-35EB-465A-9154-B8FF9076F3E8","wiring":"loopback","pty":null"#))
        #expect(ended.output.contains(#""event":"online""#))
        #expect(ended.output.contains(#""received":5,"reason":"remote""#))
    }

    @Test func ctrlCEndsIt() async throws {
        let ended = try await run("linble", ["serve", "--simulate", "--json"], signal: "INT")
        #expect(ended.status == 130)
        #expect(ended.output.contains(#""event":"serving""#))
    }

    @Test func aServiceManagerStopsIt() async throws {
        try await withFolder { folder in
            let ended = try await run(
                "linble", ["serve", "--simulate", "--pty", "\(folder)/tty"], signal: "TERM", after: "online")
            #expect(ended.status == 0, "\(ended.messages)")
            #expect(ended.messages.hasSuffix("linble serve: stopped\n"), "\(ended.messages)")
            #expect(ended.lines.last?.hasSuffix("bytes received  stopped") == true, "\(ended.output)")
        }
    }

    @Test(
        arguments: [
            (["--pty", "link", "--sample"], 64, "either --pty or --sample"), (["/tmp/link"], 64, "/tmp/link"),
            (["--pty"], 64, "--pty"), (["--pty", "link", "--loopback"], 64, "either --pty or --loopback"),
            (["--profile", "auto"], 64, "profile"),
            (["--security", "authenticated"], 64, "--passkey"),
            (["--security", "secure-connections", "--encrypted"], 64, "--passkey"),
            (["--pty", "/tmp"], 73, "/tmp"),
        ] as [([String], Int32, String)])
    func invalidArgumentsAreRejected(_ arguments: [String], _ status: Int32, _ words: String) async throws {
        let ended = try await run("linble", ["serve", "--simulate", "--for", "1"] + arguments)
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
    }

    /// Reads up to `count` bytes from the pseudo terminal within ten seconds.
    private static func read(_ count: Int, from descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while bytes.count < count, Glibc.poll(&poll, 1, 10_000) == 1 {
            let read = Glibc.read(descriptor, &block, block.count)
            guard read > 0 else { break }
            bytes += block[..<read]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Uses the pseudo terminal like a program that opens it twice.
    private static func useTerminal(_ link: String) -> [String] {
        // Until it exists.
        for _ in 0..<1200 where access(link, F_OK) != 0 { usleep(50_000) }
        return ["", "a line\r\n"].map { line in
            let descriptor = open(link, O_RDWR | O_NOCTTY)
            guard descriptor >= 0 else { return "not opened" }
            defer { close(descriptor) }
            guard !line.isEmpty else { return read(7, from: descriptor) }
            _ = write(descriptor, line, line.utf8.count)
            return read(line.utf8.count, from: descriptor)
        }
    }

    @Test func aProgramUsesThePseudoTerminal() async throws {
        let link = "/tmp/linble-\(getpid())"
        unlink(link)
        // A stale link, which is replaced.
        #expect(symlink("/dev/pts/4000000", link) == 0)
        async let using = withCheckedContinuation { continuation in
            DispatchQueue(label: "terminal").async { continuation.resume(returning: Self.useTerminal(link)) }
        }
        let ended = try await run("linble", ["serve", "--simulate", "--pty", link, "--for", "8"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(await using == ["hello\r\n", "a line\r\n"])
        #expect(ended.lines.first?.hasSuffix(": \(link)") == true)
        #expect(ended.messages.contains("echoes 61 20 6C 69 6E 65 0D 0A"), "\(ended.messages)")
        // The program removes its link.
        var left = stat()
        #expect(lstat(link, &left) == -1)
    }
}
