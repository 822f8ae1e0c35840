import Glibc

/// A symbolic link to a pseudo terminal that belongs to this process for as long as it lives.
///
/// A lock file beside it decides, `LINK.lock` with the process's number. While its lock is held the link is in use. Where
/// it is free, a link to `/dev/pts/N` was left behind by a program that was killed, and is replaced, whatever terminal has
/// that number by now. Anything else that exists is left as it is.
final class TerminalLink: Sendable {
    /// Where the link is.
    let path: String

    private let target: String
    private let lock: LockFile

    /// Makes the link.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost`` when it is in use, or something else has its name.
    init(_ path: String, to target: String) throws {
        // Before a lock file appears beside something that is none of our business.
        _ = try Self.isLeftBehind(path)
        (self.path, self.target) = (path, target)
        lock = try LockFile(path + ".lock", of: path)
        if try Self.isLeftBehind(path) { unlink(path) }
        guard symlink(target, path) == 0 else { throw Self.failure("Cannot make the link \(printable(path))") }
    }

    deinit {
        // Somebody may have put something else there.
        if Self.target(of: path) == target { unlink(path) }
    }

    /// Whether there is a link to a pseudo terminal; false where there is nothing.
    private static func isLeftBehind(_ path: String) throws -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw failure("Cannot make the link \(printable(path))") }
            return false
        }
        let target = target(of: path)
        let prefix = "/dev/pts/"
        if let target, target.hasPrefix(prefix), UInt32(target.dropFirst(prefix.count)) != nil { return true }
        let kind =
            switch status.st_mode & S_IFMT {
            case S_IFLNK: "a symbolic link to \(printable(target ?? "something"))"
            case S_IFREG: "a file"
            case S_IFDIR: "a directory"
            case S_IFIFO: "a FIFO"
            case S_IFSOCK: "a socket"
            default: "a device"
            }
        throw ProgramError(
            .linkLost, "\(printable(path)) is \(kind), and no link to a pseudo terminal.",
            remedy: "Name a link that does not exist yet.")
    }

    /// Where a symbolic link leads; nil when it is none.
    private static func target(of path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func failure(_ text: String) -> ProgramError {
        ProgramError(.linkLost, "\(text): \(String(cString: strerror(errno)))")
    }
}

/// A file that is locked (flock(2)) for as long as this lives, and contains the process's number. The kernel frees the lock
/// of a process that is killed; the file stays then.
final class LockFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Locks the file, which is made where there is none.
    /// - Parameter subject: what the lock is for, as errors name it.
    init(_ path: String, of subject: String) throws {
        (self.path, descriptor) = (path, try Self.acquire(path, subject))
    }

    deinit {
        // While it is locked: who has opened it already finds that the name is not its any more.
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
                    .linkLost, "\(printable(path)) is not a lock file.",
                    remedy: "Name another link, or remove that file.")
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK else { throw failure("Cannot lock \(printable(path))") }
                // Between locking and writing, the file is empty or names the one before.
                let holder = contents(of: descriptor).flatMap { Int32($0) }.flatMap {
                    kill($0, 0) == 0 || errno == EPERM ? "PID \($0)" : nil
                }
                throw ProgramError(
                    .linkLost, "\(printable(subject)) is in use by \(holder ?? "another process").",
                    remedy: "End that program, or name another link.")
            }
            // The one before removes it when it ends.
            guard isNamed(path, descriptor) else { continue }
            let line = "\(getpid())\n"
            guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, line, line.utf8.count, 0) == line.utf8.count else {
                // Another user's that can only be read.
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
            // Opened without O_CREAT where it exists: in /tmp Linux refuses that for the files of other users, even to
            // root (fs.protected_regular).
            var descriptor = Glibc.open(path, flags)
            if descriptor < 0, errno == ENOENT {
                descriptor = Glibc.open(path, flags | O_CREAT | O_EXCL, 0o644)
                if descriptor < 0, errno == EEXIST { continue }
            }
            // That of another user can be read, to name who holds it.
            if descriptor < 0, errno == EACCES { descriptor = Glibc.open(path, flags & ~O_RDWR | O_RDONLY) }
            guard descriptor >= 0 else { throw failure("Cannot open \(printable(path))") }
            return descriptor
        }
    }

    /// What is in a lock file, the number of a process or nothing; nil when it is a file of something else.
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

    /// Whether the file that is open has this name still.
    private static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && lstat(path, &named) == 0
            && (open.st_dev, open.st_ino) == (named.st_dev, named.st_ino)
    }

    private static func failure(_ text: String) -> ProgramError {
        ProgramError(.linkLost, "\(text): \(String(cString: strerror(errno)))")
    }
}
