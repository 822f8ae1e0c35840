import BluetoothKernel

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
