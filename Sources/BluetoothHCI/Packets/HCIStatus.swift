import BluetoothPackets
import BluetoothPrimitives

/// A controller error code: the status of a command or the reason for a disconnection (Core Vol 1 Part F §1.3).
///
/// An open set: unnamed codes keep their value.
public struct HCIStatus: PacketCode, Hashable, Sendable {
    /// The code as sent, one byte.
    public let rawValue: UInt8

    /// The status with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Whether the command succeeded.
    @inlinable public var isSuccess: Bool { rawValue == 0 }

    /// Success.
    public static let success = HCIStatus(rawValue: 0x00)
    /// Unknown HCI command.
    public static let unknownHCICommand = HCIStatus(rawValue: 0x01)
    /// Unknown connection identifier.
    public static let unknownConnectionIdentifier = HCIStatus(rawValue: 0x02)
    /// Hardware failure.
    public static let hardwareFailure = HCIStatus(rawValue: 0x03)
    /// Page timeout.
    public static let pageTimeout = HCIStatus(rawValue: 0x04)
    /// Authentication failure.
    public static let authenticationFailure = HCIStatus(rawValue: 0x05)
    /// PIN or key missing.
    public static let pinOrKeyMissing = HCIStatus(rawValue: 0x06)
    /// Memory capacity exceeded.
    public static let memoryCapacityExceeded = HCIStatus(rawValue: 0x07)
    /// Connection timeout.
    public static let connectionTimeout = HCIStatus(rawValue: 0x08)
    /// Connection limit exceeded.
    public static let connectionLimitExceeded = HCIStatus(rawValue: 0x09)
    /// Synchronous connection limit exceeded.
    public static let synchronousConnectionLimitExceeded = HCIStatus(rawValue: 0x0A)
    /// Connection already exists.
    public static let connectionAlreadyExists = HCIStatus(rawValue: 0x0B)
    /// Command disallowed.
    public static let commandDisallowed = HCIStatus(rawValue: 0x0C)
    /// Connection rejected: limited resources.
    public static let rejectedLimitedResources = HCIStatus(rawValue: 0x0D)
    /// Connection rejected: security reasons.
    public static let rejectedSecurityReasons = HCIStatus(rawValue: 0x0E)
    /// Connection rejected: unacceptable device address.
    public static let rejectedUnacceptableAddress = HCIStatus(rawValue: 0x0F)
    /// Connection accept timeout exceeded.
    public static let connectionAcceptTimeout = HCIStatus(rawValue: 0x10)
    /// Unsupported feature or parameter value.
    public static let unsupportedFeatureOrParameterValue = HCIStatus(rawValue: 0x11)
    /// Invalid HCI command parameters.
    public static let invalidHCICommandParameters = HCIStatus(rawValue: 0x12)
    /// Remote user terminated the connection.
    public static let remoteUserTerminatedConnection = HCIStatus(rawValue: 0x13)
    /// Remote device terminated the connection: low resources.
    public static let remoteDeviceLowResources = HCIStatus(rawValue: 0x14)
    /// Remote device terminated the connection: powering off.
    public static let remoteDevicePoweringOff = HCIStatus(rawValue: 0x15)
    /// Connection terminated by the local host.
    public static let connectionTerminatedByLocalHost = HCIStatus(rawValue: 0x16)
    /// Repeated attempts.
    public static let repeatedAttempts = HCIStatus(rawValue: 0x17)
    /// Pairing not allowed.
    public static let pairingNotAllowed = HCIStatus(rawValue: 0x18)
    /// Unknown LMP PDU.
    public static let unknownLMPPDU = HCIStatus(rawValue: 0x19)
    /// Unsupported remote feature.
    public static let unsupportedRemoteFeature = HCIStatus(rawValue: 0x1A)
    /// SCO offset rejected.
    public static let scoOffsetRejected = HCIStatus(rawValue: 0x1B)
    /// SCO interval rejected.
    public static let scoIntervalRejected = HCIStatus(rawValue: 0x1C)
    /// SCO air mode rejected.
    public static let scoAirModeRejected = HCIStatus(rawValue: 0x1D)
    /// Invalid link layer parameters.
    public static let invalidLinkLayerParameters = HCIStatus(rawValue: 0x1E)
    /// Unspecified error.
    public static let unspecifiedError = HCIStatus(rawValue: 0x1F)
    /// Unsupported link layer parameter value.
    public static let unsupportedLinkLayerParameterValue = HCIStatus(rawValue: 0x20)
    /// Role change not allowed.
    public static let roleChangeNotAllowed = HCIStatus(rawValue: 0x21)
    /// Link layer response timeout.
    public static let linkLayerResponseTimeout = HCIStatus(rawValue: 0x22)
    /// Link layer procedure collision.
    public static let linkLayerProcedureCollision = HCIStatus(rawValue: 0x23)
    /// LMP PDU not allowed.
    public static let lmpPDUNotAllowed = HCIStatus(rawValue: 0x24)
    /// Encryption mode not acceptable.
    public static let encryptionModeNotAcceptable = HCIStatus(rawValue: 0x25)
    /// Link key cannot be changed.
    public static let linkKeyCannotBeChanged = HCIStatus(rawValue: 0x26)
    /// Requested QoS not supported.
    public static let requestedQoSNotSupported = HCIStatus(rawValue: 0x27)
    /// Instant passed.
    public static let instantPassed = HCIStatus(rawValue: 0x28)
    /// Pairing with unit key not supported.
    public static let pairingWithUnitKeyNotSupported = HCIStatus(rawValue: 0x29)
    /// Different transaction collision.
    public static let differentTransactionCollision = HCIStatus(rawValue: 0x2A)
    /// QoS unacceptable parameter.
    public static let qosUnacceptableParameter = HCIStatus(rawValue: 0x2C)
    /// QoS rejected.
    public static let qosRejected = HCIStatus(rawValue: 0x2D)
    /// Channel assessment not supported.
    public static let channelAssessmentNotSupported = HCIStatus(rawValue: 0x2E)
    /// Insufficient security.
    public static let insufficientSecurity = HCIStatus(rawValue: 0x2F)
    /// Parameter out of mandatory range.
    public static let parameterOutOfMandatoryRange = HCIStatus(rawValue: 0x30)
    /// Role switch pending.
    public static let roleSwitchPending = HCIStatus(rawValue: 0x32)
    /// Reserved slot violation.
    public static let reservedSlotViolation = HCIStatus(rawValue: 0x34)
    /// Role switch failed.
    public static let roleSwitchFailed = HCIStatus(rawValue: 0x35)
    /// Extended inquiry response too large.
    public static let extendedInquiryResponseTooLarge = HCIStatus(rawValue: 0x36)
    /// Secure simple pairing not supported by the host.
    public static let secureSimplePairingNotSupportedByHost = HCIStatus(rawValue: 0x37)
    /// Host busy: pairing.
    public static let hostBusyPairing = HCIStatus(rawValue: 0x38)
    /// Connection rejected: no suitable channel found.
    public static let rejectedNoSuitableChannel = HCIStatus(rawValue: 0x39)
    /// Controller busy.
    public static let controllerBusy = HCIStatus(rawValue: 0x3A)
    /// Unacceptable connection parameters.
    public static let unacceptableConnectionParameters = HCIStatus(rawValue: 0x3B)
    /// Advertising timeout.
    public static let advertisingTimeout = HCIStatus(rawValue: 0x3C)
    /// Connection terminated: MIC failure.
    public static let connectionTerminatedMICFailure = HCIStatus(rawValue: 0x3D)
    /// Connection failed to be established.
    public static let connectionFailedToBeEstablished = HCIStatus(rawValue: 0x3E)
    /// Coarse clock adjustment rejected.
    public static let coarseClockAdjustmentRejected = HCIStatus(rawValue: 0x40)
    /// Type 0 submap not defined.
    public static let type0SubmapNotDefined = HCIStatus(rawValue: 0x41)
    /// Unknown advertising identifier.
    public static let unknownAdvertisingIdentifier = HCIStatus(rawValue: 0x42)
    /// Limit reached.
    public static let limitReached = HCIStatus(rawValue: 0x43)
    /// Operation cancelled by the host.
    public static let operationCancelledByHost = HCIStatus(rawValue: 0x44)
    /// Packet too long.
    public static let packetTooLong = HCIStatus(rawValue: 0x45)
}

