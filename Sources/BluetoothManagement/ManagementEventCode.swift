import BluetoothPrimitives

/// The code of an event.
///
/// The set is open: kernels add events, and a code without a name keeps its value.
public struct ManagementEventCode: RawRepresentable, Hashable, Sendable {
    /// The number in the packet.
    public let rawValue: UInt16

    /// A code of any value.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Command Complete.
    public static let commandComplete = ManagementEventCode(rawValue: 0x0001)
    /// Command Status.
    public static let commandStatus = ManagementEventCode(rawValue: 0x0002)
    /// Controller Error.
    public static let controllerError = ManagementEventCode(rawValue: 0x0003)
    /// Index Added.
    public static let indexAdded = ManagementEventCode(rawValue: 0x0004)
    /// Index Removed.
    public static let indexRemoved = ManagementEventCode(rawValue: 0x0005)
    /// New Settings.
    public static let newSettings = ManagementEventCode(rawValue: 0x0006)
    /// Class Of Device Changed.
    public static let classOfDeviceChanged = ManagementEventCode(rawValue: 0x0007)
    /// Local Name Changed.
    public static let localNameChanged = ManagementEventCode(rawValue: 0x0008)
    /// New Link Key.
    public static let newLinkKey = ManagementEventCode(rawValue: 0x0009)
    /// New Long Term Key.
    public static let newLongTermKey = ManagementEventCode(rawValue: 0x000A)
    /// Device Connected.
    public static let deviceConnected = ManagementEventCode(rawValue: 0x000B)
    /// Device Disconnected.
    public static let deviceDisconnected = ManagementEventCode(rawValue: 0x000C)
    /// Connect Failed.
    public static let connectFailed = ManagementEventCode(rawValue: 0x000D)
    /// PIN Code Request.
    public static let pinCodeRequest = ManagementEventCode(rawValue: 0x000E)
    /// User Confirmation Request.
    public static let userConfirmationRequest = ManagementEventCode(rawValue: 0x000F)
    /// User Passkey Request.
    public static let userPasskeyRequest = ManagementEventCode(rawValue: 0x0010)
    /// Authentication Failed.
    public static let authenticationFailed = ManagementEventCode(rawValue: 0x0011)
    /// Device Found.
    public static let deviceFound = ManagementEventCode(rawValue: 0x0012)
    /// Discovering.
    public static let discovering = ManagementEventCode(rawValue: 0x0013)
    /// Device Blocked.
    public static let deviceBlocked = ManagementEventCode(rawValue: 0x0014)
    /// Device Unblocked.
    public static let deviceUnblocked = ManagementEventCode(rawValue: 0x0015)
    /// Device Unpaired.
    public static let deviceUnpaired = ManagementEventCode(rawValue: 0x0016)
    /// Passkey Notify.
    public static let passkeyNotify = ManagementEventCode(rawValue: 0x0017)
    /// New Identity Resolving Key.
    public static let newIdentityResolvingKey = ManagementEventCode(rawValue: 0x0018)
    /// New Signature Resolving Key.
    public static let newSignatureResolvingKey = ManagementEventCode(rawValue: 0x0019)
    /// Device Added.
    public static let deviceAdded = ManagementEventCode(rawValue: 0x001A)
    /// Device Removed.
    public static let deviceRemoved = ManagementEventCode(rawValue: 0x001B)
    /// New Connection Parameter.
    public static let newConnectionParameter = ManagementEventCode(rawValue: 0x001C)
    /// Unconfigured Index Added.
    public static let unconfiguredIndexAdded = ManagementEventCode(rawValue: 0x001D)
    /// Unconfigured Index Removed.
    public static let unconfiguredIndexRemoved = ManagementEventCode(rawValue: 0x001E)
    /// New Configuration Options.
    public static let newConfigurationOptions = ManagementEventCode(rawValue: 0x001F)
    /// Extended Index Added.
    public static let extendedIndexAdded = ManagementEventCode(rawValue: 0x0020)
    /// Extended Index Removed.
    public static let extendedIndexRemoved = ManagementEventCode(rawValue: 0x0021)
    /// Local Out Of Band Extended Data Updated.
    public static let localOutOfBandExtendedDataUpdated = ManagementEventCode(rawValue: 0x0022)
    /// Advertising Added.
    public static let advertisingAdded = ManagementEventCode(rawValue: 0x0023)
    /// Advertising Removed.
    public static let advertisingRemoved = ManagementEventCode(rawValue: 0x0024)
    /// Extended Controller Information Changed.
    public static let extendedControllerInformationChanged = ManagementEventCode(rawValue: 0x0025)
    /// PHY Configuration Changed.
    public static let phyConfigurationChanged = ManagementEventCode(rawValue: 0x0026)
    /// Experimental Feature Changed.
    public static let experimentalFeatureChanged = ManagementEventCode(rawValue: 0x0027)
    /// Default System Configuration Changed.
    public static let defaultSystemConfigurationChanged = ManagementEventCode(rawValue: 0x0028)
    /// Default Runtime Configuration Changed.
    public static let defaultRuntimeConfigurationChanged = ManagementEventCode(rawValue: 0x0029)
    /// Device Flags Changed.
    public static let deviceFlagsChanged = ManagementEventCode(rawValue: 0x002A)
    /// Advertisement Monitor Added.
    public static let advertisementMonitorAdded = ManagementEventCode(rawValue: 0x002B)
    /// Advertisement Monitor Removed.
    public static let advertisementMonitorRemoved = ManagementEventCode(rawValue: 0x002C)
    /// Controller Suspend.
    public static let controllerSuspend = ManagementEventCode(rawValue: 0x002D)
    /// Controller Resume.
    public static let controllerResume = ManagementEventCode(rawValue: 0x002E)
    /// Advertisement Monitor Device Found.
    public static let advertisementMonitorDeviceFound = ManagementEventCode(rawValue: 0x002F)
    /// Advertisement Monitor Device Lost.
    public static let advertisementMonitorDeviceLost = ManagementEventCode(rawValue: 0x0030)
    /// Mesh Device Found.
    public static let meshDeviceFound = ManagementEventCode(rawValue: 0x0031)
    /// Mesh Packet Transmit Complete.
    public static let meshPacketTransmitComplete = ManagementEventCode(rawValue: 0x0032)
}

