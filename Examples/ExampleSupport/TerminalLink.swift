/// A symbolic link to a pseudo terminal, owned by this process while the object lives.
///
/// The lock file `LINK.lock`, which contains the PID, decides ownership. While it is locked the link is in use. If it is
/// not, a link to `/dev/pts/N` is stale, left behind by a killed program, and is replaced, even if another terminal has
/// that number by now. Anything else at that path is left alone.
final class TerminalLink: Sendable {
    /// The path of the link.
    let path: String

    private let target: String
    private let lock: LockFile

    /// Makes the link.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost`` if it is in use, with ``ExitStatus/cannotCreate`` if the path
    ///   is taken by anything else or there is no folder.
    init(_ path: String, to target: String) throws {
        // First, so that no lock file is created beside somebody else's file.
        _ = try Self.isLeftBehind(path)
        (self.path, self.target) = (path, target)
        lock = try LockFile(path + ".lock", of: path)
        if try Self.isLeftBehind(path) { unlink(path) }
        guard symlink(target, path) == 0 else { throw cannotCreate(path) }
    }

    deinit {
        // The path may have been replaced meanwhile.
        if Self.target(of: path) == target { unlink(path) }
    }

    /// Whether the path is a link to a pseudo terminal; false if it does not exist.
    private static func isLeftBehind(_ path: String) throws -> Bool {
        guard let status = try occupant(of: path) else { return false }
        let target = target(of: path)
        let prefix = "/dev/pts/"
        if let target, target.hasPrefix(prefix), UInt32(target.dropFirst(prefix.count)) != nil { return true }
        throw pathIsTaken(path, by: status, insteadOf: "a link to a pseudo terminal")
    }

    /// The target of a symbolic link; nil if the path is not one.
    fileprivate static func target(of path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// What there is at the path of a link or a socket; nil if it can be created.
func occupant(of path: String) throws -> stat? {
    var status = stat()
    if lstat(path, &status) == 0 { return status }
    try checkFolder(of: path)
    return nil
}

/// The error for a path at which there is something else than expected.
func pathIsTaken(_ path: String, by status: stat, insteadOf expected: String) -> ProgramError {
    let kind =
        switch status.st_mode & S_IFMT {
        case S_IFLNK: "a symbolic link to \(printable(TerminalLink.target(of: path) ?? "something"))"
        case S_IFREG: "a file"
        case S_IFDIR: "a folder"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    return ProgramError(
        .cannotCreate, "\(printable(path)) is \(kind), not \(expected).",
        remedy: "Choose a path that does not exist yet.")
}

/// A lock file (flock(2)) with the PID, held while the object lives. If the process is killed, the kernel releases the
/// lock and the file remains.
final class LockFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Locks the file, and creates it if necessary.
    /// - Parameter subject: the path that the lock protects, for errors.
    init(_ path: String, of subject: String) throws {
        (self.path, descriptor) = (path, try Self.acquire(path, subject))
    }

    deinit {
        // Unlinked while locked: a process that has opened it already then sees that the name is gone.
        if Self.isNamed(path, descriptor) { unlink(path) }
        close(descriptor)
    }

    private static func acquire(_ path: String, _ subject: String) throws -> Int32 {
        while true {
            let descriptor = try open(path)
            var isAcquired = false
            defer { if !isAcquired { close(descriptor) } }
            guard contents(of: descriptor) != nil else {
                throw ProgramError(
                    .cannotCreate, "\(printable(path)) is not a lock file.",
                    remedy: "Choose another path, or remove that file.")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK else { throw failure("Cannot lock \(printable(path))") }
                // Between locking and writing, the file is empty or has the previous holder's PID.
                let holder = contents(of: descriptor).flatMap { Int32($0) }.flatMap {
                    kill($0, 0) == 0 || errno == EPERM ? "PID \($0)" : nil
                }
                throw ProgramError(
                    .linkLost, "\(printable(subject)) is in use by \(holder ?? "another process").",
                    remedy: "End that program, or choose another path.")
            }
            // The previous holder unlinks it when it ends.
            guard isNamed(path, descriptor) else { continue }
            let line = "\(getpid())\n"
            guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, line, line.utf8.count, 0) == line.utf8.count else {
                // Opened read-only: another user's file.
                if errno == EINVAL { errno = EACCES }
                throw failure("Cannot write \(printable(path))")
            }
            isAcquired = true
            return descriptor
        }
    }

    private static func open(_ path: String) throws -> Int32 {
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        while true {
            // Without O_CREAT first: in /tmp Linux denies O_CREAT on other users' existing files, even to root
            // (fs.protected_regular).
            var descriptor = systemOpen(path, flags)
            if descriptor < 0, errno == ENOENT {
                descriptor = systemOpen(path, flags | O_CREAT | O_EXCL, 0o644)
                if descriptor < 0, errno == EEXIST { continue }
            }
            // Another user's file is readable, which is enough to name the holder.
            if descriptor < 0, errno == EACCES { descriptor = systemOpen(path, flags & ~O_RDWR | O_RDONLY) }
            guard descriptor >= 0 else { throw failure("Cannot open \(printable(path))") }
            return descriptor
        }
    }

    /// The PID in a lock file, or an empty string; nil if it is not a lock file.
    private static func contents(of descriptor: Int32) -> String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink <= 1 else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard (0..<bytes.count).contains(count) else { return nil }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        guard !text.isEmpty else { return text }
        guard text.last == "\n", let number = Int32(text.dropLast()), number > 0 else { return nil }
        return "\(number)"
    }

    /// Whether the path still names the open file.
    private static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && lstat(path, &named) == 0
            && (open.st_dev, open.st_ino) == (named.st_dev, named.st_ino)
    }

    private static func failure(_ text: String) -> ProgramError {
        ProgramError(.cannotCreate, "\(text): \(systemMessage())")
    }
}
