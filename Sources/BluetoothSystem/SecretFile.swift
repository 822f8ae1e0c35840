import BluetoothPrimitives

/// The reading of files with secrets, which no other user may read or change, and the check of their folders.
public enum SecretFile {
    /// The reason why a file or a folder is not used.
    public enum Failure: Error, Hashable, Sendable {
        /// There is no such file.
        case missing
        /// It is a directory, a pipe or a device; of a folder, that it is none.
        case notRegular
        /// It is a symbolic link, which is not followed.
        case symbolicLink
        /// Other users have access to it, or can write to the folder: its mode, such as 0644, and its owner.
        case accessible(mode: UInt32, owner: UInt32)
        /// It belongs to another user than this one and the superuser.
        case foreign(owner: UInt32)
        /// It has more than the permitted number of bytes.
        case tooLong
        /// A system call failed.
        case failed(KernelError)
    }

    /// The content of a file of at most `limit` bytes, which is checked after it was opened, so that it cannot be
    /// exchanged meanwhile.
    public static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        let file = FileDescriptor(
            try call("open") { systemOpen(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW) })
        try checkAccess(to: file.number)
        let bytes: [UInt8]
        do throws(KernelError) {
            bytes = try file.readAll(limit: limit)
        } catch {
            throw .failed(error)
        }
        guard bytes.count <= limit else { throw .tooLong }
        return bytes
    }

    /// Checks a folder of such files, into which no other user may put one. A missing one passes: whoever creates it
    /// owns it. The folders above it are not checked.
    ///
    /// A symbolic link to a folder passes if it is this user's or the superuser's, as those of systemd are
    /// (`DynamicUser=`): no other user has planted it.
    public static func checkFolder(_ path: String) throws(Failure) {
        var (link, folder) = (stat(), stat())
        do throws(Failure) {
            try call("lstat") { lstat(path, &link) }
            try call("stat") { stat(path, &folder) }
        } catch {
            guard error != .missing else { return }
            throw error
        }
        try checkOwner(of: link)
        try checkOwner(of: folder)
        guard folder.st_mode & S_IFMT == S_IFDIR else { throw .notRegular }
        try checkMode(of: folder, without: S_IWGRP | S_IWOTH)
    }

    @discardableResult
    private static func call(_ name: String, _ body: () -> CInt) throws(Failure) -> CInt {
        do throws(KernelError) {
            return try check(name, body)
        } catch {
            throw Failure(error)
        }
    }

    private static func checkAccess(to number: CInt) throws(Failure) {
        var status = stat()
        try call("fstat") { fstat(number, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        try checkOwner(of: status)
        try checkMode(of: status, without: S_IRWXG | S_IRWXO)
    }

    private static func checkOwner(of status: stat) throws(Failure) {
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .foreign(owner: status.st_uid) }
    }

    private static func checkMode(of status: stat, without bits: mode_t) throws(Failure) {
        guard status.st_mode & bits == 0 else {
            throw .accessible(mode: UInt32(status.st_mode & 0o7777), owner: status.st_uid)
        }
    }
}

extension SecretFile.Failure {
    fileprivate init(_ error: KernelError) {
        switch error.number.rawValue {
        case ENOENT, ENOTDIR: self = .missing
        case ELOOP: self = .symbolicLink
        default: self = .failed(error)
        }
    }

    /// Whether another user could have read or changed it.
    public var isUnsafe: Bool {
        switch self {
        case .symbolicLink, .accessible, .foreign: true
        case .missing, .notRegular, .tooLong, .failed: false
        }
    }
}
