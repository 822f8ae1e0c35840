import BluetoothPrimitives

/// The status of a command of the kernel's management interface.
///
/// An open set: codes without a name keep their value.
public struct ManagementStatus: RawRepresentable, Hashable, Sendable {
    /// The status as sent, one byte.
    public let rawValue: UInt8

    /// The status with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Whether the command succeeded.
    public var isSuccess: Bool { rawValue == 0 }

    /// The command succeeded.
    public static let success = ManagementStatus(rawValue: 0x00)
    /// The kernel does not support the command.
    public static let unknownCommand = ManagementStatus(rawValue: 0x01)
    /// The device is not connected.
    public static let notConnected = ManagementStatus(rawValue: 0x02)
    /// The command failed without a specific reason; also Set Powered on an adapter that rfkill blocks.
    public static let failed = ManagementStatus(rawValue: 0x03)
    /// The connection could not be established.
    public static let connectFailed = ManagementStatus(rawValue: 0x04)
    /// Pairing failed.
    public static let authenticationFailed = ManagementStatus(rawValue: 0x05)
    /// The device is not paired.
    public static let notPaired = ManagementStatus(rawValue: 0x06)
    /// The kernel has insufficient resources.
    public static let noResources = ManagementStatus(rawValue: 0x07)
    /// The device did not respond in time.
    public static let timeout = ManagementStatus(rawValue: 0x08)
    /// The device is already connected.
    public static let alreadyConnected = ManagementStatus(rawValue: 0x09)
    /// The same operation is already in progress.
    public static let busy = ManagementStatus(rawValue: 0x0A)
    /// The operation is impossible in the adapter's present state.
    public static let rejected = ManagementStatus(rawValue: 0x0B)
    /// The adapter does not support the operation.
    public static let notSupported = ManagementStatus(rawValue: 0x0C)
    /// The parameters of the command are invalid.
    public static let invalidParameters = ManagementStatus(rawValue: 0x0D)
    /// The device disconnected during the operation.
    public static let disconnected = ManagementStatus(rawValue: 0x0E)
    /// The adapter is powered off.
    public static let notPowered = ManagementStatus(rawValue: 0x0F)
    /// The operation was cancelled.
    public static let cancelled = ManagementStatus(rawValue: 0x10)
    /// The adapter does not exist.
    public static let invalidIndex = ManagementStatus(rawValue: 0x11)
    /// rfkill blocks the adapter.
    public static let rfkilled = ManagementStatus(rawValue: 0x12)
    /// The device is already paired.
    public static let alreadyPaired = ManagementStatus(rawValue: 0x13)
    /// The process lacks CAP_NET_ADMIN.
    public static let permissionDenied = ManagementStatus(rawValue: 0x14)
}

extension ManagementStatus: CustomStringConvertible {
    /// The name and the value of the status.
    public var description: String {
        "\(codeName(rawValue, Self.names) ?? "unknown status") (0x\(hexadecimal(rawValue, digits: 2)))"
    }

    /// The names, by value.
    private static let names = [
        "success", "unknown command", "not connected", "failed", "connect failed", "authentication failed",
        "not paired", "no resources", "timeout", "already connected", "busy", "rejected", "not supported",
        "invalid parameters", "disconnected", "not powered", "cancelled", "invalid index", "blocked by rfkill",
        "already paired", "permission denied",
    ]
}
