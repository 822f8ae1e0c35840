import BluetoothLE
import BluetoothPrimitives
import BluetoothSystem

/// The file in which a shell keeps its lines, readable by its user only; several shells may append to it at once.
///
/// Its first line names its kind, so that no other file is changed. A line end within a line is stored as `\n`, a
/// backslash as two.
public struct HistoryFile: Sendable {
    /// The path.
    public let path: String

    private static let firstLine = "# history of ble shell"
    /// When the file exceeds this size, only the lines that a history holds are kept.
    private static let mostBytes = 1 << 20

    /// A file at a path, or the user's own beside the bonds; nil if no environment variable determines it.
    public init?(_ path: String? = nil) {
        guard let path = path ?? Self.standardPath else { return nil }
        self.path = path
    }

    private static var standardPath: String? {
        guard let bonds = FileBondStore.defaultDirectory, let slash = bonds.lastIndex(of: "/") else { return nil }
        return bonds[..<slash] + "/history"
    }

    /// The stored lines, oldest first; none if there is no file.
    /// - Throws: ``ProgramError`` if it cannot be read or is another file.
    func lines() throws -> [String] {
        guard SystemFiles.exists(path) else { return [] }
        return try contents(of: open()).lines
    }

    /// Appends a line, and creates the file if necessary.
    func append(_ line: String) throws {
        do throws(KernelError) {
            _ = try SystemFiles.make(path, with: Array("\(Self.firstLine)\n".utf8))
        } catch {
            throw ProgramError(.cannotCreate, "Cannot create \(printable(path)): \(error)")
        }
        let file = try open()
        let (lines, size) = try contents(of: file)
        var added = Self.encoded(line)
        if size > Self.mostBytes {
            guard ftruncate(file.descriptor, 0) == 0 else { throw file.failure("shorten") }
            added = "\(Self.firstLine)\n" + lines.suffix(LineHistory.capacity).map(Self.encoded).joined() + added
        }
        try file.write(Array(added.utf8))
    }

    /// The file, locked: another shell may be shortening it.
    private func open() throws -> AppendedFile {
        try AppendedFile(path, firstLine: Self.firstLine, isLocked: true)
    }

    private func contents(of file: AppendedFile) throws -> (lines: [String], size: Int) {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= 2 * Self.mostBytes {
            let count = pread(file.descriptor, &block, block.count, off_t(bytes.count))
            guard count >= 0 else { throw file.failure("read") }
            if count == 0 { break }
            bytes += block[..<count]
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        guard lines.first == Self.firstLine else {
            throw ProgramError(
                .cannotCreate, "\(printable(path)) is not the history of a shell.",
                remedy: "Remove it, or choose another file with --history.")
        }
        return (lines.dropFirst().map(Self.decoded), bytes.count)
    }

    private static func encoded(_ line: String) -> String {
        line.replacing("\\", with: "\\\\").replacing("\n", with: "\\n") + "\n"
    }

    private static func decoded(_ text: String) -> String {
        var line = ""
        var isEscaped = false
        for character in text {
            if isEscaped {
                line.append(character == "n" ? "\n" : character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                line.append(character)
            }
        }
        return line
    }
}
