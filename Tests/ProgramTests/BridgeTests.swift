import ExampleSupport
import Glibc
import TestSupport
import Testing

/// `linble bridge` on the simulated radio, used like a serial port.
@Suite(.serialized) struct BridgeTests {
    /// Runs a bridge to the device that echoes, and stops it after `body`, which may block.
    static func bridge(
        _ arguments: @Sendable @escaping (_ folder: String) -> [String], environment: [(String, String)] = [],
        signal: Int32 = SIGTERM, exits status: Int32 = 0,
        _ body: @Sendable @escaping (RunningProgram, _ folder: String) throws -> Void
    ) async throws {
        try await withFolder { folder in
            let lines = try await onItsOwnThread {
                let program = try RunningProgram(
                    "linble", ["bridge", "--simulate", "--json", "-n", "LINBLE-ECHO"] + arguments(folder),
                    messages: "\(folder)/err", environment: environment)
                _ = try program.line(containing: "bridging")
                try body(program, folder)
                #expect(program.stop(signal) == status, "\(contents(of: "\(folder)/err"))")
                return program.lines
            }
            let schema = try Schema(named: "lines")
            for line in lines {
                let value = try #require(try? JSONValue(reading: Array(line.utf8)), "\(line)")
                #expect(schema.errors(in: value).isEmpty, "\(schema.errors(in: value)) in \(line)")
            }
        }
    }

