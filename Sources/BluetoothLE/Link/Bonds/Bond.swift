import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The security information and stored client state that pairing with a device leaves (Core Vol 3 Part C §9.4.4): the
/// keys that identify it and encrypt its links, and its subscriptions here.
///
/// Descriptions, the mirror and `dump` show the kind of each key, never its bytes.
public struct Bond: Hashable, Identifiable, Sendable {
    /// The device's identity address: public or static random, whatever address the device uses on the air.
    public package(set) var identity: BluetoothAddress
    /// The keys that encrypt links with the device: one from LE Secure Connections, or one for each role from legacy
    /// pairing.
    package var longTermKeys: [LongTermKey]
    /// The key that resolves the device's private addresses; nil when the device has distributed none.
    package var identityResolvingKey: SecurityKey?
    /// The device's name, if the device has supplied one.
    public var name: String?
    /// The time of the pairing in seconds since 1970 (UTC).
    public var time: UInt64
    /// Whether the device has reconnected since the pairing, on a link encrypted with these keys.
    public var wasUsedAgain: Bool
    /// The time of the last such link in seconds since 1970 (UTC), to the day; nil before the first.
    public package(set) var lastUse: UInt64?
    /// The device's state as a GATT client: its subscriptions and the database it has discovered; nil before its first
    /// visit.
    package var client: GATTClientRecord?

    /// Creates a bond from its parts.
    package init(
        identity: BluetoothAddress, longTermKeys: [LongTermKey] = [], identityResolvingKey: SecurityKey? = nil,
        name: String? = nil, time: UInt64 = 0, wasUsedAgain: Bool = false,
        client: GATTClientRecord? = nil
    ) {
        self.identity = identity
        self.longTermKeys = longTermKeys
        self.identityResolvingKey = identityResolvingKey
        self.name = name
        self.time = time
        self.wasUsedAgain = wasUsedAgain
        self.client = client
    }

    /// The identity address; there is one bond with it.
    public var id: BluetoothAddress { identity }

    /// Whether the keys were made by LE Secure Connections.
    public var usesSecureConnections: Bool { longTermKeys.contains { $0.kind.isSecureConnections } }

    /// Whether the pairing was protected against an attacker in the middle.
    public var isAuthenticated: Bool { longTermKeys.contains { $0.kind.isAuthenticated } }

    /// The security level of a link encrypted with these keys; `SecurityLevel.low` without keys.
    public var level: SecurityLevel {
        guard !longTermKeys.isEmpty else { return .low }
        guard isAuthenticated else { return .medium }
        return usesSecureConnections ? .fips : .high
    }

    /// The size of the shortest key in bytes, 7 to 16; nil without keys.
    public var encryptionKeySize: Int? { longTermKeys.map(\.encryptionSize).min() }

    /// Adds a key from a pairing and removes the keys it replaces.
    mutating func add(_ key: LongTermKey) {
        longTermKeys.removeAll {
            key.kind.isSecureConnections || $0.isCentral == key.isCentral || $0.kind.isSecureConnections
        }
        longTermKeys.append(key)
    }
}

extension Bond: CustomStringConvertible, CustomReflectable {
    /// The identity and the kind of pairing, such as `C0:98:E5:12:34:56 (random): LE Secure Connections, authenticated,
    /// 16 bytes; resolves private addresses`.
    public var description: String {
        var parts = [usesSecureConnections ? "LE Secure Connections" : "LE legacy pairing"]
        parts.append(isAuthenticated ? "authenticated" : "not authenticated")
        if let encryptionKeySize { parts.append("\(encryptionKeySize) bytes") }
        var text = "\(identity.digits) (\(identity.kind)): " + parts.joined(separator: ", ")
        if longTermKeys.isEmpty { text = "\(identity.digits) (\(identity.kind)): no key" }
        if identityResolvingKey != nil { text += "; resolves private addresses" }
        return text
    }

    /// A mirror without the keys' bytes, so that `dump` does not show them.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Bond {
    /// Whether the bond has this very key, such as after the restart of a program that shares the store.
    func contains(_ key: LongTermKey) -> Bool {
        longTermKeys.contains { $0.value == key.value && $0.isCentral == key.isCentral }
    }

    /// The level to ask for, so that the host uses the key: above that of the key it would pair, and below it, it reports
    /// the lower one. It may report `SecurityLevel.fips` as the level below.
    var linkLevel: SecurityLevel { min(level, .high) }

