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

    private var words: String { Self.names[rawValue] ?? "unknown status" }

    private static let names: [UInt8: String] = [
        0x00: "success", 0x01: "unknown HCI command", 0x02: "unknown connection identifier",
        0x03: "hardware failure", 0x04: "page timeout", 0x05: "authentication failure", 0x06: "PIN or key missing",
        0x07: "memory capacity exceeded", 0x08: "connection timeout", 0x09: "connection limit exceeded",
        0x0A: "synchronous connection limit exceeded", 0x0B: "connection already exists", 0x0C: "command disallowed",
        0x0D: "connection rejected: limited resources", 0x0E: "connection rejected: security reasons",
        0x0F: "connection rejected: unacceptable device address", 0x10: "connection accept timeout exceeded",
        0x11: "unsupported feature or parameter value", 0x12: "invalid HCI command parameters",
        0x13: "remote user terminated the connection",
        0x14: "remote device terminated the connection: low resources",
        0x15: "remote device terminated the connection: powering off",
        0x16: "connection terminated by the local host", 0x17: "repeated attempts", 0x18: "pairing not allowed",
        0x19: "unknown LMP PDU", 0x1A: "unsupported remote feature", 0x1B: "SCO offset rejected",
        0x1C: "SCO interval rejected", 0x1D: "SCO air mode rejected", 0x1E: "invalid link layer parameters",
        0x1F: "unspecified error", 0x20: "unsupported link layer parameter value", 0x21: "role change not allowed",
        0x22: "link layer response timeout", 0x23: "link layer procedure collision", 0x24: "LMP PDU not allowed",
        0x25: "encryption mode not acceptable", 0x26: "link key cannot be changed",
        0x27: "requested QoS not supported", 0x28: "instant passed", 0x29: "pairing with unit key not supported",
        0x2A: "different transaction collision", 0x2C: "QoS unacceptable parameter", 0x2D: "QoS rejected",
        0x2E: "channel assessment not supported", 0x2F: "insufficient security",
        0x30: "parameter out of mandatory range", 0x32: "role switch pending", 0x34: "reserved slot violation",
        0x35: "role switch failed", 0x36: "extended inquiry response too large",
        0x37: "secure simple pairing not supported by the host", 0x38: "host busy: pairing",
        0x39: "connection rejected: no suitable channel found", 0x3A: "controller busy",
        0x3B: "unacceptable connection parameters", 0x3C: "advertising timeout",
        0x3D: "connection terminated: MIC failure", 0x3E: "connection failed to be established",
        0x40: "coarse clock adjustment rejected", 0x41: "type 0 submap not defined",
        0x42: "unknown advertising identifier", 0x43: "limit reached", 0x44: "operation cancelled by the host",
        0x45: "packet too long",
    ]
}
