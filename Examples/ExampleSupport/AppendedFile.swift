/// A log: a text file that is appended to. Its first line names its kind, so that no other file is changed, and no symbolic
/// link is followed. A new one is its owner's alone (0600), since it may contain traffic.
public final class AppendedFile: Sendable {
    private let path: String
    /// The open file.
    let descriptor: Int32

    /// Creates the file with its first line, or opens one with that first line.
    /// - Parameter isLocked: whether other programs that lock it wait until the object goes.
    /// - Throws: ``ProgramError`` with ``ExitStatus/cannotCreate`` if the file has another first line or cannot be opened.
    public init(_ path: String, firstLine: String, isLocked: Bool = false) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw ProgramError(
                    .cannotCreate, "\(printable(path)) is a symbolic link, which is not followed.",
                    remedy: "Name the file itself.")
            }
            guard errno != ENOENT else { throw cannotCreate(path) }
            throw ProgramError(.cannotCreate, "Cannot write \(printable(path)): \(systemMessage())")
        }
        if isLocked, flock(descriptor, LOCK_EX) != 0 { throw failure("lock") }
        let start = Array("\(firstLine)\n".utf8)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            try write(start)
            return
        }
        var found = [UInt8](repeating: 0, count: start.count)
        guard pread(descriptor, &found, found.count, 0) == found.count, found == start else {
            throw ProgramError(
                .cannotCreate, "\(printable(path)) is not a \(firstLine.dropFirst(2).prefix { $0 != ":" }).",
                remedy: "Choose another name.")
        }
        // A program that was killed may have left an unfinished line.
        var last: UInt8 = 0
        if pread(descriptor, &last, 1, status.st_size - 1) == 1, last != 0x0A { try write([0x0A]) }
    }

    deinit {
        close(descriptor)
    }

    /// Appends a line.
    public func write(_ line: String) throws { try write(Array("\(line)\n".utf8)) }

    func write(_ bytes: [UInt8]) throws {
        if let number = writeAll(bytes, to: descriptor) { throw failure("write", number) }
    }

    func failure(_ verb: String, _ number: Int32 = errno) -> ProgramError {
        ProgramError(.linkLost, "Cannot \(verb) \(printable(path)): \(systemMessage(number))")
    }
}
