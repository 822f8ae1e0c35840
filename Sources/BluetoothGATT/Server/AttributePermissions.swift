import BluetoothATT

/// The permissions of an attribute: the permitted access and the security it requires (Core Vol 3 Part F §3.2.5).
///
/// A security requirement has an effect only with the permission itself: an attribute that is readable over an
/// encrypted link has `[.read, .readEncrypted]`.
public struct AttributePermissions: OptionSet, Hashable, Sendable {
    /// The bits, which are never sent.
    public let rawValue: UInt16

    /// The permissions with the bits `rawValue`.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Clients may read the value.
    public static let read = AttributePermissions(rawValue: 0x01)
    /// Clients may write the value.
    public static let write = AttributePermissions(rawValue: 0x02)
    /// Reading requires an encrypted link.
    public static let readEncrypted = AttributePermissions(rawValue: 0x04)
    /// Writing requires an encrypted link.
    public static let writeEncrypted = AttributePermissions(rawValue: 0x08)
    /// Reading requires a link encrypted with an authenticated key (MITM protection).
    public static let readAuthenticated = AttributePermissions(rawValue: 0x10)
    /// Writing requires a link encrypted with an authenticated key (MITM protection).
    public static let writeAuthenticated = AttributePermissions(rawValue: 0x20)
    /// Reading requires authorization by the user or the program.
    public static let readAuthorized = AttributePermissions(rawValue: 0x40)
    /// Writing requires authorization by the user or the program.
    public static let writeAuthorized = AttributePermissions(rawValue: 0x80)
    /// Reading requires a bonded client, over a link encrypted with an authenticated key (MITM protection).
    public static let readBonded = AttributePermissions(rawValue: 0x100)
    /// Writing requires a bonded client, over a link encrypted with an authenticated key (MITM protection).
    public static let writeBonded = AttributePermissions(rawValue: 0x200)
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
                (.writeAuthorized, "writeAuthorized"), (.readBonded, "readBonded"), (.writeBonded, "writeBonded"),
            ])
    }
}

/// The security of the link to a client and its bond, as far as permissions depend on them (Core Vol 3 Part C §10.3).
public struct BearerSecurity: Hashable, Sendable {
    /// Whether the link is encrypted.
    public var isEncrypted: Bool
    /// The size of the encryption key in bytes, 7 to 16; meaningless while the link is not encrypted.
    public var encryptionKeySize: Int
    /// Whether the key of the link, in use or stored after an earlier pairing, is authenticated (MITM protection).
    public var isAuthenticated: Bool
    /// Whether a long term key exists, so that encryption suffices and no pairing is needed.
    public var hasLongTermKey: Bool
    /// Whether the client is the bonded device, as shown by the encryption of the link.
    public var isBonded: Bool

    /// The security with the given properties; by default, that of a new link between unbonded devices.
    public init(
        isEncrypted: Bool = false, encryptionKeySize: Int = 0, isAuthenticated: Bool = false,
        hasLongTermKey: Bool = false, isBonded: Bool = false
    ) {
        self.isEncrypted = isEncrypted
        self.encryptionKeySize = encryptionKeySize
        self.isAuthenticated = isAuthenticated
        self.hasLongTermKey = hasLongTermKey
        self.isBonded = isBonded
    }

    /// An unencrypted link to an unbonded client.
    public static let none = BearerSecurity()
    /// A link encrypted with an unauthenticated 16-byte key.
    public static let encrypted = BearerSecurity(isEncrypted: true, encryptionKeySize: 16, hasLongTermKey: true)
    /// A link encrypted with an authenticated 16-byte key.
    public static let authenticated = BearerSecurity(
        isEncrypted: true, encryptionKeySize: 16, isAuthenticated: true, hasLongTermKey: true)
}

/// A kind of access to an attribute.
public enum AttributeAccess: Hashable, Sendable {
    /// Reading the value, or receiving notifications and indications of it.
    case read
    /// Writing the value, or preparing a write.
    case write
}

extension AttributePermissions {
    /// Whether the attribute permits access of this kind.
    func permits(_ access: AttributeAccess) -> Bool {
        contains(access == .read ? .read : .write)
    }

    /// Whether access of this kind requires authorization.
    package func needsAuthorization(to access: AttributeAccess) -> Bool {
        contains(access == .read ? .readAuthorized : .writeAuthorized)
    }

    /// Whether access of this kind requires a bonded client.
    package func needsBond(to access: AttributeAccess) -> Bool {
        contains(access == .read ? .readBonded : .writeBonded)
    }

    /// The error code when `security` is insufficient for the access, else nil; checks security only.
    ///
    /// Insufficient Encryption means that the link must be encrypted with the existing key, Insufficient Authentication
    /// that the devices must pair (Core Vol 3 Part C §10.3.1).
    func securityRefusal(
        of access: AttributeAccess, over security: BearerSecurity, minimumKeySize: Int
    ) -> ATTErrorCode? {
        let needsAuthentication =
            needsBond(to: access) || contains(access == .read ? .readAuthenticated : .writeAuthenticated)
        let needsEncryption = needsAuthentication || contains(access == .read ? .readEncrypted : .writeEncrypted)
        if needsAuthentication, !security.isAuthenticated { return .insufficientAuthentication }
        guard needsEncryption else { return nil }
        if security.isEncrypted {
            return security.encryptionKeySize < minimumKeySize ? .insufficientEncryptionKeySize : nil
        }
        return security.hasLongTermKey ? .insufficientEncryption : .insufficientAuthentication
    }
}
