import BluetoothPrimitives
import CBluetoothSockets

/// Small files, read and replaced as a whole. Every call blocks, so do not call them on an event loop.
public enum SystemFiles {
    /// The value of an environment variable; nil when it is unset or empty.
    public static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// Whether this program has privileges that its caller does not have, such as file capabilities (`AT_SECURE`).
    public static let isSecureExecution = getauxval(UInt(AT_SECURE)) != 0

    /// As ``environment(_:)``, and nil in secure execution, where the caller's variables choose nothing.
    /// - Parameter report: called with a message on a variable that is ignored for this reason.
    public static func trustedEnvironment(
        _ name: String, isSecure: Bool = isSecureExecution, reporting report: (String) -> Void = { _ in }
    ) -> String? {
        let value = environment(name)
        guard isSecure, value != nil else { return value }
        report("\(name) is ignored: this program has file capabilities.")
        return nil
    }

    /// The value of an environment variable that names a folder; nil when it is unset or empty, and in a program that
    /// opens files as another user or group than its caller (set-user-ID, set-group-ID).
    ///
    /// A program with file capabilities opens them as its caller, who gains nothing by naming a folder. systemd starts one
    /// in secure execution as well, with `STATE_DIRECTORY`.
    public static func folderEnvironment(_ name: String) -> String? {
        getuid() == geteuid() && getgid() == getegid() ? environment(name) : nil
    }