    /// The key that encrypts links in a role.
    func longTermKey(isCentral: Bool) -> LongTermKey? {
        longTermKeys.first { $0.kind.isSecureConnections || $0.isCentral == isCentral }
    }

    /// Whether the bond's key may have given a link its security; as the central, a host may report the level that was
    /// asked for.
    func mayHaveEncrypted(_ security: LinkSecurity, isCentral: Bool) -> Bool {
        guard let key = longTermKey(isCentral: isCentral) else { return false }
        return security.keySize >= key.encryptionSize && (isCentral || security.level >= linkLevel)
    }

    func encryptionKeySize(inRole isCentral: Bool) -> Int? {
        longTermKey(isCentral: isCentral)?.encryptionSize
    }
}

extension LongTermKey.Kind {
    /// Whether LE Secure Connections made the key, for both roles.
    var isSecureConnections: Bool { [.unauthenticated, .authenticated, .debug].contains(self) }

    /// Whether the pairing was protected against an attacker in the middle.
    var isAuthenticated: Bool { self == .authenticated || self == .authenticatedLegacy }
}

/// The state of the bonds' keys in the kernel. An open set: switch with a default.
public struct BondStatus: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case loaded, disabled, notPermitted, daemon
        case failed(BluetoothError)
    }

    package let kind: Kind

    /// The kernel gets the keys before a link needs them: bonded devices reconnect without pairing again.
    public static let loaded = BondStatus(kind: .loaded)
    /// The adapter was opened without bonds; see ``BondStorage/disabled``.
    public static let disabled = BondStatus(kind: .disabled)
    /// The kernel lacks the keys, since loading them needs CAP_NET_ADMIN. Bonds can be listed and removed.
    public static let notPermitted = BondStatus(kind: .notPermitted)
    /// BlueZ's daemon is running. It loads its own keys and receives those that pairing makes.
    public static let daemon = BondStatus(kind: .daemon)
    package static func failed(_ error: BluetoothError) -> Self { Self(kind: .failed(error)) }

    /// The reason for which the store could not be read, or the kernel has rejected the keys; nil in other states.
    public var failure: BluetoothError? { if case .failed(let error) = kind { error } else { nil } }
}

extension BondStatus: CustomStringConvertible {
    /// The state in words, such as `loaded`.
    public var description: String {
        switch kind {
        case .loaded: "loaded"
        case .disabled: "disabled"
        case .notPermitted: "notPermitted"
        case .daemon: "daemon"
        case .failed(let error): "failed(\(error))"
        }
    }
}

/// A change of an adapter's bonds. An open set: each property is one thing that may happen, nil for the others.
public struct BondChange: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case stored(Bond)
        case notStored(Bond, BluetoothError)
        case removed(BluetoothAddress)
        case displaced(BluetoothAddress, by: BluetoothAddress)
        case refused(BluetoothAddress)
        case notReplaced(BluetoothAddress, BluetoothError)
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// The bond of a device that was paired, or whose bond has changed, which the store has.
    public var stored: Bond? { if case .stored(let bond) = kind { bond } else { nil } }
    /// The bond of a device that was paired, or whose bond has changed, and the reason for which the store could not be
    /// written: the bond lasts as long as the adapter is open.
    public var notStored: (bond: Bond, error: BluetoothError)? {
        if case .notStored(let bond, let error) = kind { (bond, error) } else { nil }
    }
    /// The identity of a device whose bond was removed, by this program or by another.
    public var removed: BluetoothAddress? { if case .removed(let identity) = kind { identity } else { nil } }
    /// The identity of a device whose bond was replaced by that with another device, because of the ``BondLimit``.
    public var displaced: (identity: BluetoothAddress, by: BluetoothAddress)? {
        if case .displaced(let identity, let other) = kind { (identity, other) } else { nil }
    }
    /// The device whose pairing was refused, or its bond discarded, because of the ``BondLimit``. The address is the one
    /// that the device used, which may be private and change. Omitted while 128 changes wait, since any device in range
    /// can cause it.
    public var refused: BluetoothAddress? { if case .refused(let peer) = kind { peer } else { nil } }
    /// The device whose pairing was refused, since it would have replaced the bond with a device, which remains. The error
    /// has the reason, and as its remedy how to remove the bond of a device that was reset. Omitted as ``refused`` is.
    public var notReplaced: (identity: BluetoothAddress, error: BluetoothError)? {
        if case .notReplaced(let identity, let error) = kind { (identity, error) } else { nil }
    }
}
