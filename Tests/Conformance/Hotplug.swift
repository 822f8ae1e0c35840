import BluetoothSockets
import Glibc

/// The value of an environment variable.
func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}

/// The means to unplug an adapter and plug it in again.
struct Hotplug: Sendable {
    let unplug: @Sendable (KernelAdapter) throws -> Void
    let plug: @Sendable () throws -> Void
    /// Blocks all radio switches, or unblocks them.
    let setBlocked: @Sendable (Bool) throws -> Void
    /// Limits the encryption keys that the kernel offers on an adapter.
    let setMaximumKeySize: @Sendable (UInt8, KernelAdapter) throws -> Void

    /// Uses the shell commands in `BLUETOOTH_CONFORMANCE_UNPLUG`, which is given the adapter's index in `$INDEX`, and
    /// `BLUETOOTH_CONFORMANCE_PLUG`; nil without them.
    static let linux: Hotplug? = {
        guard let unplug = environmentVariable("BLUETOOTH_CONFORMANCE_UNPLUG"),
            let plug = environmentVariable("BLUETOOTH_CONFORMANCE_PLUG")
        else { return nil }
        return Hotplug(
            unplug: { try run("INDEX=\($0.index); " + unplug) }, plug: { try run(plug) }, setBlocked: setLinuxBlocked,
            setMaximumKeySize: setLinuxMaximumKeySize)
    }()

    /// Whether the radio switches of the machine can be set.
    static let canBlockLinux = access("/dev/rfkill", W_OK) == 0

    /// Sets the switches as `rfkill block bluetooth` does.
    static func setLinuxBlocked(_ isBlocked: Bool) throws {
        // An event of linux/rfkill.h: no switch in particular, Bluetooth, change all.
        try run("printf '\\0\\0\\0\\0\\2\\3\\\(isBlocked ? 1 : 0)\\0' > /dev/rfkill")
    }

    /// Whether debugfs is mounted, and open to this program.
    static func canLimitLinuxKeySize(of adapter: KernelAdapter) -> Bool {
        access(maximumKeySizeFile(adapter), W_OK) == 0
    }

    /// The kernel's file with the longest encryption key that it offers on an adapter.
    private static func maximumKeySizeFile(_ adapter: KernelAdapter) -> String {
        "/sys/kernel/debug/bluetooth/hci\(adapter.index)/max_key_size"
    }

    /// Limits the encryption keys that this machine's kernel offers on an adapter.
    static func setLinuxMaximumKeySize(_ size: UInt8, _ adapter: KernelAdapter) throws {
        try run("echo \(size) > \(maximumKeySizeFile(adapter))")
    }

    private struct CommandFailed: Error {
        let command: String
        let status: CInt
    }

    private static func run(_ command: String) throws {
        let status = system(command)
        guard status == 0 else { throw CommandFailed(command: command, status: status) }
    }
}
