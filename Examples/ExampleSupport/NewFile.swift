#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file that a program writes as a whole when it has the contents: it is complete, or not there. Only its owner may read
/// it (0600), since it may contain traffic.
public struct NewFile: Sendable {
    private let path: String
    private let replacesExisting: Bool

    /// Checks that the file can be created.
    ///
    /// - Parameter replacesExisting: whether it may replace a regular file, or a symbolic link, whose target stays
    ///   unchanged.
    public init(_ path: String, replacesExisting: Bool) throws {
        self.path = path
        self.replacesExisting = replacesExisting
        guard !path.isEmpty else { throw ProgramError(.usage, "The name of the file to write is empty.") }
        guard path != "-" else {
            throw ProgramError(
                .usage, "The file is written as a whole, so not to standard output.",
                remedy: "Give it a name, such as ./- if it shall have this one.")
        }
        var status = stat()
        if lstat(path, &status) == 0 {
            guard [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT) else {
                throw ProgramError(.cannotCreate, "\(path) is not a regular file.")
            }
            guard replacesExisting else { throw Self.alreadyExists(path) }
        }
        guard access(folder, W_OK | X_OK) == 0 else { throw failure() }
    }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    static func alreadyExists(_ path: String) -> ProgramError {
        ProgramError(
            .cannotCreate, "\(printable(path)) exists.",
            remedy: "Choose another name, or replace the file with --force.")
    }

    private func failure() -> ProgramError {
        ProgramError(.cannotCreate, "Cannot create \(path): \(systemMessage())")
    }

    /// Writes the file. Other programs see the whole file or none; after a failure nothing is left.
    public func write(_ bytes: [UInt8]) throws {
        let temporary = "\(path).\(getpid()).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        defer { unlink(temporary) }
        let failed = writeAll(bytes, to: descriptor)
        let isStored = fsync(descriptor) == 0
        let number = failed ?? (isStored ? nil : errno)
        close(descriptor)
        if let number { throw ProgramError(.linkLost, "Cannot write \(path): \(systemMessage(number))") }
        try put(temporary)
    }

    private func put(_ temporary: String) throws {
        if replacesExisting {
            guard rename(temporary, path) == 0 else { throw failure() }
            return
        }
        // Unlike a rename, a link never replaces a file.
        guard link(temporary, path) != 0 else { return }
        switch errno {
        case EEXIST: throw Self.alreadyExists(path)
        case EPERM, ENOTSUP, ENOSYS:
            // The file system has no links.
            guard access(path, F_OK) != 0 else { throw Self.alreadyExists(path) }
            guard rename(temporary, path) == 0 else { throw failure() }
        default: throw failure()
        }
    }
}
