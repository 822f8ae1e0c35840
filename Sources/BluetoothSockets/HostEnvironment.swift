/// What around the sockets decides whether Bluetooth can be used on this machine.
public struct HostEnvironment: Hashable, Sendable {
    /// A radio switch of a Bluetooth adapter (`/sys/class/rfkill`).
    public struct RadioSwitch: Hashable, Sendable {
        /// The adapter it belongs to, such as `hci0`.
        public var name: String
        /// Blocked by software; `rfkill unblock bluetooth` undoes it.
        public var isSoftBlocked: Bool
        /// Blocked by a switch on the machine or its firmware.
        public var isHardBlocked: Bool

        /// A switch from its parts.
        public init(name: String, isSoftBlocked: Bool, isHardBlocked: Bool) {
            self.name = name
            self.isSoftBlocked = isSoftBlocked
            self.isHardBlocked = isHardBlocked
        }
    }

    /// Why the kernel refuses Bluetooth sockets altogether; nil when it has them.
    public var socketError: KernelError?
    /// Whether this process has CAP_NET_RAW.
    public var hasNetRaw: Bool
    /// Whether this process has CAP_NET_ADMIN.
    public var hasNetAdmin: Bool
    /// The file of the running program, for advice that names it; nil when it cannot be told.
    public var executablePath: String?
    /// Whether BlueZ's daemon is running.
    public var isBluetoothDaemonRunning: Bool
    /// The radio switches of all Bluetooth adapters.
    public var radioSwitches: [RadioSwitch]
    /// The kernel's release, as `uname -r` prints it.
    public var kernelRelease: String

    /// An environment from its parts; what is not given is as it should be.
    public init(
        socketError: KernelError? = nil, hasNetRaw: Bool = true, hasNetAdmin: Bool = true,
        executablePath: String? = nil, isBluetoothDaemonRunning: Bool = false, radioSwitches: [RadioSwitch] = [],
        kernelRelease: String = ""
    ) {
        self.socketError = socketError
        self.hasNetRaw = hasNetRaw
        self.hasNetAdmin = hasNetAdmin
        self.executablePath = executablePath
        self.isBluetoothDaemonRunning = isBluetoothDaemonRunning
        self.radioSwitches = radioSwitches
        self.kernelRelease = kernelRelease
    }
}

/// A watch on the machine's radio switches. Dropping the last reference ends it.
public protocol RadioSwitchWatch: AnyObject, Sendable {}

extension BluetoothKernel {
    /// The radio switches as the environment tells them.
    public func radioSwitches() -> [HostEnvironment.RadioSwitch] { environment().radioSwitches }

    /// No watch: such a kernel cannot tell when a switch changes.
    public func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)? { nil }
}
