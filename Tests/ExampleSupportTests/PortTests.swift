import BluetoothSystem
import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import ExampleSupport

/// The parts of a serial port for other programs.
@Suite struct PortTests {
    @Test(
        arguments: [
            ("4000", "127.0.0.1:4000"), (":4000", "127.0.0.1:4000"), ("localhost:1", "127.0.0.1:1"),
            ("0.0.0.0:0", "0.0.0.0:0"), ("192.168.1.2:65535", "192.168.1.2:65535"), ("[::1]:4000", "[::1]:4000"),
            ("[::]:4000", "[::]:4000"), ("[2001:db8:0:0::1]:80", "[2001:db8::1]:80"),
        ])
    func anAddressIsParsed(_ text: String, _ printed: String) throws {
        #expect(NetworkAddress(text)?.description == printed)
    }

    @Test(
        arguments: [
            "", ":", "x", "65536", "-1", "+1", "1.2.3:4", "1.2.3.4", "1.2.3.4:", "::1", "::1:4000", "[::1]", "[::1]:",
            "[127.0.0.1]:1", "[::1:4000", "example.org:80", "127.0.0.1:4000x", " 4000", "127.1:80",
        ])
    func whatIsNoAddressIsRejected(_ text: String) {
        #expect(NetworkAddress(text) == nil)
    }

    @Test(arguments: [("127.1.2.3:1", true), ("[::1]:1", true), ("[::]:1", false), ("0.0.0.0:1", false)])
    func otherMachinesDoNotReachTheLoopback(_ text: String, _ isLoopback: Bool) {
        #expect(NetworkAddress(text)?.isLoopback == isLoopback)
    }

    @Test(
        arguments: [
            ("0660", 0o660), ("660", 0o660), ("0", 0), ("0777", 0o777), ("", nil), ("0800", nil), ("1777", nil),
            ("00660", nil), ("-1", nil), ("rw", nil),
        ] as [(String, UInt32?)])
    func permissionsAreParsed(_ text: String, _ mode: UInt32?) {
        #expect(PortAccess.mode(text) == mode)
    }

    @Test func aGroupIsNamedOrNumbered() {
        #expect(PortAccess.group("root") == 0)
        #expect(PortAccess.group("7") == 7)
        for text in ["no such group", "-1", "", "4294967295"] { #expect(PortAccess.group(text) == nil) }
    }

    @Test func unreadBytesAreBoundedAndKeepTheirOrder() throws {
        let unread = UnreadBytes(capacity: 5)
        var read: [UInt8] = []
        /// Reads up to `count` bytes in pieces of two.
        func drain(_ count: Int) throws -> Bool {
            var rest = count
            return try unread.drain { bytes in
                let piece = bytes.prefix(min(2, rest))
                rest -= piece.count
                read += piece
                return piece.count
            }
        }
        #expect(unread.append([1, 2, 3]) == 0)
        #expect(try !drain(1))
        #expect(unread.append([4, 5, 6, 7]) == 1)
        #expect(unread.append(Array(8...14)) == 7)
        #expect(unread.count == 5)
        #expect(try drain(9))
        #expect(read == [1] + Array(10...14))
        #expect(unread.append([15]) == 0)
        unread.removeAll()
        #expect(try drain(9))
        #expect(read.count == 6)
        #expect(unread.droppedCount == 1 + 7)
    }

    @Test(arguments: [false, true]) func discardingWhatIsUnreadIsNoticed(_ isReading: Bool) async throws {
        let discarded = Atomic(0)
        let terminal = try PseudoTerminal { discarded.add(1, ordering: .relaxed) }
        let program = open(terminal.path, O_RDWR | O_NOCTTY)
        try #require(program >= 0)
        defer { close(program) }
        #expect(try terminal.tryWrite([1, 2, 3]) == 3)
        #expect(tcflush(program, TCIFLUSH) == 0)
        #expect(write(program, "abc", 3) == 3)
        if !isReading {
            try terminal.noticeDiscarding()
            try terminal.noticeDiscarding()
            #expect(discarded.load(ordering: .relaxed) == 1)
        }
        // No byte of data is taken for a status, or the other way round.
        #expect(try await terminal.read() == Array("abc".utf8))
        #expect(discarded.load(ordering: .relaxed) == 1)
    }

    @Test func aBusyServiceManagerLearnsThatTheProgramIsReady() async throws {
        let path = "/tmp/busy-\(getpid())"
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer {
            close(socket)
            unlink(path)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        let manager = ServiceManager { $0 == "NOTIFY_SOCKET" ? path : nil }
        try #require(manager.isPresent)
        // More than the kernel keeps, whatever its limit is; these do not wait.
        for _ in 0..<2000 { manager.isAlive() }
        DispatchQueue(label: "program").async { manager.isReady() }
        var text = ""
        while text != "READY=1" {
            let bytes = readDescriptor(socket)
            try #require(!bytes.isEmpty)
            text = String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Of a new file, whatever the umask is: it may contain traffic.
    @Test func onlyTheOwnerReadsWhatIsWritten() throws {
        var template = Array("/tmp/ownerXXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        let paths = ["new", "output", "appended"].map { "\(folder)/\($0)" }
        defer {
            for path in paths { unlink(path) }
            rmdir(folder)
        }
        try NewFile(paths[0], replacesExisting: false).write([1])
        _ = try NewFile(paths[1], replacesExisting: false, isStream: true).stream()
        _ = try AppendedFile(paths[2], firstLine: "# own")
        for path in paths {
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(path)")
        }
    }

    /// Also to an empty file, which has no other first line.
    @Test(arguments: [true, false]) func aLinkIsNotAppendedTo(_ isThere: Bool) throws {
        var template = Array("/tmp/linkXXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        let (target, link) = ("\(folder)/target", "\(folder)/link")
        defer {
            for path in [target, link] { unlink(path) }
            rmdir(folder)
        }
        if isThere { try NewFile(target, replacesExisting: false).write([]) }
        #expect(symlink(target, link) == 0)
        let error = #expect(throws: ProgramError.self) { try AppendedFile(link, firstLine: "# own") }
        #expect(error?.status == .cannotCreate)
        #expect(error?.message == "\(link) is a symbolic link, which is not followed.")
        #expect((try SystemFiles.read(target, limit: 4096)) == (isThere ? [] : nil))
    }

    @Test func aFileOfAnotherKindIsNotAppendedTo() throws {
        var template = Array("/tmp/appendedXXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        close(descriptor)
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer { unlink(path) }
        try AppendedFile(path, firstLine: "# own").write("1")
        // An unfinished line ends before the next begins.
        let file = try #require(fopen(path, "a"))
        fputs("2", file)
        fclose(file)
        try AppendedFile(path, firstLine: "# own").write("3")
        #expect(try SystemFiles.read(path, limit: 4096) == Array("# own\n1\n2\n3\n".utf8))
        for line in ["# other", "# own\n1\n2\n3\n4", "# o"] {
            let error = #expect(throws: ProgramError.self) { try AppendedFile(path, firstLine: line) }
            #expect(error?.status == .cannotCreate)
        }
    }
}
