import BluetoothSystem
import Glibc
import Testing

@testable import ExampleSupport

/// The file with the lines of a shell.
@Suite struct HistoryFileTests {
    private static func withPath(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/historyXXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer {
            for name in ["history", "other", "new/history"] { unlink("\(folder)/\(name)") }
            rmdir("\(folder)/new")
            rmdir(folder)
        }
        try body("\(folder)/")
    }

    private static func write(_ text: String, to path: String) {
        guard let file = fopen(path, "w") else { return }
        fputs(text, file)
        fclose(file)
    }

    private static func text(_ path: String) throws -> String {
        String(decoding: try SystemFiles.read(path, limit: 4096) ?? [], as: UTF8.self)
    }

    @Test func linesAreKept() throws {
        try Self.withPath { folder in
            let file = try #require(HistoryFile(folder + "new/history"))
            #expect(try file.lines() == [])
            // Two shells append in turn.
            for line in ["read 2A19", #"write 2A39 "\n""#, "a\nb", "漢"] {
                try #require(HistoryFile(file.path)).append(line)
            }
            #expect(try file.lines() == ["read 2A19", #"write 2A39 "\n""#, "a\nb", "漢"])
            var status = stat()
            #expect(stat(file.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(stat(folder + "new", &status) == 0 && status.st_mode & 0o777 == 0o700)
        }
    }

    @Test func anotherFileIsLeftAlone() throws {
        try Self.withPath { folder in
            Self.write("mine\n", to: folder + "other")
            symlink(folder + "other", folder + "history")
            for name in ["other", "history"] {
                let file = try #require(HistoryFile(folder + name))
                #expect(throws: ProgramError.self) { try file.lines() }
                #expect(throws: ProgramError.self) { try file.append("read 2A19") }
            }
            #expect(try Self.text(folder + "other") == "mine\n")
            #expect(throws: ProgramError.self) { try HistoryFile("/dev/null")?.append("x") }
            #expect(throws: ProgramError.self) { try HistoryFile("/proc/nowhere/history")?.append("x") }
        }
    }

    @Test func aLongFileIsShortened() throws {
        try Self.withPath { folder in
            let line = String(repeating: "x", count: 1000)
            let all = "# history of ble shell\n" + (0..<1200).map { "\($0) \(line)\n" }.joined()
            Self.write(all, to: folder + "history")
            let file = try #require(HistoryFile(folder + "history"))
            try file.append("last")
            let lines = try file.lines()
            #expect(lines.count == LineHistory.capacity + 1)
            #expect(lines.first == "200 \(line)")
            #expect(lines.last == "last")
        }
    }
}
