import ExampleSupport
import Glibc
import TestSupport
import Testing

/// What becomes of the bytes of `linble bridge` when a client, the log or the bridge ends.
@Suite(.serialized) struct BridgeLossTests {
    /// Runs a bridge on a TCP port until `body`, which may block, has ended.
    private static func bridge(
        _ arguments: [String], through runner: [String] = [],
        _ body: @Sendable @escaping (RunningProgram, _ port: UInt16) throws -> Void
    ) async throws {
        try await withFolder { folder in
            try await onItsOwnThread {
                let program = try RunningProgram(
                    "linble", ["bridge", "--simulate", "--json", "--tcp", "0"] + arguments, messages: "\(folder)/err",
                    // Options of env(1): the tests may ignore the first signal.
                    environment: [("--default-signal", "PIPE"), ("--ignore-signal", "XFSZ")], through: runner)
                let line = try program.line(containing: "bridging")
                let digits = try #require(line.firstMatch(of: /"tcp":"127.0.0.1:(\d+)"/)).1
                try body(program, try #require(UInt16(digits)))
            }
        }
    }

    private static func connect(_ port: UInt16) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(status == 0)
        return descriptor
    }

    /// The address of a connection's own end, as the bridge prints it.
    private static func ownAddress(_ descriptor: Int32) -> String {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        #expect(status == 0)
        return "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    private static func write(_ count: Int, to descriptor: Int32) {
        #expect(Glibc.write(descriptor, [UInt8](repeating: 7, count: count), count) == count)
    }

    /// A count in the last line.
    private static func count(_ name: String, _ program: RunningProgram) -> Int? {
        guard let line = program.lines.last, let value = try? JSONValue(reading: Array(line.utf8)),
            case .object(let fields) = value, case .integer(let count)? = fields.first(where: { $0.0 == name })?.1
        else { return nil }
        return count
    }

    @Test func aClientThatLeavesWithoutReadingEndsOnlyItself() async throws {
        try await Self.bridge(["-n", "LINBLE-ECHO", "--buffer", "1000"]) { program, port in
            _ = try program.line(containing: "online")
            // As much as the kernel takes at once, so that none waits in this process.
            let (first, size) = (Self.connect(port), 30_000)
            Self.write(size, to: first)
            close(first)
            _ = try program.line(containing: "closed")
            let second = Self.connect(port)
            Self.write(1, to: second)
            #expect(!readDescriptor(second).isEmpty)
            close(second)
            #expect(program.stop() == 0)
            let names = ["sent", "buffered", "dropped"]
            let sum = names.compactMap { Self.count($0, program) }.reduce(0, +)
            #expect(sum == size + 1, "\(program.lines)")
        }
    }

    @Test func aLogThatCannotBeWrittenEndsTheBridge() async throws {
        try await withFolder { folder in
            // The largest size of its files.
            try await Self.bridge(
                ["-n", "LINBLE-ECHO", "--log", "\(folder)/log"], through: ["prlimit", "--fsize=1000"]
            ) { program, port in
                let client = Self.connect(port)
                defer { close(client) }
                Self.write(2000, to: client)
                #expect(program.join() == 74)
                #expect(Self.count("buffered", program) == 2000)
            }
        }
    }

    @Test func bytesThatWaitForRoomAreCounted() async throws {
        try await withFolder { folder in
            let log = "\(folder)/log"
            try #require(mkfifo(log, 0o600) == 0)
            try await Self.bridge(["-n", "absent", "--buffer", "10", "--log", log]) { program, port in
                let lines = open(log, O_RDWR | O_NONBLOCK)
                defer { close(lines) }
                let client = Self.connect(port)
                defer { close(client) }
                Self.write(100, to: client)
                // The bridge has taken them.
                #expect(readDescriptor(lines, count: 290).count >= 290)
                #expect(program.stop() == 0)
                #expect(Self.count("buffered", program) == 100, "\(program.lines)")
            }
        }
    }

    @Test func aClientThatLeavesWhileItsBytesWaitForRoomFreesItsPlace() async throws {
        try await Self.bridge(["-n", "absent", "--buffer", "10"]) { program, port in
            let first = Self.connect(port)
            _ = try program.line(containing: "connected")
            Self.write(100, to: first)
            close(first)
            // Its place is free when the bridge has noticed; a client that comes before is refused.
            func isAccepted(_ client: Int32) throws -> Bool {
                try program.line(containing: "\(Self.ownAddress(client))\"").contains("connected")
            }
            var second = Self.connect(port)
            while try !isAccepted(second) {
                close(second)
                second = Self.connect(port)
            }
            // It leaves as well, but one that waits is enough.
            close(second)
            let third = Self.connect(port)
            defer { close(third) }
            #expect(try !isAccepted(third))
            #expect(program.stop() == 0)
            #expect(Self.count("buffered", program) == 100, "\(program.lines)")
        }
    }
}