extension HCIStatus: CustomStringConvertible {
    /// The name and the value of the status.
    public var description: String { "\(words) (0x\(hexadecimal(rawValue, digits: 2)))" }

    private var words: String {
        switch self {
        case .success: return "success"
        case .unknownHCICommand: return "unknown HCI command"
        case .unknownConnectionIdentifier: return "unknown connection identifier"
        case .hardwareFailure: return "hardware failure"
        case .pageTimeout: return "page timeout"
        case .authenticationFailure: return "authentication failure"
        case .pinOrKeyMissing: return "PIN or key missing"
        case .memoryCapacityExceeded: return "memory capacity exceeded"
        case .connectionTimeout: return "connection timeout"
        case .connectionLimitExceeded: return "connection limit exceeded"
        case .synchronousConnectionLimitExceeded: return "synchronous connection limit exceeded"
        case .connectionAlreadyExists: return "connection already exists"
        case .commandDisallowed: return "command disallowed"
        case .rejectedLimitedResources: return "connection rejected: limited resources"
        case .rejectedSecurityReasons: return "connection rejected: security reasons"
        case .rejectedUnacceptableAddress: return "connection rejected: unacceptable device address"
        case .connectionAcceptTimeout: return "connection accept timeout exceeded"
        case .unsupportedFeatureOrParameterValue: return "unsupported feature or parameter value"
        case .invalidHCICommandParameters: return "invalid HCI command parameters"
        case .remoteUserTerminatedConnection: return "remote user terminated the connection"
        case .remoteDeviceLowResources: return "remote device terminated the connection: low resources"
        case .remoteDevicePoweringOff: return "remote device terminated the connection: powering off"
        case .connectionTerminatedByLocalHost: return "connection terminated by the local host"
        case .repeatedAttempts: return "repeated attempts"
        case .pairingNotAllowed: return "pairing not allowed"
        case .unknownLMPPDU: return "unknown LMP PDU"
        case .unsupportedRemoteFeature: return "unsupported remote feature"
        case .scoOffsetRejected: return "SCO offset rejected"
        case .scoIntervalRejected: return "SCO interval rejected"
        case .scoAirModeRejected: return "SCO air mode rejected"
        case .invalidLinkLayerParameters: return "invalid link layer parameters"
        case .unspecifiedError: return "unspecified error"
        case .unsupportedLinkLayerParameterValue: return "unsupported link layer parameter value"
        case .roleChangeNotAllowed: return "role change not allowed"
        case .linkLayerResponseTimeout: return "link layer response timeout"
        case .linkLayerProcedureCollision: return "link layer procedure collision"
        case .lmpPDUNotAllowed: return "LMP PDU not allowed"
        case .encryptionModeNotAcceptable: return "encryption mode not acceptable"
        case .linkKeyCannotBeChanged: return "link key cannot be changed"
        case .requestedQoSNotSupported: return "requested QoS not supported"
        case .instantPassed: return "instant passed"
        case .pairingWithUnitKeyNotSupported: return "pairing with unit key not supported"
        case .differentTransactionCollision: return "different transaction collision"
        case .qosUnacceptableParameter: return "QoS unacceptable parameter"
        case .qosRejected: return "QoS rejected"
        case .channelAssessmentNotSupported: return "channel assessment not supported"
        case .insufficientSecurity: return "insufficient security"
        case .parameterOutOfMandatoryRange: return "parameter out of mandatory range"
        case .roleSwitchPending: return "role switch pending"
        case .reservedSlotViolation: return "reserved slot violation"
        case .roleSwitchFailed: return "role switch failed"
        case .extendedInquiryResponseTooLarge: return "extended inquiry response too large"
        case .secureSimplePairingNotSupportedByHost: return "secure simple pairing not supported by the host"
        case .hostBusyPairing: return "host busy: pairing"
        case .rejectedNoSuitableChannel: return "connection rejected: no suitable channel found"
        case .controllerBusy: return "controller busy"
        case .unacceptableConnectionParameters: return "unacceptable connection parameters"
        case .advertisingTimeout: return "advertising timeout"
        case .connectionTerminatedMICFailure: return "connection terminated: MIC failure"
        case .connectionFailedToBeEstablished: return "connection failed to be established"
        case .coarseClockAdjustmentRejected: return "coarse clock adjustment rejected"
        case .type0SubmapNotDefined: return "type 0 submap not defined"
        case .unknownAdvertisingIdentifier: return "unknown advertising identifier"
        case .limitReached: return "limit reached"
        case .operationCancelledByHost: return "operation cancelled by the host"
        case .packetTooLong: return "packet too long"
        default: return "unknown status"
        }
    }
}
