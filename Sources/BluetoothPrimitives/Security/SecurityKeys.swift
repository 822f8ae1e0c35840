/// Sixteen secret bytes. They are never printed.
public struct SecurityKey: Hashable, Sendable {
    private var low: UInt64
    private var high: UInt64

    /// How many bytes a key has.
    public static let byteCount = 16

    /// A key from its sixteen bytes as the kernel gives and takes them, least significant first.
    ///
    /// Returns nil for any other number of bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var reader = ByteReader(bytes.span.bytes)
        guard let key = try? SecurityKey(reading: &reader) else { return nil }
        self = key
    }

    /// A key of random bytes.
    public static func random(using generator: inout some RandomNumberGenerator) -> SecurityKey {
        SecurityKey(low: generator.next(), high: generator.next())
    }

    /// The key of sixteen zero bytes, which stands for "none".
    public static let zero = SecurityKey(low: 0, high: 0)

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// The sixteen bytes as the kernel gives and takes them, least significant first.
    public var bytes: [UInt8] {
        [low, high].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * UInt64($0))) } }
    }

    /// The key as the specification's functions take it: a number, its most significant byte the last of ``bytes``.
    package var number: UInt128 { UInt128(high) << 64 | UInt128(low) }

    /// Whether two keys are equal, compared in constant time.
    public static func == (one: SecurityKey, other: SecurityKey) -> Bool {
        (one.low ^ other.low) | (one.high ^ other.high) == 0
    }

    package init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        low = try reader.readUInt64()
        high = try reader.readUInt64()
    }

    package func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(low)
        try writer.write(high)
    }
}

extension SecurityKey: CustomStringConvertible, CustomDebugStringConvertible {
    /// Nothing but that it is a key.
    public var description: String { "secret key" }

    /// Nothing but that it is a key.
    public var debugDescription: String { description }
}

#if !hasFeature(Embedded)
    extension SecurityKey: CustomReflectable {
        /// Without the key's bytes, so that `dump` does not show them.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif

/// A key that encrypts the connections with a bonded device (Core Vol 3 Part H §2.4.2.3).
public struct LongTermKey: Hashable, Sendable {
    /// How the key came about.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The byte in the packet.
        public let rawValue: UInt8

        /// A kind of any value.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// By legacy pairing, without protection against an attacker in the middle.
        public static let unauthenticatedLegacy = Kind(rawValue: 0)
        /// By legacy pairing, with protection.
        public static let authenticatedLegacy = Kind(rawValue: 1)
        /// By LE Secure Connections, without protection.
        public static let unauthenticated = Kind(rawValue: 2)
        /// By LE Secure Connections, with protection.
        public static let authenticated = Kind(rawValue: 3)
        /// By LE Secure Connections with the debug key that everybody knows.
        public static let debug = Kind(rawValue: 4)

        /// The kind in words.
        public var description: String {
            switch self {
            case .unauthenticatedLegacy: return "unauthenticated legacy"
            case .authenticatedLegacy: return "authenticated legacy"
            case .unauthenticated: return "unauthenticated"
            case .authenticated: return "authenticated"
            case .debug: return "debug"
            default: return "kind \(rawValue)"
            }
        }
    }

    /// The device's identity: a public or static random address.
    public var address: BluetoothAddress
    /// How the key came about.
    public var kind: Kind
    /// For a legacy key, whether it is for connections in which this adapter is the central. Secure Connections have
    /// one key for both.
    public var isCentral: Bool
    /// How many bytes of the key count, 7 to 16.
    public var encryptionSize: UInt8
    /// Tells a legacy key from others of the same device (EDIV).
    public var encryptedDiversifier: UInt16
    /// Tells a legacy key from others of the same device (Rand).
    public var randomNumber: UInt64
    /// The secret.
    public var value: SecurityKey

    /// How many bytes of a key may count (Core Vol 3 Part H §2.3.4).
    public static let encryptionSizes: ClosedRange<UInt8> = 7...16

    /// A key as the kernel reported it.
    public init(
        address: BluetoothAddress, kind: Kind, isCentral: Bool, encryptionSize: UInt8 = 16,
        encryptedDiversifier: UInt16 = 0, randomNumber: UInt64 = 0, value: SecurityKey
    ) {
        self.address = address
        self.kind = kind
        self.isCentral = isCentral
        self.encryptionSize = encryptionSize
        self.encryptedDiversifier = encryptedDiversifier
        self.randomNumber = randomNumber
        self.value = value
    }
}

extension LongTermKey: CustomStringConvertible {
    /// Whose key and what kind, not the key.
    public var description: String {
        "\(address) (LE \(address.kind)), \(kind), \(isCentral ? "central" : "peripheral"), \(encryptionSize) bytes"
    }
}

/// A key that tells which bonded device a resolvable private address belongs to (Core Vol 3 Part H §2.4.2.1).
public struct IdentityResolvingKey: Hashable, Sendable {
    /// The device's identity: a public or static random address.
    public var address: BluetoothAddress
    /// The secret.
    public var value: SecurityKey

    /// A device's key.
    public init(address: BluetoothAddress, value: SecurityKey) {
        self.address = address
        self.value = value
    }
}

extension IdentityResolvingKey: CustomStringConvertible {
    /// Whose key, not the key.
    public var description: String { "\(address) (LE \(address.kind))" }
}

/// A key that signs data or verifies signatures (Core Vol 3 Part H §2.4.2.2).
public struct SignatureResolvingKey: Hashable, Sendable {
    /// Whose signatures the key is for.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The byte in the packet.
        public let rawValue: UInt8

        /// A kind of any value.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// For what this adapter signs; pairing without protection against an attacker in the middle.
        public static let unauthenticatedLocal = Kind(rawValue: 0)
        /// For what the device signs; pairing without protection.
        public static let unauthenticatedRemote = Kind(rawValue: 1)
        /// For what this adapter signs; pairing with protection.
        public static let authenticatedLocal = Kind(rawValue: 2)
        /// For what the device signs; pairing with protection.
        public static let authenticatedRemote = Kind(rawValue: 3)

        /// The kind in words.
        public var description: String {
            switch self {
            case .unauthenticatedLocal: return "unauthenticated local"
            case .unauthenticatedRemote: return "unauthenticated remote"
            case .authenticatedLocal: return "authenticated local"
            case .authenticatedRemote: return "authenticated remote"
            default: return "kind \(rawValue)"
            }
        }
    }

    /// The device's identity: a public or static random address.
    public var address: BluetoothAddress
    /// Whose signatures the key is for.
    public var kind: Kind
    /// The secret.
    public var value: SecurityKey

    /// A key of the connection with a device.
    public init(address: BluetoothAddress, kind: Kind, value: SecurityKey) {
        self.address = address
        self.kind = kind
        self.value = value
    }
}

extension SignatureResolvingKey: CustomStringConvertible {
    /// Whose key and what kind, not the key.
    public var description: String { "\(address) (LE \(address.kind)), \(kind)" }
}