    /// The contents of a file, or nil when it does not exist (`open`, `read`).
    ///
    /// - Throws: The error of the call; `EFBIG` for a file of more than `limit` bytes.
    public static func read(_ path: String, limit: Int) throws(KernelError) -> [UInt8]? {
        let number: CInt
        do throws(KernelError) {
            // Does not wait when the path is a pipe.
            number = try check("open") { systemOpen(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        } catch {
            guard error.number.rawValue == ENOENT || error.number.rawValue == ENOTDIR else { throw error }
            return nil
        }
        let bytes = try FileDescriptor(number).readAll(limit: limit)
        guard bytes.count <= limit else { throw KernelError("read", ErrorNumber(rawValue: EFBIG)) }
        return bytes
    }

    /// Replaces or creates a file atomically, so that readers see either the old or the new bytes (`open`, `write`,
    /// `fsync`, `rename`, `fsync` of the directory).
    ///
    /// Only the user can read the file. Missing directories are created. A program killed during the call can leave the
    /// temporary file, whose name is that of the file with a suffix that ends in `.new`.
    /// - Parameter hook: Called before each system call; an error it throws replaces that of the call.
    public static func replace(
        _ path: String, with bytes: [UInt8], hook: FileCallHook? = nil
    ) throws(KernelError) {
        _ = try put(bytes, at: path, when: nil, hook)
    }

    /// Replaces a file as ``replace(_:with:hook:)`` does, but only if it exists; returns false, without creating it, if
    /// it does not or another program removes it meanwhile (`renameat2` with `RENAME_EXCHANGE`).
    public static func replaceExisting(
        _ path: String, with bytes: [UInt8], hook: FileCallHook? = nil
    ) throws(KernelError) -> Bool {
        guard exists(path) else { return false }
        return try put(bytes, at: path, when: true, hook)
    }

    /// Creates a file as ``replace(_:with:hook:)`` does, but only if none exists; returns false, leaving the existing
    /// one, also if another program creates it meanwhile (`renameat2` with `RENAME_NOREPLACE`).
    public static func make(
        _ path: String, with bytes: [UInt8], hook: FileCallHook? = nil
    ) throws(KernelError) -> Bool {
        guard !exists(path) else { return false }
        return try put(bytes, at: path, when: false, hook)
    }

    /// Writes a temporary file and renames it to `path`: always, or only if a file exists there, or only if none does.
    /// Returns whether it was renamed.
    private static func put(
        _ bytes: [UInt8], at path: String, when isThere: Bool?, _ hook: FileCallHook?
    ) throws(KernelError) -> Bool {
        let directory = parent(of: path)
        try makeDirectory(directory, hook)
        // Prevents programs and threads from sharing a temporary file.
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: .min ... .max)).new"
        var isPut = true
        do throws(KernelError) {
            try write(bytes, to: temporary, hook)
            if let isThere {
                isPut = try rename(temporary, to: path, when: isThere, hook)
            } else {
                try call("rename", path, hook) { _ in systemRename(temporary, path) }
            }
        } catch {
            _ = try? call("unlink", temporary, hook) { _ in unlink(temporary) }
            throw error
        }
        // The temporary name belongs to the exchanged file, or to the new one that was not renamed.
        if isThere == true || !isPut { try? remove(temporary) }
        let file = FileDescriptor(
            try call("open", directory, hook) { _ in systemOpen(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
        try call("fsync", directory, hook) { _ in fsync(file.number) }
        return isPut
    }

    /// Renames a file, only if a file with the new name exists or only if none does; returns whether it was renamed.
    private static func rename(
        _ path: String, to other: String, when isThere: Bool, _ hook: FileCallHook?
    ) throws(KernelError) -> Bool {
        let flags = isThere ? kernel_rename_exchange : kernel_rename_noreplace
        do throws(KernelError) {
            try call("renameat2", other, hook) { _ in kernel_renameat2(AT_FDCWD, path, AT_FDCWD, other, flags) }
            return true
        } catch {
            switch error.number.rawValue {
            case ENOENT where isThere, EEXIST where !isThere: return false
            // Some file systems, such as NFS, support neither. A concurrent change by another program is lost there.
            case EINVAL, ENOSYS, ENOTSUP:
                guard exists(other) == isThere else { return false }
                try call("rename", other, hook) { _ in systemRename(path, other) }
                return true
            default: throw error
            }
        }
    }

    private static func write(_ bytes: [UInt8], to path: String, _ hook: FileCallHook?) throws(KernelError) {
        let file = FileDescriptor(
            try call("open", path, hook) { _ in
                systemOpen(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600 as mode_t)
            })
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try call("write", path, hook, count: rest.count) { count in
                rest.withUnsafeBytes { systemWrite(file.number, $0.baseAddress, count) }
            }
            rest = rest.dropFirst(count)
        }
        try call("fsync", path, hook) { _ in fsync(file.number) }
    }

    @discardableResult
    private static func call<Result: FixedWidthInteger & SignedInteger>(
        _ name: String, _ path: String, _ hook: FileCallHook?, count: Int = 0, _ body: (Int) -> Result
    ) throws(KernelError) -> Result {
        var call = FileCall(name: name, path: path, count: count)
        try hook?(&call)
        return try check(name) { body(min(call.count, count)) }
    }

    /// The names in a directory, unordered; empty when the directory does not exist (`opendir`, `readdir`).
    public static func names(in directory: String) throws(KernelError) -> [String] {
        guard let folder = opendir(directory) else {
            let number = ErrorNumber(rawValue: errno)
            guard number.rawValue == ENOENT || number.rawValue == ENOTDIR else {
                throw KernelError("opendir", number)
            }
            return []
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        return names.filter { $0 != "." && $0 != ".." }
    }

    /// Whether a file or directory exists at `path` (`access`).
    public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The user as which this process opens files (`geteuid`).
    public static var userIdentifier: UInt32 { geteuid() }

    /// Whether this process runs as the superuser.
    public static var isSuperuser: Bool { userIdentifier == 0 }

    /// Renames a file, replacing any file with the new name (`rename`).
    public static func rename(_ path: String, to other: String) throws(KernelError) {
        try check("rename") { systemRename(path, other) }
    }

    /// Removes a file; a missing one is not an error (`unlink`).
    public static func remove(_ path: String) throws(KernelError) {
        do throws(KernelError) {
            try check("unlink") { unlink(path) }
        } catch {
            guard error.number.rawValue == ENOENT || error.number.rawValue == ENOTDIR else { throw error }
        }
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func makeDirectory(
        _ path: String, makingParents: Bool = true, _ hook: FileCallHook?
    ) throws(KernelError) {
        do throws(KernelError) {
            try call("mkdir", path, hook) { _ in mkdir(path, 0o700) }
        } catch {
            switch error.number.rawValue {
            case EEXIST: return
            case ENOENT where makingParents && path != parent(of: path):
                try makeDirectory(parent(of: path), hook)
                try makeDirectory(path, makingParents: false, hook)
            default: throw error
            }
        }
    }
}

/// A pending system call on a file.
public struct FileCall: Sendable {
    /// The name of the call.
    public let name: String
    /// The path of the file or directory.
    public let path: String
    /// The number of bytes to write, which a hook may reduce.
    public var count: Int
}

/// A hook before a system call on a file; an error it throws replaces that of the call.
public typealias FileCallHook = @Sendable (inout FileCall) throws(KernelError) -> Void
