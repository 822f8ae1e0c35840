import BluetoothPrimitives
import BluetoothSystem

/// A file that a program creates: a document, which is written as a whole when it has the contents, so that it is complete
/// or not there, or a stream, which is written as its bytes come. Only its owner may read it (0600), since it may contain
/// traffic.
public struct NewFile: Sendable {
    private let path: String
    private let replacesExisting: Bool

    /// Checks that the file can be created.
    ///
    /// - Parameters:
    ///   - replacesExisting: whether it may replace a regular file, or a symbolic link, whose target stays unchanged.
    ///   - isStream: whether its bytes are written as they come, so that it may be a pipe or a device as well.
    public init(_ path: String, replacesExisting: Bool, isStream: Bool = false) throws {
        self.path = path
        self.replacesExisting = replacesExisting
        guard path != "-" else {
            throw ProgramError(
                .usage, "The file cannot be standard output.",
                remedy: "Give it a name; for a file named -, write ./-.")
        }
        var status = stat()
        if isStream, stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG { return }
        if lstat(path, &status) == 0 {
            guard [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT) else {
                throw ProgramError(.cannotCreate, "\(printable(path)) is not a regular file.")
            }
            guard replacesExisting else { throw cannotCreate(path, EEXIST) }
        }
        try checkFolder(of: path)
    }

    private func writeFailure(_ number: Int32) -> ProgramError {
        ProgramError(.linkLost, "Cannot write \(printable(path)): \(systemMessage(number))")
    }

    /// Writes a document. Other programs see the whole file or none; after a failure nothing is left.
    /// - Parameter mode: the permissions of the file, which the umask restricts.
    public func write(_ bytes: [UInt8], mode: UInt32 = 0o600) throws {
        let temporary = "\(path).\(getpid()).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw cannotCreate(path) }
        defer { unlink(temporary) }
        let failed = writeAll(bytes, to: descriptor)
        let isStored = fsync(descriptor) == 0
        let number = failed ?? (isStored ? nil : errno)
        close(descriptor)
        if let number { throw writeFailure(number) }
        try put(temporary)
    }

    private func put(_ temporary: String) throws {
        if replacesExisting {
            guard rename(temporary, path) == 0 else { throw cannotCreate(path) }
            return
        }
        // Unlike a rename, a link never replaces a file.
        guard link(temporary, path) != 0 else { return }
        switch errno {
        case EPERM, ENOTSUP, ENOSYS:
            // The file system has no links.
            guard access(path, F_OK) != 0 else { throw cannotCreate(path, EEXIST) }
            guard rename(temporary, path) == 0 else { throw cannotCreate(path) }
        default: throw cannotCreate(path)
        }
    }

    /// Creates the file of a stream, in place of an existing one, and returns what writes its bytes.
    public func stream() throws -> @Sendable ([UInt8]) throws -> Void {
        do throws(KernelError) {
            let file = try OutputFile(path, replacingExisting: replacesExisting)
            return { bytes in
                do throws(KernelError) {
                    try file.write(bytes.span.bytes)
                } catch {
                    throw writeFailure(error.number.rawValue)
                }
            }
        } catch {
            throw cannotCreate(path, error.number.rawValue, remedy: error.fileRemedy)
        }
    }
}
