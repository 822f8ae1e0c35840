import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// What pairing has left of a device: the keys by which it is known and its links are encrypted, and what the device
/// wants to be sent from here (Core Vol 3 Part C §9.4.4).
///
/// Its descriptions, its mirror and `dump` show whose keys there are and of what kind, never the keys.
public struct Bond: Hashable, Sendable {
    /// A key that signs writes, or checks signatures, with its counter (Core Vol 3 Part H §2.4.2.2, §2.4.5).
    public struct SignatureKey: Hashable, Sendable {
        /// Whose signatures the key is for, and how it was made.
        public var kind: SignatureResolvingKey.Kind
        /// The secret.
        public var value: SecurityKey
        /// The next counter to sign with, or the least to accept. It must never go back.
        public var signCounter: UInt32

        /// A key from its parts.
        public init(kind: SignatureResolvingKey.Kind, value: SecurityKey, signCounter: UInt32 = 0) {
            self.kind = kind
            self.value = value
            self.signCounter = signCounter
        }
    }

    /// Who the device is: its public or static random address, whatever address it uses on the air.
    public var identity: BluetoothAddress
    /// The keys that encrypt links with it: one made by LE Secure Connections, or one for each role by legacy pairing.
    public var longTermKeys: [LongTermKey]
    /// Tells which private addresses are the device's; nil when it has told none.
    public var identityResolvingKey: SecurityKey?
    /// The keys of signed writes, at most one of each kind.
    public var signatureKeys: [SignatureKey]
    /// What the device is called, where that is known.
    public var name: String?
    /// When it was paired with, in seconds since 1970 (UTC).
    public var time: UInt64
    /// Whether the device has reconnected since the pairing, on a link encrypted with these keys.
    public var wasUsedAgain: Bool
    /// What the device wants to be sent as a GATT client, and what it knows of the services here; nil before it was here.
    public var client: GATTClientRecord?

    /// A bond from its parts.
    public init(
        identity: BluetoothAddress, longTermKeys: [LongTermKey] = [], identityResolvingKey: SecurityKey? = nil,
        signatureKeys: [SignatureKey] = [], name: String? = nil, time: UInt64 = 0, wasUsedAgain: Bool = false,
        client: GATTClientRecord? = nil
    ) {
        self.identity = identity
        self.longTermKeys = longTermKeys
        self.identityResolvingKey = identityResolvingKey
        self.signatureKeys = signatureKeys
        self.name = name
        self.time = time
        self.wasUsedAgain = wasUsedAgain
        self.client = client
    }

    /// Whether the keys were made by LE Secure Connections.
    public var usesSecureConnections: Bool {
        longTermKeys.contains { [.unauthenticated, .authenticated, .debug].contains($0.kind) }
    }

    /// Whether the pairing was protected against an attacker in the middle.
    public var isAuthenticated: Bool { longTermKeys.contains { $0.kind.isAuthenticated } }

    /// What a link reaches that is encrypted with these keys; ``BluetoothSockets/SecurityLevel/low`` without any.
    public var level: SecurityLevel {
        guard !longTermKeys.isEmpty else { return .low }
        guard isAuthenticated else { return .medium }
        return usesSecureConnections ? .fips : .high
    }

    /// The size of the shortest key in bytes, 7 to 16; nil without any.
    public var encryptionKeySize: Int? { longTermKeys.map { Int($0.encryptionSize) }.min() }

    /// Takes in a key that a pairing has made, in place of those it is to replace.
    mutating func take(_ key: LongTermKey) {
        let isForBothRoles = [.unauthenticated, .authenticated, .debug].contains(key.kind)
        longTermKeys.removeAll {
            isForBothRoles || $0.isCentral == key.isCentral
                || [.unauthenticated, .authenticated, .debug].contains($0.kind)
        }
        longTermKeys.append(key)
    }

    /// Takes in a key of signed writes, which begins anew.
    mutating func take(_ key: SignatureResolvingKey) {
        signatureKeys.removeAll { $0.kind.isLocal == key.kind.isLocal }
        signatureKeys.append(SignatureKey(kind: key.kind, value: key.value))
    }
}

extension SignatureResolvingKey.Kind {
    /// Whether the key is for what this adapter signs.
    public var isLocal: Bool { self == .unauthenticatedLocal || self == .authenticatedLocal }
}

extension Bond: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Who it is with and how it was made, such as `C0:98:E5:12:34:56 (random): LE Secure Connections, authenticated,
    /// 16 bytes; resolves private addresses`.
    public var description: String {
        var parts = [usesSecureConnections ? "LE Secure Connections" : "LE legacy pairing"]
        parts.append(isAuthenticated ? "authenticated" : "not authenticated")
        if let encryptionKeySize { parts.append("\(encryptionKeySize) bytes") }
        var text = "\(identity) (\(identity.kind)): " + parts.joined(separator: ", ")
        if longTermKeys.isEmpty { text = "\(identity) (\(identity.kind)): no key" }
        if identityResolvingKey != nil { text += "; resolves private addresses" }
        if !signatureKeys.isEmpty { text += "; signs" }
        return text
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Without the keys' bytes, so that `dump` does not show them.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension LongTermKey.Kind {
    /// Whether the pairing was protected against an attacker in the middle.
    var isAuthenticated: Bool { self == .authenticated || self == .authenticatedLegacy }
}

/// Whether the kernel knows the keys of the bonds.
public enum BondStanding: Hashable, Sendable {
    /// It does: bonded devices reconnect without pairing again.
    case loaded
    /// Bonds are not this program's business; see ``BondKeeping/notKept``.
    case notKept
    /// It does not, since loading keys needs CAP_NET_ADMIN. Bonds can be looked at and removed.
    case notPermitted
    /// BlueZ's daemon is running, which loads its own keys and is told of those that pairing makes.
    case daemon
    /// The store could not be read, or the kernel has refused the keys.
    case failed(BluetoothError)
}

/// Something that happened to the bonds of an adapter.
public enum BondChange: Hashable, Sendable {
    /// A device was paired with, or something of its bond has changed, and the store has it.
    case kept(Bond)
    /// The same, and the store could not be written: the bond lasts as long as the adapter is open.
    case notKept(Bond, BluetoothError)
    /// A bond was removed, by this program or by another.
    case removed(BluetoothAddress)
    /// A bond was replaced by that with another device, because of the ``BondLimit``.
    case displaced(BluetoothAddress, by: BluetoothAddress)
    /// A pairing was refused, or its bond discarded, because of the ``BondLimit``. The address is the one that the device
    /// used, which may be private and change. Left out while 128 changes wait, since any device in range can cause it.
    case refused(BluetoothAddress)
}
