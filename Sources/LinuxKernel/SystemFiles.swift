import BluetoothKernel
import Glibc

/// Small files: read whole and replaced whole. Every call blocks, so none belongs on an event loop.
public enum SystemFiles {
    /// The value of an environment variable; nil when it is not set or empty.
    public static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// All bytes of a file, or nil when there is none (`open`, `read`).
    ///
    /// - Throws: the error of the call; `EFBIG` for a file of more than `limit` bytes.
    public static func read(_ path: String, limit: Int) throws(KernelError) -> [UInt8]? {
        let number: CInt
        do throws(KernelError) {
            // A pipe in place of a file is not waited for.
            number = try check("open") { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        } catch {
            guard error.number.rawValue == ENOENT || error.number.rawValue == ENOTDIR else { throw error }
            return nil
        }
        let file = FileDescriptor(number)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = try check("read") { Glibc.read(file.number, &chunk, chunk.count) }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
            guard bytes.count <= limit else { throw KernelError("read", ErrorNumber(rawValue: EFBIG)) }
        }
    }

    /// Replaces a file, or makes it, so that whoever reads it finds the old bytes or the new and never a part
    /// (`open`, `write`, `fsync`, `rename`, `fsync` of the directory).
    ///
    /// Only the user can read it. Directories that are missing are made.
    public static func replace(_ path: String, with bytes: [UInt8]) throws(KernelError) {
        let directory = parent(of: path)
        try makeDirectory(directory)
        // Two programs, or two threads of one, do not write to the same temporary file.
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: .min ... .max)).new"
        do throws(KernelError) {
            try write(bytes, to: temporary)
            try check("rename") { Glibc.rename(temporary, path) }
        } catch {
            _ = unlink(temporary)
            throw error
        }
        let file = FileDescriptor(try check("open") { Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
        try check("fsync") { fsync(file.number) }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(KernelError) {
        let file = FileDescriptor(
            try check("open") { Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600 as mode_t) })
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try check("write") {
                rest.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(count)
        }
        try check("fsync") { fsync(file.number) }
    }

    /// Gives a file another name in place of what had that name (`rename`).
    public static func rename(_ path: String, to other: String) throws(KernelError) {
        try check("rename") { Glibc.rename(path, other) }
    }

    /// Removes a file; one that is not there is no error (`unlink`).
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

    private static func makeDirectory(_ path: String) throws(KernelError) {
        guard mkdir(path, 0o700) != 0 else { return }
        switch errno {
        case EEXIST: return
        case ENOENT where path != parent(of: path):
            try makeDirectory(parent(of: path))
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { fallthrough }
        default: throw KernelError("mkdir", ErrorNumber(rawValue: errno))
        }
    }
}