extension ManagementEventCode: CustomStringConvertible {
    /// The event's name in the kernel's documentation, or the code where it has none here.
    public var description: String {
        switch self {
        case .commandComplete: return "Command Complete"
        case .commandStatus: return "Command Status"
        case .controllerError: return "Controller Error"
        case .indexAdded: return "Index Added"
        case .indexRemoved: return "Index Removed"
        case .newSettings: return "New Settings"
        case .classOfDeviceChanged: return "Class Of Device Changed"
        case .localNameChanged: return "Local Name Changed"
        case .newLinkKey: return "New Link Key"
        case .newLongTermKey: return "New Long Term Key"
        case .deviceConnected: return "Device Connected"
        case .deviceDisconnected: return "Device Disconnected"
        case .connectFailed: return "Connect Failed"
        case .pinCodeRequest: return "PIN Code Request"
        case .userConfirmationRequest: return "User Confirmation Request"
        case .userPasskeyRequest: return "User Passkey Request"
        case .authenticationFailed: return "Authentication Failed"
        case .deviceFound: return "Device Found"
        case .discovering: return "Discovering"
        case .deviceBlocked: return "Device Blocked"
        case .deviceUnblocked: return "Device Unblocked"
        case .deviceUnpaired: return "Device Unpaired"
        case .passkeyNotify: return "Passkey Notify"
        case .newIdentityResolvingKey: return "New Identity Resolving Key"
        case .newSignatureResolvingKey: return "New Signature Resolving Key"
        case .deviceAdded: return "Device Added"
        case .deviceRemoved: return "Device Removed"
        case .newConnectionParameter: return "New Connection Parameter"
        case .unconfiguredIndexAdded: return "Unconfigured Index Added"
        case .unconfiguredIndexRemoved: return "Unconfigured Index Removed"
        case .newConfigurationOptions: return "New Configuration Options"
        case .extendedIndexAdded: return "Extended Index Added"
        case .extendedIndexRemoved: return "Extended Index Removed"
        case .localOutOfBandExtendedDataUpdated: return "Local Out Of Band Extended Data Updated"
        case .advertisingAdded: return "Advertising Added"
        case .advertisingRemoved: return "Advertising Removed"
        case .extendedControllerInformationChanged: return "Extended Controller Information Changed"
        case .phyConfigurationChanged: return "PHY Configuration Changed"
        case .experimentalFeatureChanged: return "Experimental Feature Changed"
        case .defaultSystemConfigurationChanged: return "Default System Configuration Changed"
        case .defaultRuntimeConfigurationChanged: return "Default Runtime Configuration Changed"
        case .deviceFlagsChanged: return "Device Flags Changed"
        case .advertisementMonitorAdded: return "Advertisement Monitor Added"
        case .advertisementMonitorRemoved: return "Advertisement Monitor Removed"
        case .controllerSuspend: return "Controller Suspend"
        case .controllerResume: return "Controller Resume"
        case .advertisementMonitorDeviceFound: return "Advertisement Monitor Device Found"
        case .advertisementMonitorDeviceLost: return "Advertisement Monitor Device Lost"
        case .meshDeviceFound: return "Mesh Device Found"
        case .meshPacketTransmitComplete: return "Mesh Packet Transmit Complete"
        default: return "event 0x\(hexadecimal(rawValue, digits: 4))"
        }
    }
}
