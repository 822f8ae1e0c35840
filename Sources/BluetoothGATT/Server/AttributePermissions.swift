import BluetoothATT

/// What a client may do with an attribute's value, and what the link has to be for it (Core Vol 3 Part F §3.2.5).
///
/// The protected variants mean nothing without the permission itself: an attribute that may be read over an encrypted
/// link has `[.read, .readEncrypted]`.
public struct AttributePermissions: OptionSet, Hashable, Sendable {
    /// The bits, which never go on the air.
    public let rawValue: UInt8

    /// Permissions from their bits.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value may be read.
    public static let read = AttributePermissions(rawValue: 0x01)
    /// The value may be written.
    public static let write = AttributePermissions(rawValue: 0x02)
    /// Reading takes an encrypted link.
    public static let readEncrypted = AttributePermissions(rawValue: 0x04)
    /// Writing takes an encrypted link.
    public static let writeEncrypted = AttributePermissions(rawValue: 0x08)
    /// Reading takes a link encrypted with a key made under protection against a man in the middle.
    public static let readAuthenticated = AttributePermissions(rawValue: 0x10)
    /// Writing takes a link encrypted with a key made under protection against a man in the middle.
    public static let writeAuthenticated = AttributePermissions(rawValue: 0x20)
    /// Reading takes a client that the user or the program has authorised.
    public static let readAuthorized = AttributePermissions(rawValue: 0x40)
    /// Writing takes a client that the user or the program has authorised.
    public static let writeAuthorized = AttributePermissions(rawValue: 0x80)
}

extension AttributePermissions: CustomStringConvertible {
    /// The names of the permissions, such as `[read, readEncrypted]`.
    public var description: String {
        describe(
            self,
            [
                (.read, "read"), (.write, "write"), (.readEncrypted, "readEncrypted"),
                (.writeEncrypted, "writeEncrypted"), (.readAuthenticated, "readAuthenticated"),
                (.writeAuthenticated, "writeAuthenticated"), (.readAuthorized, "readAuthorized"),
                (.writeAuthorized, "writeAuthorized"),
            ])
    }
}

/// How the link to a client is protected, as far as a server asks (Core Vol 3 Part C §10.3).
public struct BearerSecurity: Hashable, Sendable {
    /// Whether the link is encrypted now.
    public var isEncrypted: Bool
    /// The size of the encryption key in bytes, 7 to 16; of no meaning while the link is not encrypted.
    public var encryptionKeySize: Int
    /// Whether the link's key, in use or kept from an earlier pairing, was made under protection against a man in the
    /// middle.
    public var isAuthenticated: Bool
    /// Whether there is a long term key, so that encrypting is enough and pairing is not needed.
    public var hasLongTermKey: Bool

    /// A link with these properties; the defaults are those of a link just made between strangers.
    public init(
        isEncrypted: Bool = false, encryptionKeySize: Int = 0, isAuthenticated: Bool = false,
        hasLongTermKey: Bool = false
    ) {
        self.isEncrypted = isEncrypted
        self.encryptionKeySize = encryptionKeySize
        self.isAuthenticated = isAuthenticated
        self.hasLongTermKey = hasLongTermKey
    }

    /// A link that is not encrypted, to a client nothing is known of.
    public static let none = BearerSecurity()
    /// A link encrypted with a 16-byte key from a pairing without protection against a man in the middle.
    public static let encrypted = BearerSecurity(isEncrypted: true, encryptionKeySize: 16, hasLongTermKey: true)
    /// A link encrypted with a 16-byte key from a pairing under protection against a man in the middle.
    public static let authenticated = BearerSecurity(
        isEncrypted: true, encryptionKeySize: 16, isAuthenticated: true, hasLongTermKey: true)
}

/// The two kinds of access that permissions tell apart.
public enum AttributeAccess: Hashable, Sendable {
    /// Reading the value, or being sent it.
    case read
    /// Writing the value, or preparing to.
    case write
}

extension AttributePermissions {
    /// Whether access of this kind is permitted at all.
    func permits(_ access: AttributeAccess) -> Bool {
        contains(access == .read ? .read : .write)
    }

    /// Whether access of this kind takes a client that has been authorised.
    func needsAuthorization(to access: AttributeAccess) -> Bool {
        contains(access == .read ? .readAuthorized : .writeAuthorized)
    }

    /// Why a link with `security` is not good enough, or nil when it is; nothing else is asked.
    ///
    /// A link that only has to be encrypted again gets Insufficient Encryption, one that has to be paired for it
    /// Insufficient Authentication (Core Vol 3 Part C §10.3.1).
    func securityRefusal(
        of access: AttributeAccess, over security: BearerSecurity, minimumKeySize: Int
    ) -> ATTErrorCode? {
        let needsAuthentication = contains(access == .read ? .readAuthenticated : .writeAuthenticated)
        let needsEncryption = needsAuthentication || contains(access == .read ? .readEncrypted : .writeEncrypted)
        if needsAuthentication, !security.isAuthenticated { return .insufficientAuthentication }
        guard needsEncryption else { return nil }
        if security.isEncrypted {
            return security.encryptionKeySize < minimumKeySize ? .insufficientEncryptionKeySize : nil
        }
        return security.hasLongTermKey ? .insufficientEncryption : .insufficientAuthentication
    }
}
