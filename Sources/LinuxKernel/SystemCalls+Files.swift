import BluetoothKernel
import Glibc

// Files: one that is written, the radio switches', and those in which the system tells of itself.

/// A file that one thread writes.
final class OutputFile: Sendable {
    private let descriptor: CInt

    /// Creates a file that only its owner can read, or opens the pipe, device or open descriptor of this path.
    ///
    /// A regular file, or a symbolic link to one or to nothing, is an error, EEXIST, unless it is `replaced`: then it is
    /// removed, so that a link's target stays as it is. A pipe without a reader is an error, ENXIO, rather than waited for.
    init(_ path: String, replacingExisting: Bool) throws(KernelError) {
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
        try check("open") { Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
    }

    /// Opens a pipe or a device.
    private static func openSpecial(_ path: String) throws(KernelError) -> CInt {
        let descriptor = try check("open") { Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
            _ = Glibc.close(descriptor)
            throw KernelError("open", .fileExists)
        }
        // Opened, it is written at whatever pace the reader has.
        _ = fcntl(descriptor, F_SETFL, 0)
        return descriptor
    }

    /// The descriptor that a path such as `/dev/fd/3` stands for; nil for any other path.
    private static func descriptorNumber(_ path: String) -> CInt? {
        switch path {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default:
            let folder = ["/dev/fd/", "/proc/self/fd/"].first { path.hasPrefix($0) }
            return folder.flatMap { CInt(path.dropFirst($0.count)) }
        }
    }

    /// Another descriptor of the same open file: opened by its path it would begin anew, and a socket could not be opened.
    private static func duplicate(_ number: CInt) throws(KernelError) -> CInt {
        let flags = try check("fcntl") { fcntl(number, F_GETFL) }
        guard flags & O_ACCMODE != O_RDONLY else { throw KernelError("write", .badFileDescriptor) }
        return try check("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 3) }
    }

    deinit {
        _ = Glibc.close(descriptor)
    }

    /// Writes all of `bytes`, however long that takes.
    func write(_ bytes: RawSpan) throws(KernelError) {
        var rest = bytes
        while rest.byteCount > 0 {
            do throws(KernelError) {
                let count = try check("write") {
                    rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
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

// MARK: Radio switches

extension FileDescriptor {
    /// The events of the machine's radio switches; those that are there come as the first.
    static func radioSwitchEvents() throws(KernelError) -> FileDescriptor {
        FileDescriptor(try check("open") { open("/dev/rfkill", O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
    }

    /// Takes all events that are there without looking at them; false when there will be no more.
    func skipRadioSwitchEvents() -> Bool {
        // One event a call, of 8 or, since Linux 5.11, 9 bytes.
        var event = [UInt8](repeating: 0, count: 16)
        do throws(KernelError) {
            while try check("read", { read(number, &event, event.count) }) > 0 {}
            return false
        } catch {
            return error.number == .wouldBlock
        }
    }
}

// MARK: Files of the system

/// The first `limit` bytes of a file as text; nil when it cannot be read.
func fileText(_ path: String, limit: Int = 4096) -> String? {
    guard let number = try? check("open", { open(path, O_RDONLY | O_CLOEXEC) }) else { return nil }
    let file = FileDescriptor(number)
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1024)
    while text.count < limit {
        let wanted = min(buffer.count, limit - text.count)
        guard let count = try? check("read", { read(file.number, &buffer, wanted) }) else { return nil }
        guard count > 0 else { break }
        text.append(contentsOf: buffer.prefix(count))
    }
    return String(decoding: text, as: UTF8.self)
}

/// Where a symbolic link leads; nil when it cannot be read.
func linkTarget(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &buffer, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// A path without symbolic links; nil when there is nothing (`realpath`).
func resolvedPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
}

/// The names in a folder, in no order; none when it cannot be read.
func folderEntries(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
    }
    return names.filter { $0 != "." && $0 != ".." }
}

/// The kernel's release, as `uname -r` prints it.
func systemRelease() -> String {
    var name = utsname()
    guard uname(&name) == 0 else { return "" }
    return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
