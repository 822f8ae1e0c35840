/// A 128-bit key, whose value is never printed.
public struct SecurityKey: Hashable, Sendable {
    private var low: UInt64
    private var high: UInt64

    /// The size of a key in bytes.
    public static let byteCount = 16

    /// A key with its sixteen bytes in the kernel's order, least significant first.
    ///
    /// Returns nil for any other number of bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var reader = ByteReader(bytes.span.bytes)
        guard let key = try? SecurityKey(reading: &reader) else { return nil }
        self = key
    }

    /// A random key.
    public static func random(using generator: inout some RandomNumberGenerator) -> SecurityKey {
        SecurityKey(low: generator.next(), high: generator.next())
    }

    /// The key of sixteen zero bytes, which means "none".
    public static let zero = SecurityKey(low: 0, high: 0)

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// The sixteen bytes in the kernel's order, least significant first.
    public var bytes: [UInt8] {
        [low, high].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * UInt64($0))) } }
    }

    /// The key as the argument of the specification's functions; the most significant byte is the last of ``bytes``.
    package var number: UInt128 { UInt128(high) << 64 | UInt128(low) }

    /// Whether both keys are equal, compared in constant time.
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
    /// A placeholder without the key's value.
    public var description: String { "secret key" }

    /// A placeholder without the key's value.
    public var debugDescription: String { description }
}

#if !hasFeature(Embedded)
    extension SecurityKey: CustomReflectable {
        /// An empty mirror, so that `dump` does not show the key's value.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif

/// The long term key for encrypting links with a bonded device (Core Vol 3 Part H §2.4.2.3).
public struct LongTermKey: Hashable, Sendable {
    /// The pairing that created the key.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The kind as sent, one byte.
        public let rawValue: UInt8

        /// The kind with the value `rawValue`.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Legacy pairing, unauthenticated.
        public static let unauthenticatedLegacy = Kind(rawValue: 0)
        /// Legacy pairing, authenticated (MITM protection).
        public static let authenticatedLegacy = Kind(rawValue: 1)
        /// LE Secure Connections, unauthenticated.
        public static let unauthenticated = Kind(rawValue: 2)
        /// LE Secure Connections, authenticated (MITM protection).
        public static let authenticated = Kind(rawValue: 3)
        /// LE Secure Connections with the publicly known debug key.
        public static let debug = Kind(rawValue: 4)

        /// The name of the kind.
        public var description: String {
            codeName(
                rawValue,
                ["unauthenticated legacy", "authenticated legacy", "unauthenticated", "authenticated", "debug"])
                ?? "kind \(rawValue)"
        }
    }

    /// The device's identity address, public or static random.
    public var address: BluetoothAddress
    /// The pairing that created the key.
    public var kind: Kind
    /// Whether a legacy key is for links with this adapter as the central. LE Secure Connections has one key for both
    /// roles.
    public var isCentral: Bool
    /// The encryption key size in bytes, 7 to 16.
    public var encryptionSize: Int
    /// The encrypted diversifier (EDIV) of a legacy key, which identifies it among those of the device.
    public var encryptedDiversifier: UInt16
    /// The random number (Rand) of a legacy key, which identifies it among those of the device.
    public var randomNumber: UInt64
    /// The secret key.
    public var value: SecurityKey

    /// The valid encryption key sizes in bytes (Core Vol 3 Part H §2.3.4).
    public static let encryptionSizes = 7...16

    /// A key as reported by the kernel.
    public init(
        address: BluetoothAddress, kind: Kind, isCentral: Bool, encryptionSize: Int = 16,
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
    /// The device and the kind of the key, without its value.
    public var description: String {
        "\(address.digits) (LE \(address.kind)), \(kind), \(isCentral ? "central" : "peripheral"), \(encryptionSize) bytes"
    }
}

/// The identity resolving key of a bonded device, which resolves its private addresses (Core Vol 3 Part H §2.4.2.1).
public struct IdentityResolvingKey: Hashable, Sendable {
    /// The device's identity address, public or static random.
    public var address: BluetoothAddress
    /// The secret key.
    public var value: SecurityKey

    /// The key of a device.
    public init(address: BluetoothAddress, value: SecurityKey) {
        self.address = address
        self.value = value
    }
}

extension IdentityResolvingKey: CustomStringConvertible {
    /// The device, without the value of its key.
    public var description: String { "\(address.digits) (LE \(address.kind))" }
}

/// A signature resolving key, which signs data or verifies signatures (Core Vol 3 Part H §2.4.2.2).
public struct SignatureResolvingKey: Hashable, Sendable {
    /// The signing device and the pairing that created the key.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The kind as sent, one byte.
        public let rawValue: UInt8

        /// The kind with the value `rawValue`.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Signatures of this adapter; unauthenticated pairing.
        public static let unauthenticatedLocal = Kind(rawValue: 0)
        /// Signatures of the device; unauthenticated pairing.
        public static let unauthenticatedRemote = Kind(rawValue: 1)
        /// Signatures of this adapter; authenticated pairing (MITM protection).
        public static let authenticatedLocal = Kind(rawValue: 2)
        /// Signatures of the device; authenticated pairing (MITM protection).
        public static let authenticatedRemote = Kind(rawValue: 3)

        /// The name of the kind.
        public var description: String {
            codeName(
                rawValue,
                ["unauthenticated local", "unauthenticated remote", "authenticated local", "authenticated remote"])
                ?? "kind \(rawValue)"
        }
    }

    /// The device's identity address, public or static random.
    public var address: BluetoothAddress
    /// The signing device and the pairing that created the key.
    public var kind: Kind
    /// The secret key.
    public var value: SecurityKey

    /// A key for signatures exchanged with a device.
    public init(address: BluetoothAddress, kind: Kind, value: SecurityKey) {
        self.address = address
        self.kind = kind
        self.value = value
    }
}

extension SignatureResolvingKey: CustomStringConvertible {
    /// The device and the kind of the key, without its value.
    public var description: String { "\(address.digits) (LE \(address.kind)), \(kind)" }
}
