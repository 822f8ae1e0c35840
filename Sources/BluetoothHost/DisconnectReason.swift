import BluetoothHCI

/// Who or what ended a link. An open set: switch with a default.
///
/// Read from ``BluetoothError/disconnectReason``. What the controller tells (Disconnection Complete, Core Vol 4 Part E
/// §7.7.5) comes first; where it tells nothing, the kernel's error number of the socket decides, which knows fewer.
public struct DisconnectReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name of the reason.
    public let rawValue: String

    /// A reason by name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The name.
    public var description: String { rawValue }

    /// This program ended it: ``Connection/disconnect()``.
    public static let local = DisconnectReason(rawValue: "local")
    /// This machine ended it, but not this program (0x16): another program, or the kernel.
    public static let localHost = DisconnectReason(rawValue: "localHost")
    /// The peer ended it (0x13).
    public static let remote = DisconnectReason(rawValue: "remote")
    /// The peer ended it for lack of resources (0x14).
    public static let remoteLowResources = DisconnectReason(rawValue: "remoteLowResources")
    /// The peer ended it because it is being switched off (0x15).
    public static let remotePowerOff = DisconnectReason(rawValue: "remotePowerOff")
    /// Nothing was heard from the peer for the supervision time-out (0x08), or a link layer procedure was not answered
    /// in time (0x22).
    public static let supervisionTimeout = DisconnectReason(rawValue: "supervisionTimeout")
    /// The link was made but never carried a packet (0x3E): the usual fate in a crowded band.
    public static let failedToBeEstablished = DisconnectReason(rawValue: "failedToBeEstablished")
    /// Pairing or encryption failed, or a key is missing (0x05, 0x06, 0x0E, 0x18, 0x25, 0x29, 0x2F, 0x3D).
    public static let authentication = DisconnectReason(rawValue: "authentication")
    /// The two devices could not agree on connection parameters (0x3B), or on when to change them (0x28).
    public static let parameters = DisconnectReason(rawValue: "parameters")
    /// The adapter was switched off.
    public static let adapterOff = DisconnectReason(rawValue: "adapterOff")
    /// A radio switch blocked the adapter.
    public static let adapterBlocked = DisconnectReason(rawValue: "adapterBlocked")
    /// The adapter was unplugged or taken away.
    public static let adapterRemoved = DisconnectReason(rawValue: "adapterRemoved")
    /// The peer did not answer an attribute request for 30 s (Core Vol 3 Part F §3.3.3).
    public static let attributeTimeout = DisconnectReason(rawValue: "attributeTimeout")
    /// The peer broke the Attribute Protocol.
    public static let protocolViolation = DisconnectReason(rawValue: "protocolViolation")
    /// Something else; ``BluetoothError/cause`` has the status.
    public static let other = DisconnectReason(rawValue: "other")

    /// What a controller's reason means.
    package init(_ status: HCIStatus) {
        switch status {
        case .remoteUserTerminatedConnection: self = .remote
        case .remoteDeviceLowResources: self = .remoteLowResources
        case .remoteDevicePoweringOff: self = .remotePowerOff
        case .connectionTerminatedByLocalHost: self = .localHost
        case .connectionTimeout, .linkLayerResponseTimeout: self = .supervisionTimeout
        case .connectionFailedToBeEstablished: self = .failedToBeEstablished
        case .authenticationFailure, .pinOrKeyMissing, .rejectedSecurityReasons, .pairingNotAllowed,
            .encryptionModeNotAcceptable, .pairingWithUnitKeyNotSupported, .insufficientSecurity,
            .connectionTerminatedMICFailure:
            self = .authentication
        case .unacceptableConnectionParameters, .instantPassed: self = .parameters
        default: self = .other
        }
    }

    /// The reason in one sentence.
    package var sentence: String {
        switch self {
        case .local: "The link was closed by this program."
        case .localHost: "The link was ended on this machine, but not by this program."
        case .remote: "The peer ended the link."
        case .remoteLowResources: "The peer ended the link for lack of resources."
        case .remotePowerOff: "The peer ended the link because it is being switched off."
        case .supervisionTimeout: "The peer vanished: nothing was heard from it for the supervision time-out."
        case .failedToBeEstablished: "The link failed to be established."
        case .authentication: "The link could not be authenticated or encrypted as it has to be."
        case .parameters: "The devices could not agree on the link's parameters."
        case .adapterOff: "The adapter was switched off."
        case .adapterBlocked: "A radio switch blocked the adapter."
        case .adapterRemoved: "The adapter was unplugged or taken away."
        default: "The link ended."
        }
    }

    /// Whether connecting again can help without anybody doing anything.
    package var isRetryable: Bool {
        switch self {
        case .authentication, .adapterOff, .adapterBlocked, .adapterRemoved: false
        default: true
        }
    }
}
