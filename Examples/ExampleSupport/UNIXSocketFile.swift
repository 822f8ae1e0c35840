/// The file of a UNIX socket, owned by this process while the object lives.
///
/// The lock file `PATH.lock` decides ownership, as for a ``TerminalLink``. A socket at which no program listens was left
/// behind, and is replaced. Anything else at that path is left alone, and no symbolic link is followed.
final class UNIXSocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let number: ino_t
    private let lock: LockFile

    /// Binds a socket to the path.
    /// - Throws: as for a ``TerminalLink``.
    init(_ path: String, of socket: Int32, access: PortAccess) throws {
        self.path = path
        // First, so that no lock file is created beside somebody else's file.
        _ = try Self.exists(path)
        lock = try LockFile(path + ".lock", of: path)
        if try Self.exists(path) {
            guard try Self.isLeftBehind(path) else {
                throw ProgramError(
                    .linkLost, "\(printable(path)) is in use by another program.",
                    remedy: "End that program, or choose another path.")
            }
            unlink(path)
        }
        // The file gets the mode of the socket, less the umask, so that nobody else can connect before the access is set.
        guard fchmod(socket, 0o600) == 0, withUNIXAddress(Array(path.utf8), { bind(socket, $0, $1) }) == 0 else {
            throw cannotCreate(path)
        }
        var status = stat()
        do {
            guard lstat(path, &status) == 0 else { throw cannotCreate(path) }
            try access.apply(toFile: path)
        } catch {
            unlink(path)
            throw error
        }
        (device, number) = (status.st_dev, status.st_ino)
    }

    deinit {
        // The path may have been replaced meanwhile.
        var status = stat()
        if lstat(path, &status) == 0, (status.st_dev, status.st_ino) == (device, number) { unlink(path) }
    }

    /// Whether there is a socket at the path.
    private static func exists(_ path: String) throws -> Bool {
        guard let status = try occupant(of: path) else { return false }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw pathIsTaken(path, by: status, insteadOf: "a socket") }
        return true
    }

    /// Whether no program listens at a socket, or none could connect to it.
    private static func isLeftBehind(_ path: String) throws -> Bool {
        let socket = systemSocket(AF_UNIX, streamSocket)
        guard socket >= 0 else { throw cannotCreate(path) }
        // A program that does not accept connections makes it wait otherwise.
        let probe = OpenDescriptor(socket, label: "probe", isSocket: true)
        return withUNIXAddress(Array(path.utf8)) { systemConnect(probe.number, $0, $1) } != 0 && errno == ECONNREFUSED
    }
}

/// Calls `body` with the address of a UNIX socket: a path, or a name after a zero. If that is too long, the result is -1,
/// and `errno` is set.
func withUNIXAddress(_ name: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard name.count < MemoryLayout.size(ofValue: address.sun_path) else {
        errno = ENAMETOOLONG
        return -1
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    // An abstract name is as long as the address says.
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + name.count } ?? 0
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
}
