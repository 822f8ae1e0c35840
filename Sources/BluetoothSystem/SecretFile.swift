import BluetoothPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The reading of a file with secrets, which no other user may read or change.
public enum SecretFile {
    /// The reason why a file is not used.
    public enum Failure: Error, Hashable, Sendable {
        /// There is no such file.
        case missing
        /// It is a directory, a pipe or a device.
        case notRegular
        /// Other users have access to it: its mode, such as 0644.
        case accessible(mode: UInt32)
        /// It belongs to another user than this one and the superuser.
        case foreign
        /// It has more than the permitted number of bytes.
        case tooLong
        /// A system call failed.
        case failed(KernelError)
    }

    /// The content of a file of at most `limit` bytes. A symbolic link is followed; what counts is the file at its end,
    /// which is checked after it was opened, so that it cannot be exchanged meanwhile.
    public static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        let number: CInt
        do throws(KernelError) {
            number = try check("open") { systemOpen(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) }
        } catch {
            throw [ENOENT, ENOTDIR].contains(error.number.rawValue) ? .missing : .failed(error)
        }
        let file = FileDescriptor(number)
        try checkAccess(to: file.number)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count: Int
            do throws(KernelError) {
                count = try check("read") { systemRead(file.number, &chunk, chunk.count) }
            } catch {
                throw .failed(error)
            }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
            guard bytes.count <= limit else { throw .tooLong }
        }
    }

    private static func checkAccess(to number: CInt) throws(Failure) {
        var status = stat()
        do throws(KernelError) {
            try check("fstat") { fstat(number, &status) }
        } catch {
            throw .failed(error)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .foreign }
        guard status.st_mode & 0o077 == 0 else { throw .accessible(mode: UInt32(status.st_mode & 0o777)) }
    }
}
