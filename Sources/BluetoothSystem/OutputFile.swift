import BluetoothPrimitives

/// A file for writing by one thread.
package final class OutputFile: Sendable {
    private let descriptor: CInt

    /// Creates a file that only its owner can read, or opens an existing pipe, device or descriptor.
    ///
    /// An existing regular file, or a symbolic link to one or to nothing, is an error (EEXIST) unless it is replaced:
    /// then it is removed first, so that a link's target stays unchanged. A symbolic link to anything else is an error
    /// (ELOOP), since another user may have planted it, and so is a pipe without a reader (ENXIO).
    package init(_ path: String, replacingExisting: Bool) throws(KernelError) {
        if let number = Self.descriptorNumber(path) {
            descriptor = try Self.duplicate(number)
        } else {
            descriptor = try Self.open(path, replacingExisting: replacingExisting)
        }
    }

    private static func open(_ path: String, replacingExisting: Bool) throws(KernelError) -> CInt {
        do throws(KernelError) {
            return try create(path)
        } catch {
            guard error.number == .fileExists else { throw error }
            var status = stat()
            let isThere = stat(path, &status) == 0
            if isThere, status.st_mode & S_IFMT != S_IFREG { return try openSpecial(path) }
            guard replacingExisting else { throw error }
            try check("unlink") { unlink(path) }
            return try create(path)
        }
    }

    private static func create(_ path: String) throws(KernelError) -> CInt {
        try check("open") { systemOpen(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
    }

    /// Opens a pipe or a device.
    private static func openSpecial(_ path: String) throws(KernelError) -> CInt {
        let descriptor = try check("open") {
            systemOpen(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
            _ = systemClose(descriptor)
            throw KernelError("open", .fileExists)
        }
        // Once opened, writes block for as long as the reader needs.
        _ = fcntl(descriptor, F_SETFL, 0)
        return descriptor
    }

    /// The descriptor in a path such as `/dev/fd/3`; nil for any other path.
    private static func descriptorNumber(_ path: String) -> CInt? {
        switch path {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default:
            let folder = ["/dev/fd/", "/proc/self/fd/"].first { path.hasPrefix($0) }
            return folder.flatMap { CInt(path.dropFirst($0.count)) }
        }
    }

    /// A duplicate of the descriptor: opening its path would begin at offset 0, and would fail for a socket.
    private static func duplicate(_ number: CInt) throws(KernelError) -> CInt {
        let flags = try check("fcntl") { fcntl(number, F_GETFL) }
        guard flags & (O_WRONLY | O_RDWR) != 0 else { throw KernelError("write", .badFileDescriptor) }
        return try check("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 3) }
    }

    deinit {
        _ = systemClose(descriptor)
    }

    /// Writes all of `bytes`, waiting as long as necessary.
    package func write(_ bytes: RawSpan) throws(KernelError) {
        var rest = bytes
        while rest.byteCount > 0 {
            do throws(KernelError) {
                let count = try check("write") {
                    rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
                }
                rest = rest.extracting(droppingFirst: count)
            } catch {
                // Another user of the same open file may have made it non-blocking.
                guard error.number == .wouldBlock else { throw error }
                var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                try check("poll") { poll(&event, 1, -1) }
            }
        }
    }
}

extension KernelError {
    /// What to do about the error of a file that cannot be written; nil if nothing is known.
    package var fileRemedy: String? {
        switch number {
        case .fileExists: "Choose another name, or replace the file."
        case .accessDenied, .notPermitted: "Choose a file in a folder that this program may write to."
        case .noSuchDeviceOrAddress: "The pipe has no reader: start its reader first."
        case .symbolicLink: "Name the file that the symbolic link leads to."
        case .noSpace: "Make room on the disk, or choose another one."
        default: nil
        }
    }
}
