/// How a link is protected (`BT_SECURITY`; Core Vol 3 Part C §10.2.1).
public enum SecurityLevel: UInt8, Comparable, Sendable {
    /// Not encrypted.
    case low = 1
    /// Encrypted, the peer not authenticated.
    case medium = 2
    /// Encrypted with a key made under protection against a man in the middle.
    case high = 3
    /// As ``high``, made with LE Secure Connections.
    case fips = 4

    /// Whether `left` asks for less than `right`.
    public static func < (left: SecurityLevel, right: SecurityLevel) -> Bool { left.rawValue < right.rawValue }
}

/// A link's protection as the kernel reports it.
public struct LinkSecurity: Hashable, Sendable {
    /// The level reached.
    public var level: SecurityLevel
    /// The encryption key's size in bytes, 7 to 16; 0 without encryption.
    public var keySize: UInt8

    /// A level with its key size.
    public init(level: SecurityLevel, keySize: UInt8) {
        self.level = level
        self.keySize = keySize
    }
}

extension LinkSecurity {
    /// Whether the link is encrypted.
    public var isEncrypted: Bool { level >= .medium }

    /// Whether the key was made under protection against a man in the middle (Core Vol 3 Part H §2.3.1).
    public var isAuthenticated: Bool { level >= .high }

    /// Whether the key was made with LE Secure Connections; nil where the kernel does not tell, which it does for
    /// ``SecurityLevel/low`` and ``SecurityLevel/fips`` only: a link of the levels between may have such a key as well.
    public var isSecureConnections: Bool? {
        switch level {
        case .low: false
        case .medium, .high: nil
        case .fips: true
        }
    }
}

extension SecurityLevel: CustomStringConvertible {
    /// The level in the words of the programs' options.
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
    /// The level, with the key's size where there is a key.
    public var description: String { isEncrypted ? "\(level), \(keySize)-byte key" : "\(level)" }
}