    @Test func aProgramUsesThePseudoTerminal() async throws {
        let all = (0...255).map { UInt8($0) }
        try await Self.bridge { folder in
            ["--pty", "\(folder)/tty", "--mode", "0640", "--group", "\(getgid())", "--log", "\(folder)/log"]
        } _: { program, folder in
            // The first bytes wait for the link.
            for _ in 1...2 {
                let port = open("\(folder)/tty", O_RDWR | O_NOCTTY)
                try #require(port >= 0)
                defer { close(port) }
                #expect(write(port, all, all.count) == all.count)
                #expect(readDescriptor(port, count: all.count) == all)
            }
            var status = stat()
            #expect(stat("\(folder)/tty", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o640)
            #expect(status.st_gid == getgid())
            _ = try program.line(containing: #""event":"online","address":"C0:98:E5:12:34:57","profile":"LINBLE"#)
            #expect(program.stop() == 0)
            let counts = #""sent":512,"confirmed":"#
            #expect(program.lines.last?.contains(counts) == true, "\(program.lines)")
            #expect(program.lines.last?.hasSuffix(#""received":512,"unread":0}"#) == true, "\(program.lines)")
            #expect(lstat("\(folder)/tty", &status) == -1)
            let log = contents(of: "\(folder)/log").split(separator: "\n")
            #expect(log.first?.hasPrefix("# linble bridge log") == true)
            for word in ["Tx", "Rx"] {
                let parts = log.filter { $0.contains(" \(word) | ") }.compactMap { $0.split(separator: " ").last }
                #expect(parts.joined() == (all + all).hexadecimal)
            }
        }
    }

    /// A TCP connection to the address in the first line.
    static func connect(_ program: RunningProgram) throws -> Int32 {
        let line = try program.line(containing: "bridging")
        let port = try #require(line.firstMatch(of: /:(\d+)"}/)).1
        let isIPv6 = line.contains("[::1]")
        var (wanted, found) = (addrinfo(), UnsafeMutablePointer<addrinfo>?.none)
        wanted.ai_socktype = Int32(SOCK_STREAM.rawValue)
        try #require(getaddrinfo(isIPv6 ? "::1" : "127.0.0.1", String(port), &wanted, &found) == 0)
        defer { freeaddrinfo(found) }
        let address = try #require(found).pointee
        let descriptor = socket(address.ai_family, address.ai_socktype, 0)
        #expect(Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0)
        return descriptor
    }

    @Test(arguments: ["0", "[::1]:0"]) func oneTCPClientAtATimeUsesThePort(_ address: String) async throws {
        try await Self.bridge({ _ in ["--tcp", address] }) { program, _ in
            let first = try Self.connect(program)
            _ = try program.line(containing: "connected")
            let second = try Self.connect(program)
            #expect(readDescriptor(second) == [])
            close(second)
            _ = try program.line(containing: "refused")
            #expect(write(first, "hello", 5) == 5)
            // It still reads when it has closed its side.
            shutdown(first, Int32(SHUT_WR))
            #expect(readDescriptor(first, count: 5) == Array("hello".utf8))
            _ = try program.line(containing: "closed")
            // The next client takes its place.
            let third = try Self.connect(program)
            #expect(write(third, "again", 5) == 5)
            #expect(readDescriptor(third, count: 5) == Array("again".utf8))
            // And its connection ends.
            var end = pollfd(fd: first, events: Int16(POLLIN), revents: 0)
            #expect(poll(&end, 1, 20_000) == 1)
            #expect(readDescriptor(first) == [])
            for descriptor in [first, third] { close(descriptor) }
        }
    }

    @Test func bothPortsReceiveWhatEitherSends() async throws {
        try await Self.bridge({ ["--pty", "\($0)/tty", "--tcp", "127.0.0.1:0"] }, signal: SIGINT, exits: 130) {
            program, folder in
            let terminal = open("\(folder)/tty", O_RDWR | O_NOCTTY)
            let client = try Self.connect(program)
            defer { for descriptor in [terminal, client] { close(descriptor) } }
            for (writer, text) in [(client, "from the client"), (terminal, "from the terminal")] {
                #expect(write(writer, text, text.utf8.count) == text.utf8.count)
                for reader in [client, terminal] {
                    #expect(readDescriptor(reader, count: text.utf8.count) == Array(text.utf8))
                }
            }
        }
    }

    @Test func whatNoProgramReadsIsBoundedAndCounted() async throws {
        let size = 65_536
        try await Self.bridge({ ["--pty", "\($0)/tty", "--buffer", "1000"] }) { program, folder in
            let port = open("\(folder)/tty", O_RDWR | O_NOCTTY)
            try #require(port >= 0)
            defer { close(port) }
            #expect(write(port, [UInt8](repeating: 7, count: size), size) == size)
            _ = try program.line(containing: "unread")
            #expect(program.stop() == 0)
            let numbers = try #require(program.lines.last?.firstMatch(of: /"received":(\d+),"unread":(\d+)/))
            let (received, unread) = (try #require(Int(numbers.1)), try #require(Int(numbers.2)))
            // The kernel's buffers are bounded as well.
            #expect(unread > 0 && received - unread < 40_000, "\(program.lines)")
        }
    }

    @Test(arguments: [("buffer", #""buffered":5,"dropped":0"#), ("drop", #""buffered":0,"dropped":5"#)])
    func withoutALinkBytesWaitOrAreDropped(_ option: String, _ counts: String) async throws {
        try await Self.bridge({ _ in ["--tcp", "0", "-n", "absent", "--offline", option] }) { program, _ in
            _ = try program.line(containing: #""event":"waiting","for":"device""#)
            let client = try Self.connect(program)
            defer { close(client) }
            #expect(write(client, "hello", 5) == 5)
            shutdown(client, Int32(SHUT_WR))
            _ = try program.line(containing: "closed")
            #expect(program.stop() == 0)
            #expect(program.lines.last?.contains(counts) == true, "\(program.lines)")
        }
    }

    @Test(arguments: [["-n", "echo"], ["-n", "linble", "--pick", "strongest"]])
    func theDeviceIsChosenAsByOtherCommands(_ arguments: [String]) async throws {
        try await Self.bridge({ _ in ["--tcp", "0"] + arguments }) { program, _ in
            let address = arguments.contains("echo") ? "C0:98:E5:12:34:57" : "C0:98:E5:12:34:56"
            _ = try program.line(containing: #""event":"online","address":"\#(address)"#)
        }
    }

    @Test func anAbsentAdapterIsWaitedFor() async throws {
        try await withFolder { folder in
            try await onItsOwnThread {
                let program = try RunningProgram(
                    "linble", ["bridge", "--simulate", "--json", "-i", "hci7", "--pty", "\(folder)/tty"],
                    messages: "\(folder)/err")
                _ = try program.line(containing: #""event":"waiting","for":"adapter""#)
                // The port is there for programs that begin earlier.
                let port = open("\(folder)/tty", O_RDWR | O_NOCTTY)
                #expect(port >= 0)
                close(port)
                #expect(program.stop() == 0, "\(contents(of: "\(folder)/err"))")
                #expect(program.lines.count(where: { $0.contains("waiting") }) == 1, "\(program.lines)")
            }
        }
    }

    @Test(arguments: [false, true]) func aServiceManagerIsNotified(_ isAbstract: Bool) async throws {
        let path = "/tmp/notify-\(getpid())"
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer {
            close(socket)
            unlink(path)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = (isAbstract ? [0] : []) + Array(path.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, socklen_t(2 + name.count)) }
        }
        try #require(bound == 0)
        let environment = [("NOTIFY_SOCKET", isAbstract ? "@\(path)" : path), ("WATCHDOG_USEC", "200000")]
        try await Self.bridge({ ["--pty", "\($0)/tty"] }, environment: environment) { program, _ in
            var received: [String] = []
            func next(until text: String) {
                while received.last != text {
                    let bytes = readDescriptor(socket)
                    guard !bytes.isEmpty else {
                        Issue.record("no \(text) after \(received)")
                        return
                    }
                    received.append(String(decoding: bytes, as: UTF8.self))
                }
            }
            next(until: "READY=1")
            next(until: "STATUS=online with C0:98:E5:12:34:57")
            next(until: "WATCHDOG=1")
            next(until: "WATCHDOG=1")
            #expect(program.stop() == 0)
            next(until: "STOPPING=1")
        }
    }

    @Test(
        arguments: [
            ([], 64, "--pty"), (["--tcp", "x"], 64, "not 'x'"), (["--tcp", "70000"], 64, "--tcp"),
            (["--tcp", "::1:4000"], 64, "[::1]:4000"), (["--tcp", "0", "--mode", "0660"], 64, "--pty or --unix"),
            (["--tcp", "0", "--group", "root"], 64, "--pty"), (["--pty", "tty", "--mode", "888"], 64, "--mode"),
            (["--pty", "tty", "--group", "no such group"], 64, "no such group"),
            (["--tcp", "0", "--buffer", "0"], 64, "--buffer"), (["--tcp", "0", "--offline", "keep"], 64, "--offline"),
            (["--pty", "/tmp"], 73, "/tmp is a folder"),
            (["--tcp", "203.0.113.1:4000"], 74, "one of this machine"),
            (["--tcp", "0", "--log", "/nowhere/log"], 73, "/nowhere/log"),
            (["--tcp", "0", "--log", "/etc/hostname"], 73, "is not a linble bridge log"),
            (["--tcp", "0", "--log", "/dev/full"], 74, "No space left"),
            (["--tcp", "0", "--find-time", "1"], 64, "--find-time has no meaning for this command."),
            (["--tcp", "0", "-n", "linble"], 64, "2 devices match:\n  LINBLE-Z1"),
            (["--tcp", "0", "-n", "Pulse-Z1"], 76, "no LINBLE service"),
        ] as [([String], Int32, String)])
    func whatCannotBeIsAnError(_ arguments: [String], _ status: Int32, _ words: String) async throws {
        let ended = try await run("linble", ["bridge", "--simulate"] + arguments)
        #expect(ended.status == status)
        #expect(ended.messages.contains(words), "\(ended.messages)")
    }

    @Test func aPortInUseAndAnOpenOneAreNamed() async throws {
        try await Self.bridge({ _ in ["--tcp", "0"] }) { program, folder in
            let address = try #require(try program.line(containing: "bridging").firstMatch(of: /"tcp":"([^"]*)"/)).1
            let second = try RunningProgram(
                "linble", ["bridge", "--simulate", "--tcp", String(address)], messages: "\(folder)/second")
            #expect(second.join() == 74)
            #expect(contents(of: "\(folder)/second").contains("Cannot listen at \(address): Address already in use"))
        }
        let ended = try await run("linble", ["bridge", "--simulate", "--tcp", "0.0.0.0:0", "--for", "0.5"])
        #expect(ended.status == 0)
        #expect(ended.messages.contains("neither authenticated nor encrypted"), "\(ended.messages)")
    }
}
