import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem

// Files: the radio switches' device, and system information.

extension FileDescriptor {
    /// The events of the machine's radio switches; the first are those of the present ones.
    static func radioSwitchEvents() throws(KernelError) -> FileDescriptor {
        FileDescriptor(try check("open") { open("/dev/rfkill", O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
    }

    /// Discards the queued events; false when there will be no more.
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

/// The first `limit` bytes of a file as text; nil when it cannot be read.
func fileText(_ path: String, limit: Int = 4096) -> String? {
    guard let number = try? check("open", { systemOpen(path, O_RDONLY | O_CLOEXEC) }),
        let bytes = try? FileDescriptor(number).readAll(limit: limit)
    else { return nil }
    return String(decoding: bytes.prefix(limit), as: UTF8.self)
}

/// The target of a symbolic link; nil when it cannot be read.
func linkTarget(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &buffer, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// A path without symbolic links; nil when there is no such file (`realpath`).
func resolvedPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
}

/// The kernel's release, as `uname -r` prints it.
func systemRelease() -> String {
    var name = utsname()
    guard uname(&name) == 0 else { return "" }
    return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
