import BluetoothPrimitives

/// The conditions for using Bluetooth on this host.
package struct HostEnvironment: Hashable, Sendable {
    /// A radio switch of a Bluetooth adapter (`/sys/class/rfkill`).
    package struct RadioSwitch: Hashable, Sendable {
        /// The name of its adapter, such as `hci0`.
        package var name: String
        /// Whether software blocks the radio; `rfkill unblock bluetooth` unblocks it.
        package var isSoftBlocked: Bool
        /// Whether a hardware switch or the firmware blocks the radio.
        package var isHardBlocked: Bool

        /// A switch with the given fields.
        package init(name: String, isSoftBlocked: Bool, isHardBlocked: Bool) {
            self.name = name
            self.isSoftBlocked = isSoftBlocked
            self.isHardBlocked = isHardBlocked
        }
    }

    /// The error with which the kernel refuses Bluetooth sockets; nil when it supports them.
    package var socketError: KernelError?
    /// Whether this process has CAP_NET_RAW.
    package var hasNetRaw: Bool
    /// Whether this process has CAP_NET_ADMIN.
    package var hasNetAdmin: Bool
    /// The path of the running program, for use in advice; nil when unknown.
    package var executablePath: String?
    /// Whether the BlueZ daemon is running.
    package var isBluetoothDaemonRunning: Bool
    /// The radio switches of all Bluetooth adapters.
    package var radioSwitches: [RadioSwitch]
    /// The kernel release, as in `uname -r`.
    package var kernelRelease: String
    /// Whether this program has privileges that its caller does not have, such as file capabilities (`AT_SECURE`).
    package var isSecureExecution: Bool

    /// An environment with the given fields; the defaults permit the use of Bluetooth.
    package init(
        socketError: KernelError? = nil, hasNetRaw: Bool = true, hasNetAdmin: Bool = true,
        executablePath: String? = nil, isBluetoothDaemonRunning: Bool = false, radioSwitches: [RadioSwitch] = [],
        kernelRelease: String = "", isSecureExecution: Bool = false
    ) {
        self.socketError = socketError
        self.hasNetRaw = hasNetRaw
        self.hasNetAdmin = hasNetAdmin
        self.executablePath = executablePath
        self.isBluetoothDaemonRunning = isBluetoothDaemonRunning
        self.radioSwitches = radioSwitches
        self.kernelRelease = kernelRelease
        self.isSecureExecution = isSecureExecution
    }
}

/// A watch of the host's radio switches. Releasing the last reference ends it.
package protocol RadioSwitchWatch: AnyObject, Sendable {}

extension BluetoothKernel {
    /// Not supported.
    package func control(
        _ control: AdapterControl, adapter index: UInt16, then completion: @escaping (KernelError?) -> Void
    ) {
        completion(KernelError("ioctl", .operationNotSupported))
    }

    /// Not supported.
    package func linkHandles(ofAdapter index: UInt16) throws(KernelError) -> [UInt16] {
        throw KernelError("HCIGETCONNLIST", .operationNotSupported)
    }

    /// The radio switches in ``environment()``.
    package func radioSwitches() -> [HostEnvironment.RadioSwitch] { environment().radioSwitches }

    /// No watch, for a kernel that cannot watch the switches.
    package func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)? { nil }
}
