import ExampleSupport
import Glibc
import TestSupport
import Testing

/// Who may use the sockets of `linble bridge`: no web browser, and those whom the mode of a UNIX socket permits.
@Suite(.serialized) struct BridgeClientTests {
    private static func write(_ text: String, to descriptor: Int32) {
        #expect(Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count)
    }

    /// In pieces, the first of which may still be anything.
    @Test(
        arguments: [
            ["GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"], ["POST /x HTTP/1.1\r\n\r\nsecret"],
            ["OPTIONS * HTTP/1.1\r\n"],
            ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], ["HEAD /"], ["P", "A", "TCH ", "/"], ["DELET", "E /x"],
            ["\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}"],
        ])
    func noByteOfABrowserReachesTheDevice(_ pieces: [String]) async throws {
        try await BridgeTests.bridge({ ["--tcp", "0", "--log", "\($0)/log"] }) { program, folder in
            _ = try program.line(containing: "online")
            let browser = try BridgeTests.connect(program)
            _ = try program.line(containing: "connected")
            for piece in pieces {
                Self.write(piece, to: browser)
                usleep(100_000)
            }
            let line = try program.line(containing: "refused")
            #expect(line.contains(#""state":"refused","reason":"it is a web browser""#), "\(line)")
            #expect(readDescriptor(browser) == [])
            close(browser)
            // Its place is free.
            let client = try BridgeTests.connect(program)
            defer { close(client) }
            Self.write("hello", to: client)
            #expect(readDescriptor(client, count: 5) == Array("hello".utf8))
            #expect(program.stop() == 0)
            #expect(program.lines.last?.contains(#""sent":5,"#) == true, "\(program.lines)")
            let log = contents(of: "\(folder)/log").split(separator: "\n").dropFirst()
            #expect(log.filter { $0.contains(" Tx | ") }.map { $0.suffix(10) } == ["68656C6C6F"], "\(log)")
        }
    }

    /// Also those that begin like a request, the letters of which come one by one, or that send a single letter.
    @Test(
        arguments: [
            ["GETTING /"], ["get / HTTP/1.1"], ["G", "O", "\r"], ["P"], ["POST"], ["GET x"], ["\u{16}\u{3}\u{1}"],
            ["/GET /"],
        ])
    func otherClientsLoseNothing(_ pieces: [String]) async throws {
        try await BridgeTests.bridge({ _ in ["--tcp", "0"] }) { program, _ in
            _ = try program.line(containing: "online")
            let client = try BridgeTests.connect(program)
            defer { close(client) }
            for piece in pieces {
                Self.write(piece, to: client)
                usleep(100_000)
            }
            let all = Array(pieces.joined().utf8)
            #expect(readDescriptor(client, count: all.count) == all)
            // Only the first bytes decide.
            Self.write("GET / HTTP/1.1", to: client)
            #expect(readDescriptor(client, count: 14) == Array("GET / HTTP/1.1".utf8))
        }
    }

    @Test func whatAClientSendsBeforeItClosesItsSideIsPassedOn() async throws {
        try await BridgeTests.bridge({ _ in ["--tcp", "0"] }) { program, _ in
            let client = try BridgeTests.connect(program)
            defer { close(client) }
            Self.write("GET ", to: client)
            shutdown(client, Int32(SHUT_WR))
            #expect(readDescriptor(client, count: 4) == Array("GET ".utf8))
        }
    }

    // MARK: UNIX sockets

    private static func connect(to path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let address = unixAddress(path)
        let status = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(status == 0)
        return descriptor
    }

    private static func unixAddress(_ path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return address
    }

    private static func kindAndMode(of path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode : nil
    }

    @Test(
        arguments: [([], 0o600), (["--mode", "660"], 0o660), (["--group", "\(getgid())"], 0o660)]
            as [([String], mode_t)])
    func aProgramUsesTheSocket(_ options: [String], _ mode: mode_t) async throws {
        try await BridgeTests.bridge({ ["--unix", "\($0)/socket"] + options }) { program, folder in
            let path = "\(folder)/socket"
            #expect(try program.line(containing: "bridging").contains(#""unix":"\#(path)","tcp":null"#))
            #expect(Self.kindAndMode(of: path) == S_IFSOCK | mode)
            let client = Self.connect(to: path)
            defer { close(client) }
            // No browser comes here.
            Self.write("GET / ", to: client)
            #expect(readDescriptor(client, count: 6) == Array("GET / ".utf8))
            let second = Self.connect(to: path)
            #expect(readDescriptor(second) == [])
            close(second)
            _ = try program.line(containing: #""state":"refused","reason":"another client uses the port""#)
            #expect(program.stop() == 0)
            for left in [path, "\(path).lock"] { #expect(Self.kindAndMode(of: left) == nil) }
        }
    }

    @Test func theSocketsHaveOneClientTogether() async throws {
        try await BridgeTests.bridge({ ["--unix", "\($0)/socket", "--tcp", "0"] }) { program, folder in
            let first = try BridgeTests.connect(program)
            _ = try program.line(containing: "connected")
            let second = Self.connect(to: "\(folder)/socket")
            #expect(readDescriptor(second) == [])
            for descriptor in [first, second] { close(descriptor) }
        }
    }

    @Test func aSocketInUseIsRefusedAndAStaleOneReplaced() async throws {
        try await BridgeTests.bridge({ ["--unix", "\($0)/socket"] }) { program, folder in
            let path = "\(folder)/socket"
            let second = try RunningProgram(
                "linble", ["bridge", "--simulate", "--unix", path], messages: "\(folder)/second")
            #expect(second.join() == 74)
            #expect(contents(of: "\(folder)/second").contains("\(path) is in use by PID "))
            // The second has not connected to find that out.
            let client = Self.connect(to: path)
            _ = try program.line(containing: "connected")
            #expect(program.lines.count(where: { $0.contains(#""event":"client""#) }) == 1, "\(program.lines)")
            close(client)
            #expect(program.stop(SIGKILL) == 128 + SIGKILL)
            #expect(Self.kindAndMode(of: path) != nil)
            let third = try RunningProgram(
                "linble", ["bridge", "--simulate", "--json", "-n", "LINBLE-ECHO", "--unix", path],
                messages: "\(folder)/third")
            _ = try third.line(containing: "bridging")
            close(Self.connect(to: path))
            #expect(third.stop() == 0)
            #expect(Self.kindAndMode(of: path) == nil)
        }
    }

    /// A socket at which another program listens, of either kind.
    @Test(arguments: [SOCK_STREAM, SOCK_DGRAM]) func anotherProgramKeepsItsSocket(_ kind: __socket_type) async throws {
        try await withFolder { folder in
            let path = "\(folder)/socket"
            let other = socket(AF_UNIX, Int32(kind.rawValue), 0)
            defer { close(other) }
            let address = Self.unixAddress(path)
            let status = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(other, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(status == 0)
            if kind == SOCK_STREAM { #expect(listen(other, 1) == 0) }
            let ended = try await run("linble", ["bridge", "--simulate", "--unix", path])
            #expect(ended.status == 74)
            #expect(ended.messages.contains("\(path) is in use by another program"), "\(ended.messages)")
            #expect(Self.kindAndMode(of: path) != nil)
        }
    }

    @Test(
        arguments: [
            ("touch $FOLDER/socket", "is a file, not a socket"),
            ("ln -s $FOLDER/target $FOLDER/socket", "is a symbolic link to "),
            ("mkdir $FOLDER/socket", "is a folder, not a socket"),
            ("ln -s $FOLDER/target $FOLDER/socket.lock", "Cannot open"),
        ])
    func anythingElseIsLeftAlone(_ command: String, _ words: String) async throws {
        let ended = try await inShell(
            """
            \(command)
            (cd $FOLDER && find . -printf '%p %y %l\\n' | grep -v -e err -e out | sort) >$FOLDER/out-before
            linble bridge --simulate --unix $FOLDER/socket
            status=$?
            (cd $FOLDER && find . -printf '%p %y %l\\n' | grep -v -e err -e out | sort) >$FOLDER/out-after
            cmp $FOLDER/out-before $FOLDER/out-after >&2 && exit $status
            """)
        #expect(ended.status == 73, "\(ended.messages)")
        #expect(ended.messages.contains(words), "\(ended.messages)")
    }

    @Test func aPathThatIsTooLongIsAnError() async throws {
        let path = "/tmp/" + String(repeating: "x", count: 103)
        let ended = try await run("linble", ["bridge", "--simulate", "--unix", path])
        #expect(ended.status == 73)
        #expect(ended.messages.contains("File name too long"), "\(ended.messages)")
    }
}
