import ExampleSupport
import Glibc
import Testing

/// Files that are read.
@Suite struct InputFileTests {
    @Test func aFileIsReadAsAWholeUpToItsLimit() async throws {
        let path = temporaryPath()
        defer { unlink(path) }
        try NewFile(path, replacesExisting: true).write(Array("steps".utf8))
        #expect(try await contents(of: path, limit: 5) == Array("steps".utf8))
        let failure = await #expect(throws: ProgramError.self) { try await contents(of: path, limit: 4) }
        #expect(failure?.status == .badData)
        await #expect(throws: ProgramError.self) { try await contents(of: "/dev/zero", limit: 1 << 16) }
        await #expect(throws: ProgramError.self) { try await contents(of: "/tmp", limit: 1 << 16) }
        let missing = await #expect(throws: ProgramError.self) { try await contents(of: "\(path)x", limit: 1) }
        #expect(missing?.status == .noInput)
    }

    @Test func theContentsOfANamedPipeAreThoseOfItsWriter() async throws {
        let path = temporaryPath()
        defer { unlink(path) }
        try #require(mkfifo(path, 0o600) == 0)
        // Opened for both, it waits for no reader.
        let writer = open(path, O_RDWR | O_NONBLOCK)
        #expect(write(writer, [1, 2] as [UInt8], 2) == 2)
        let file = try InputFile(path)
        #expect(try await file.next() == [1, 2])
        close(writer)
        #expect(try await file.next() == nil)
    }

    /// Opening a named pipe waits for its writer.
    @Test func theEndOfTheTaskEndsTheWaitForAWriter() async throws {
        let path = temporaryPath()
        defer { unlink(path) }
        try #require(mkfifo(path, 0o600) == 0)
        let reading = Task { try await contents(of: path, limit: 100) }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        // The thread that waits for a writer, and then for a byte, ends.
        #expect(write(open(path, O_RDWR | O_NONBLOCK), [0] as [UInt8], 1) == 1)
    }

    private func temporaryPath() -> String {
        "/tmp/input\(getpid())-\(UInt32.random(in: 0 ... .max))"
    }
}
