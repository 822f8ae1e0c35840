import BluetoothSockets
import BluetoothPrimitives

/// How to connect.
public struct ConnectionOptions: Hashable, Sendable {
    /// The most time until the link is up, all attempts together, and again for agreeing on the ATT_MTU; nil for ever.
    public var timeout: Duration?
    /// The ATT_MTU to offer, 23 to 517 bytes.
    public var maximumTransmissionUnit: UInt16
    /// How often a link that fails to be established is tried.
    public var attempts: Int
    /// Whether to wait for an adapter that is off, blocked or away, within ``timeout``, instead of failing at once.
    public var waitsForAdapter: Bool
    /// How many enhanced bearers to open besides, where the link is encrypted by then and the peer has them; what comes
    /// of it, ``Connection/bearerCount`` tells. See ``Connection/openEnhancedBearers(count:timeout:)``.
    public var enhancedBearers: Int = 0
    /// How well the link has to be protected before it is handed over; nil asks for nothing. Where it cannot be, the call
    /// throws what ``Connection/raiseSecurity(to:timeout:)`` throws.
    public var security: SecurityLevel?
    /// The most time for that, after ``timeout``; people who have to find and enter a number take theirs.
    public var securityTimeout: Duration? = .seconds(60)
    /// What to do when the peer refuses a request until the link is protected better.
    public var securityPolicy: SecurityPolicy = .automatic
    /// What to set on the socket. A security level there is the same as ``security``.
    public var socket: L2CAPOptions
    /// The most time for agreeing on the ATT_MTU where it is not ``timeout``.
    var attributeTimeout: Duration?

    /// Options with the usual choices: 30 s, an ATT_MTU of 517, three attempts.
    public init(
        timeout: Duration? = .seconds(30), maximumTransmissionUnit: UInt16 = 517, attempts: Int = 3,
        waitsForAdapter: Bool = false, socket: L2CAPOptions = L2CAPOptions(receiveBuffer: 1 << 20)
    ) {
        self.timeout = timeout
        self.maximumTransmissionUnit = min(max(maximumTransmissionUnit, 23), 517)
        self.attempts = attempts
        self.waitsForAdapter = waitsForAdapter
        self.socket = socket
    }

    /// Larger than any PDU that a peer writes beyond the ATT_MTU, which Bumble does by up to 250 bytes. What the host is told
    /// not to take it drops, and the peer would seem to have fallen silent.
    private static let receiveMTU: UInt16 = 1024

    /// Our own time limit comes first, and not one that the host may have.
    func socketOptions(_ remaining: Duration?) -> L2CAPOptions {
        var options = socket
        // Raised by this side once the link is up, where it can be seen how that goes.
        options.security = nil
        if options.receiveMTU == nil { options.receiveMTU = Self.receiveMTU }
        if options.connectTimeout == nil { options.connectTimeout = (remaining ?? .seconds(86400)) + .seconds(5) }
        return options
    }
}

/// What a connection does when the peer refuses an attribute request because the link is not protected well enough
/// (Insufficient Authentication, Encryption or Encryption Key Size; Core Vol 3 Part C §10.3.1).
public enum SecurityPolicy: Hashable, Sendable {
    /// Raises the link's protection, pairing if need be, and repeats the request. Where this program cannot pair
    /// (it lacks CAP_NET_ADMIN and no daemon runs) the peer's error is thrown.
    case automatic
    /// As ``automatic``, after asking ``PairingAgent/confirmPairing(_:)`` where there is no key from an earlier pairing.
    case ask
    /// Throws the peer's error.
    case never
}

/// What a pairing came to.
public struct PairingOutcome: Hashable, Sendable {
    /// The link's protection now.
    public var security: LinkSecurity
    /// Whether the key is kept, so that the next link needs no pairing: both sides have to want that.
    public var isBonded: Bool

    /// An outcome from its parts.
    public init(security: LinkSecurity, isBonded: Bool) {
        self.security = security
        self.isBonded = isBonded
    }
}
