import BluetoothPrimitives

/// An event code (Core Vol 4 Part E §7.7).
public struct HCIEventCode: RawRepresentable, Hashable, Sendable {
    /// The code as sent, one byte.
    public let rawValue: UInt8

    /// The code with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Disconnection Complete.
    public static let disconnectionComplete = HCIEventCode(rawValue: 0x05)
    /// Encryption Change.
    public static let encryptionChange = HCIEventCode(rawValue: 0x08)
    /// Read Remote Version Information Complete.
    public static let readRemoteVersionInformationComplete = HCIEventCode(rawValue: 0x0C)
    /// Command Complete.
    public static let commandComplete = HCIEventCode(rawValue: 0x0E)
    /// Command Status.
    public static let commandStatus = HCIEventCode(rawValue: 0x0F)
    /// Hardware Error.
    public static let hardwareError = HCIEventCode(rawValue: 0x10)
    /// Number Of Completed Packets.
    public static let numberOfCompletedPackets = HCIEventCode(rawValue: 0x13)
    /// Encryption Key Refresh Complete.
    public static let encryptionKeyRefreshComplete = HCIEventCode(rawValue: 0x30)
    /// LE Meta.
    public static let leMeta = HCIEventCode(rawValue: 0x3E)
    /// A stack internal event, sent by the Linux kernel and not by a controller.
    public static let stackInternal = HCIEventCode(rawValue: 0xFD)
}

extension HCIEventCode: CustomStringConvertible {
    /// The name in the specification, or the value of an unnamed code.
    public var description: String {
        switch self {
        case .disconnectionComplete: return "Disconnection Complete"
        case .encryptionChange: return "Encryption Change"
        case .readRemoteVersionInformationComplete: return "Read Remote Version Information Complete"
        case .commandComplete: return "Command Complete"
        case .commandStatus: return "Command Status"
        case .hardwareError: return "Hardware Error"
        case .numberOfCompletedPackets: return "Number Of Completed Packets"
        case .encryptionKeyRefreshComplete: return "Encryption Key Refresh Complete"
        case .leMeta: return "LE Meta"
        case .stackInternal: return "Stack Internal"
        default: return "event 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The subevent code of an LE Meta event (Core Vol 4 Part E §7.7.65).
public struct LESubeventCode: RawRepresentable, Hashable, Sendable {
    /// The code as sent, one byte.
    public let rawValue: UInt8

    /// The code with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// LE Connection Complete.
    public static let connectionComplete = LESubeventCode(rawValue: 0x01)
    /// LE Advertising Report.
    public static let advertisingReport = LESubeventCode(rawValue: 0x02)
    /// LE Connection Update Complete.
    public static let connectionUpdateComplete = LESubeventCode(rawValue: 0x03)
    /// LE Read Remote Features Complete.
    public static let readRemoteFeaturesComplete = LESubeventCode(rawValue: 0x04)
    /// LE Long Term Key Request.
    public static let longTermKeyRequest = LESubeventCode(rawValue: 0x05)
    /// LE Remote Connection Parameter Request.
    public static let remoteConnectionParameterRequest = LESubeventCode(rawValue: 0x06)
    /// LE Data Length Change.
    public static let dataLengthChange = LESubeventCode(rawValue: 0x07)
    /// LE Enhanced Connection Complete.
    public static let enhancedConnectionComplete = LESubeventCode(rawValue: 0x0A)
    /// LE Directed Advertising Report.
    public static let directedAdvertisingReport = LESubeventCode(rawValue: 0x0B)
    /// LE PHY Update Complete.
    public static let phyUpdateComplete = LESubeventCode(rawValue: 0x0C)
    /// LE Extended Advertising Report.
    public static let extendedAdvertisingReport = LESubeventCode(rawValue: 0x0D)
    /// LE Scan Timeout.
    public static let scanTimeout = LESubeventCode(rawValue: 0x11)
    /// LE Advertising Set Terminated.
    public static let advertisingSetTerminated = LESubeventCode(rawValue: 0x12)
    /// LE Scan Request Received.
    public static let scanRequestReceived = LESubeventCode(rawValue: 0x13)
    /// LE Channel Selection Algorithm.
    public static let channelSelectionAlgorithm = LESubeventCode(rawValue: 0x14)
}

extension LESubeventCode: CustomStringConvertible {
    /// The name in the specification, or the value of an unnamed code.
    public var description: String {
        switch self {
        case .connectionComplete: return "LE Connection Complete"
        case .advertisingReport: return "LE Advertising Report"
        case .connectionUpdateComplete: return "LE Connection Update Complete"
        case .readRemoteFeaturesComplete: return "LE Read Remote Features Complete"
        case .longTermKeyRequest: return "LE Long Term Key Request"
        case .remoteConnectionParameterRequest: return "LE Remote Connection Parameter Request"
        case .dataLengthChange: return "LE Data Length Change"
        case .enhancedConnectionComplete: return "LE Enhanced Connection Complete"
        case .directedAdvertisingReport: return "LE Directed Advertising Report"
        case .phyUpdateComplete: return "LE PHY Update Complete"
        case .extendedAdvertisingReport: return "LE Extended Advertising Report"
        case .scanTimeout: return "LE Scan Timeout"
        case .advertisingSetTerminated: return "LE Advertising Set Terminated"
        case .scanRequestReceived: return "LE Scan Request Received"
        case .channelSelectionAlgorithm: return "LE Channel Selection Algorithm"
        default: return "LE subevent 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

extension AdvertisingReports.Layout {
    /// The subevent that contains reports of this layout.
    var subevent: LESubeventCode {
        switch self {
        case .legacy: return .advertisingReport
        case .directed: return .directedAdvertisingReport
        case .extended: return .extendedAdvertisingReport
        }
    }
}
