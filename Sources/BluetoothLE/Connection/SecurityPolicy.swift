import BluetoothPrimitives

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
