import BluetoothKernel
import Glibc

/// The value of an environment variable.
func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}

/// How an adapter is taken away, as pulling it out does, and put back.
struct Hotplug: Sendable {
    let unplug: @Sendable (KernelAdapter) throws -> Void
    let plug: @Sendable () throws -> Void

    /// By the shell commands in `BLUETOOTH_CONFORMANCE_UNPLUG`, which is given the adapter's index in `$INDEX`, and
    /// `BLUETOOTH_CONFORMANCE_PLUG`; nil without them.
    static let linux: Hotplug? = {
        guard let unplug = environmentVariable("BLUETOOTH_CONFORMANCE_UNPLUG"),
            let plug = environmentVariable("BLUETOOTH_CONFORMANCE_PLUG")
        else { return nil }
        return Hotplug(unplug: { try run("INDEX=\($0.index); " + unplug) }, plug: { try run(plug) })
    }()

    private struct CommandFailed: Error {
        let command: String
        let status: CInt
    }

    private static func run(_ command: String) throws {
        let status = system(command)
        guard status == 0 else { throw CommandFailed(command: command, status: status) }
    }
}
