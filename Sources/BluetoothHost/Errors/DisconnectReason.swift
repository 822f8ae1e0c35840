import BluetoothHCI

/// The reason why a link ended. An open set: switch with a default.
///
/// Read it from ``BluetoothError/disconnectReason``. The reason in the controller's Disconnection Complete event (Core
/// Vol 4 Part E §7.7.5) has precedence; without one, it follows from the error number of the kernel's socket, which
/// distinguishes fewer cases.
public struct DisconnectReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name of the reason.
    public let rawValue: String

    /// Creates a reason by name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The name of the reason.
    public var description: String { rawValue }

    /// This program closed the link: ``Connection/disconnect(timeout:)``.
    public static let local = DisconnectReason(rawValue: "local")
    /// This machine closed the link, but not this program (0x16): another program, or the kernel.
    public static let localHost = DisconnectReason(rawValue: "localHost")
    /// The peer closed the link (0x13).
    public static let remote = DisconnectReason(rawValue: "remote")
    /// The peer closed the link for lack of resources (0x14).
    public static let remoteLowResources = DisconnectReason(rawValue: "remoteLowResources")
    /// The peer closed the link because it is being powered off (0x15).
    public static let remotePowerOff = DisconnectReason(rawValue: "remotePowerOff")
    /// The supervision timeout passed without a packet from the peer (0x08), or a Link Layer procedure was not
    /// answered in time (0x22).
    public static let supervisionTimeout = DisconnectReason(rawValue: "supervisionTimeout")
    /// The link was created but never carried a packet (0x3E): the usual failure on busy channels.
    public static let failedToBeEstablished = DisconnectReason(rawValue: "failedToBeEstablished")
    /// Pairing or encryption failed, or a key is missing (0x05, 0x06, 0x0E, 0x18, 0x25, 0x29, 0x2F, 0x3D).
    public static let authentication = DisconnectReason(rawValue: "authentication")
    /// The devices could not agree on connection parameters (0x3B), or on the instant of their change (0x28).
    public static let parameters = DisconnectReason(rawValue: "parameters")
    /// The adapter was powered off.
    public static let adapterOff = DisconnectReason(rawValue: "adapterOff")
    /// A radio switch blocked the adapter.
    public static let adapterBlocked = DisconnectReason(rawValue: "adapterBlocked")
    /// The adapter was unplugged or taken by another program.
    public static let adapterRemoved = DisconnectReason(rawValue: "adapterRemoved")
    /// The peer did not answer an attribute request for 30 s (Core Vol 3 Part F §3.3.3).
    public static let attributeTimeout = DisconnectReason(rawValue: "attributeTimeout")
    /// The peer broke the Attribute Protocol.
    public static let protocolViolation = DisconnectReason(rawValue: "protocolViolation")
    /// Another reason; ``BluetoothError/cause`` has the status.
    public static let other = DisconnectReason(rawValue: "other")

    /// The meaning of a controller's status.
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

    /// The reason as a sentence.
    package var sentence: String {
        switch self {
        case .local: "The link was closed by this program."
        case .localHost: "Another program or the kernel on this machine ended the link."
        case .remote: "The peer ended the link."
        case .remoteLowResources: "The peer ended the link because of low resources."
        case .remotePowerOff: "The peer ended the link because it is being powered off."
        case .supervisionTimeout: "The peer was lost: no packet arrived within the supervision timeout."
        case .failedToBeEstablished: "The link failed to be established."
        case .authentication: "The link could not be authenticated or encrypted as required."
        case .parameters: "The devices could not agree on the link's parameters."
        case .adapterOff: "The adapter was powered off."
        case .adapterBlocked: "A radio switch blocked the adapter."
        case .adapterRemoved: "The adapter was removed."
        default: "The link ended."
        }
    }

    /// Whether connecting again can succeed without any change.
    package var isRetryable: Bool {
        switch self {
        case .authentication, .adapterOff, .adapterBlocked, .adapterRemoved: false
        default: true
        }
    }
}
