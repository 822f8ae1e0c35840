/// How a command of the kernel's management interface ended.
///
/// The set is open: a code without a name keeps its value.
public struct ManagementStatus: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A status of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Whether the command did what it was asked to.
    public var isSuccess: Bool { rawValue == 0 }

    /// The command did what it was asked to.
    public static let success = ManagementStatus(rawValue: 0x00)
    /// The kernel does not know the command.
    public static let unknownCommand = ManagementStatus(rawValue: 0x01)
    /// There is no connection to the device.
    public static let notConnected = ManagementStatus(rawValue: 0x02)
    /// Failed for no particular reason; also Set Powered on an adapter that rfkill blocks.
    public static let failed = ManagementStatus(rawValue: 0x03)
    /// The connection could not be made.
    public static let connectFailed = ManagementStatus(rawValue: 0x04)
    /// Pairing failed.
    public static let authenticationFailed = ManagementStatus(rawValue: 0x05)
    /// There are no keys of the device.
    public static let notPaired = ManagementStatus(rawValue: 0x06)
    /// The kernel has no room for more.
    public static let noResources = ManagementStatus(rawValue: 0x07)
    /// The other side did not answer in time.
    public static let timeout = ManagementStatus(rawValue: 0x08)
    /// The device is connected already.
    public static let alreadyConnected = ManagementStatus(rawValue: 0x09)
    /// The same is being done already.
    public static let busy = ManagementStatus(rawValue: 0x0A)
    /// Not possible in the adapter's present state.
    public static let rejected = ManagementStatus(rawValue: 0x0B)
    /// The adapter cannot do this.
    public static let notSupported = ManagementStatus(rawValue: 0x0C)
    /// The command's parameters make no sense.
    public static let invalidParameters = ManagementStatus(rawValue: 0x0D)
    /// The device disconnected while this was being done.
    public static let disconnected = ManagementStatus(rawValue: 0x0E)
    /// The adapter is off.
    public static let notPowered = ManagementStatus(rawValue: 0x0F)
    /// Somebody cancelled it.
    public static let cancelled = ManagementStatus(rawValue: 0x10)
    /// There is no such adapter.
    public static let invalidIndex = ManagementStatus(rawValue: 0x11)
    /// The adapter is blocked by rfkill.
    public static let rfkilled = ManagementStatus(rawValue: 0x12)
    /// There are keys of the device already.
    public static let alreadyPaired = ManagementStatus(rawValue: 0x13)
    /// The process lacks CAP_NET_ADMIN.
    public static let permissionDenied = ManagementStatus(rawValue: 0x14)
}

extension ManagementStatus: CustomStringConvertible {
    /// The status in words and as a number.
    public var description: String { "\(words) (0x\(hexadecimal(rawValue, digits: 2)))" }

    private var words: String {
        switch self {
        case .success: return "success"
        case .unknownCommand: return "unknown command"
        case .notConnected: return "not connected"
        case .failed: return "failed"
        case .connectFailed: return "connect failed"
        case .authenticationFailed: return "authentication failed"
        case .notPaired: return "not paired"
        case .noResources: return "no resources"
        case .timeout: return "timeout"
        case .alreadyConnected: return "already connected"
        case .busy: return "busy"
        case .rejected: return "rejected"
        case .notSupported: return "not supported"
        case .invalidParameters: return "invalid parameters"
        case .disconnected: return "disconnected"
        case .notPowered: return "not powered"
        case .cancelled: return "cancelled"
        case .invalidIndex: return "invalid index"
        case .rfkilled: return "blocked by rfkill"
        case .alreadyPaired: return "already paired"
        case .permissionDenied: return "permission denied"
        default: return "unknown status"
        }
    }
}
