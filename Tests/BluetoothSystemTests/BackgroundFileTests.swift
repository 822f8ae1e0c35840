import BluetoothPrimitives
import BluetoothSystem
import Glibc
import Synchronization
import Testing

@Suite struct BackgroundFileTests {
    private static func temporaryPath() -> String {
        "/tmp/bluetooth-file-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    }

    private static func contents(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "rb") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer.prefix(count) }
        return bytes
    }

    private static func close(_ file: BackgroundFile) async {
        await withCheckedContinuation { continuation in file.close { continuation.resume() } }
    }

    @Test func bytesAreWrittenInOrder() async throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        let file = try BackgroundFile(path) { Issue.record("\($0)") }
        for number in 0..<10_000 {
            let isTaken = file.append { writer throws(BufferFull) in try writer.write(UInt32(number)) }
            #expect(isTaken)
        }
        await Self.close(file)
        let bytes = Self.contents(path)
        #expect(bytes.count == 40_000)
        var reader = ByteReader(bytes.span.bytes)
        var isInOrder = true
        for number in 0..<10_000 where (try? reader.readUInt32()) != UInt32(number) { isInOrder = false }
        #expect(isInOrder)
        // A second call completes immediately.
        await Self.close(file)
    }

    @Test func onlyItsOwnerMayReadIt() async throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        let file = try BackgroundFile(path) { Issue.record("\($0)") }
        await Self.close(file)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o077 == 0)
    }

    /// Writes one byte in the way a capture does.
    private static func writeByte(_ path: String, replacingExisting: Bool = false) async throws(KernelError) {
        let file = try BackgroundFile(path, replacingExisting: replacingExisting) { Issue.record("\($0)") }
        file.append { writer throws(BufferFull) in try writer.write(9 as UInt8) }
        await close(file)
    }

    private enum Existing: CaseIterable {
        case file, link, danglingLink
    }

    @Test(arguments: Existing.allCases) private func anExistingFileIsReplacedOnlyOnRequest(kind: Existing) async throws
    {
        let (path, target) = (Self.temporaryPath(), Self.temporaryPath())
        defer {
            unlink(path)
            unlink(target)
        }
        let existing = kind == .file ? path : target
        if kind != .danglingLink {
            let descriptor = open(existing, O_WRONLY | O_CREAT | O_EXCL, 0o644)
            #expect(write(descriptor, "old", 3) == 3)
            Glibc.close(descriptor)
        }
        if kind != .file { #expect(symlink(target, path) == 0) }
        let old = kind == .danglingLink ? [] : Array("old".utf8)

        await #expect(throws: KernelError("open", .fileExists)) { try await Self.writeByte(path) }
        #expect(Self.contents(path) == old)

        try await Self.writeByte(path, replacingExisting: true)
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode == S_IFREG | 0o600)
        #expect(Self.contents(path) == [9])
        // The target of a link is unchanged.
        if kind != .file { #expect(Self.contents(target) == old) }
    }

    @Test(arguments: ["/dev/fd/", "/proc/self/fd/"])
    func anOpenDescriptorIsWrittenWhereItStands(folder: String) async throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        defer { Glibc.close(descriptor) }
        #expect(write(descriptor, "old", 3) == 3)
        try await Self.writeByte("\(folder)\(descriptor)")
        #expect(Self.contents(path) == Array("old".utf8) + [9])

        let reading = open(path, O_RDONLY)
        defer { Glibc.close(reading) }
        await #expect(throws: KernelError("write", .badFileDescriptor)) {
            try await Self.writeByte("\(folder)\(reading)")
        }
        await #expect(throws: KernelError("fcntl", .badFileDescriptor)) { try await Self.writeByte("\(folder)999999") }
    }

    @Test func aNonBlockingDescriptorIsAwaited() async throws {
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { Glibc.close(end) } }
        #expect(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        // More than the capacity of a pipe.
        let count = 200_000
        let file = try BackgroundFile("/dev/fd/\(ends[1])") { Issue.record("\($0)") }
        #expect(file.append { writer throws(BufferFull) in try writer.write([UInt8](repeating: 7, count: count)) })
        var received = 0
        var buffer = [UInt8](repeating: 0, count: 4096)
        while received < count, case let part = read(ends[0], &buffer, buffer.count), part > 0 { received += part }
        #expect(received == count)
        await Self.close(file)
        // The owner's flags are unchanged.
        #expect(fcntl(ends[1], F_GETFL) & O_NONBLOCK != 0)
    }

    @Test func aDepartedReaderIsReportedOnce() async throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        let failures = Mutex<[KernelError]>([])
        let file = try BackgroundFile(path) { error in failures.withLock { $0.append(error) } }
        Glibc.close(reader)
        file.append { writer throws(BufferFull) in try writer.write(1 as UInt32) }
        await Self.close(file)
        #expect(failures.withLock { $0 } == [KernelError("write", .brokenPipe)])
    }

    @Test func bytesThatDoNotFitAreRefused() async throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        let file = try BackgroundFile(path, capacity: 8) { Issue.record("\($0)") }
        let isTaken = file.append { writer throws(BufferFull) in
            try writer.write(1 as UInt32)
            try writer.write([UInt8](repeating: 2, count: 5))
        }
        #expect(!isTaken)
        await Self.close(file)
        #expect(Self.contents(path).isEmpty)
    }

    @Test func aFullDiskIsReportedOnceAndBlocksNothing() async throws {
        let failures = Mutex<[KernelError]>([])
        let file = try BackgroundFile("/dev/full") { error in failures.withLock { $0.append(error) } }
        for _ in 0..<100 { file.append { writer throws(BufferFull) in try writer.write(1 as UInt32) } }
        await Self.close(file)
        #expect(file.append { writer throws(BufferFull) in try writer.write(1 as UInt32) })
        #expect(failures.withLock { $0 } == [KernelError("write", .noSpace)])
    }

    @Test func aPipeNeedsAReader() async throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: KernelError("open", .noSuchDeviceOrAddress)) { try BackgroundFile(path) { _ in } }

        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { Glibc.close(reader) }
        // More than the capacity of a pipe: the writer waits for the reader.
        let count = 100_000
        let file = try BackgroundFile(path) { Issue.record("\($0)") }
        #expect(file.append { writer throws(BufferFull) in try writer.write([UInt8](repeating: 7, count: count)) })
        #expect(fcntl(reader, F_SETFL, 0) == 0)
        var received = 0
        var buffer = [UInt8](repeating: 0, count: 4096)
        while received < count, case let part = read(reader, &buffer, buffer.count), part > 0 {
            #expect(buffer.prefix(part).allSatisfy { $0 == 7 })
            received += part
        }
        #expect(received == count)
        await Self.close(file)
    }

    @Test(arguments: [false, true]) func aLinkToADeviceIsNotFollowed(replacingExisting: Bool) throws {
        let path = Self.temporaryPath()
        defer { unlink(path) }
        #expect(symlink("/dev/full", path) == 0)
        #expect(throws: KernelError("open", .symbolicLink)) {
            try BackgroundFile(path, replacingExisting: replacingExisting) { _ in }
        }
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test(arguments: [("/nowhere/file", "ENOENT"), ("/tmp", "EISDIR")])
    func aFileThatCannotBeCreatedIsAnError(path: String, reason: String) {
        do {
            _ = try BackgroundFile(path) { Issue.record("\($0)") }
            Issue.record("\(path) was opened")
        } catch {
            #expect(error.description == "open: \(reason)")
        }
    }
}
