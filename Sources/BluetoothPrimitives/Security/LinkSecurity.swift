/// A security level of a link (`BT_SECURITY`; Core Vol 3 Part C §10.2.1).
public enum SecurityLevel: UInt8, Comparable, Sendable {
    /// No encryption.
    case low = 1
    /// Encryption with an unauthenticated key.
    case medium = 2
    /// Encryption with an authenticated key (MITM protection).
    case high = 3
    /// Encryption with an authenticated key from LE Secure Connections.
    case fips = 4

    /// Whether `left` is weaker than `right`.
    public static func < (left: SecurityLevel, right: SecurityLevel) -> Bool { left.rawValue < right.rawValue }
}

/// The security of a link as reported by the kernel.
public struct LinkSecurity: Hashable, Sendable {
    /// The current security level.
    public var level: SecurityLevel
    /// The size of the encryption key in bytes, 7 to 16; 0 without encryption.
    public var keySize: Int

    /// The given level and key size.
    public init(level: SecurityLevel, keySize: Int) {
        self.level = level
        self.keySize = keySize
    }
}

extension LinkSecurity {
    /// Whether the link is encrypted.
    public var isEncrypted: Bool { level >= .medium }

    /// Whether the key is authenticated (MITM protection, Core Vol 3 Part H §2.3.1).
    public var isAuthenticated: Bool { level >= .high }

    /// Whether the key is from LE Secure Connections; nil when unknown. The kernel reports it for
    /// ``SecurityLevel/low`` and ``SecurityLevel/fips`` only; a link of another level may have such a key too.
    public var isSecureConnections: Bool? {
        switch level {
        case .low: false
        case .medium, .high: nil
        case .fips: true
        }
    }
}

extension SecurityLevel: CustomStringConvertible {
    /// The level as in the programs' options.
    public var description: String {
        switch self {
        case .low: "low"
        case .medium: "encrypted"
        case .high: "authenticated"
        case .fips: "secure-connections"
        }
    }
}

extension LinkSecurity: CustomStringConvertible {
    /// The level, and the key size of an encrypted link.
    public var description: String { isEncrypted ? "\(level), \(keySize)-byte key" : "\(level)" }
}
