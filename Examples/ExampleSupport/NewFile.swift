import BluetoothPrimitives
import BluetoothSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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
        guard !path.isEmpty else { throw ProgramError(.usage, "The name of the file to write is empty.") }
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
            guard replacesExisting else { throw alreadyExists }
        }
        guard access(folder, W_OK | X_OK) == 0 else { throw failure() }
    }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private var alreadyExists: ProgramError {
        ProgramError(
            .cannotCreate, "\(printable(path)) exists.",
            remedy: "Choose another name, or replace the file with --force.")
    }

    private func failure(_ number: Int32 = errno, _ remedy: String? = nil) -> ProgramError {
        ProgramError(.cannotCreate, "Cannot create \(printable(path)): \(systemMessage(number))", remedy: remedy)
    }

    private func writeFailure(_ number: Int32) -> ProgramError {
        ProgramError(.linkLost, "Cannot write \(printable(path)): \(systemMessage(number))")
    }

    /// Writes a document. Other programs see the whole file or none; after a failure nothing is left.
    /// - Parameter mode: the permissions of the file, which the umask restricts.
    public func write(_ bytes: [UInt8], mode: UInt32 = 0o600) throws {
        let temporary = "\(path).\(getpid()).new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure() }
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
            guard rename(temporary, path) == 0 else { throw failure() }
            return
        }
        // Unlike a rename, a link never replaces a file.
        guard link(temporary, path) != 0 else { return }
        switch errno {
        case EEXIST: throw alreadyExists
        case EPERM, ENOTSUP, ENOSYS:
            // The file system has no links.
            guard access(path, F_OK) != 0 else { throw alreadyExists }
            guard rename(temporary, path) == 0 else { throw failure() }
        default: throw failure()
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
            throw error.number == .fileExists ? alreadyExists : failure(error.number.rawValue, error.fileRemedy)
        }
    }
}
