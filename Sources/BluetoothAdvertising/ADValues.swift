import BluetoothPrimitives

/// Discoverability and BR/EDR support (CSS Part A §1.3).
public struct AdvertisementFlags: OptionSet, Hashable, Sendable {
    /// The bits as on the air.
    public var rawValue: UInt8

    /// The flags with these bits, assigned or not.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    @inlinable
    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = try reader.readUInt8()
    }

    /// Discoverable for a limited time.
    public static let leLimitedDiscoverable = AdvertisementFlags(rawValue: 1 << 0)
    /// Discoverable at all times.
    public static let leGeneralDiscoverable = AdvertisementFlags(rawValue: 1 << 1)
    /// The device speaks LE only.
    public static let brEDRNotSupported = AdvertisementFlags(rawValue: 1 << 2)
    /// The controller does LE and BR/EDR to the same device at the same time.
    public static let simultaneousLEAndBREDRController = AdvertisementFlags(rawValue: 1 << 3)
    /// The host does so too (no longer used).
    public static let simultaneousLEAndBREDRHost = AdvertisementFlags(rawValue: 1 << 4)
}

extension AdvertisementFlags: CustomStringConvertible {
    /// The names of the bits that are set.
    public var description: String {
        let names = [
            "LE limited discoverable", "LE general discoverable", "BR/EDR not supported",
            "LE and BR/EDR (controller)", "LE and BR/EDR (host)",
        ]
        let set = (0..<8).filter { rawValue & 1 << $0 != 0 }
        return "[" + set.map { $0 < names.count ? names[$0] : "bit \($0)" }.joined(separator: ", ") + "]"
    }
}

/// Data that belongs to a service (CSS Part A §1.11).
public struct ServiceData: Hashable, Sendable {
    /// The service.
    public var service: BluetoothUUID
    /// What the service says; its format is the service's own.
    public var data: [UInt8]

    /// Data of a service.
    public init(service: BluetoothUUID, data: [UInt8]) {
        self.service = service
        self.data = data
    }
}

extension ServiceData: CustomStringConvertible {
    /// The service and its bytes in hexadecimal.
    public var description: String { "\(service): \(data.hexadecimal)" }
}

/// Data in a company's own format (CSS Part A §1.4).
public struct ManufacturerData: Hashable, Sendable {
    /// Whose format it is.
    public var company: CompanyIdentifier
    /// What follows the company's number.
    public var data: [UInt8]

    /// Data of a company, without its number.
    public init(company: CompanyIdentifier, data: [UInt8]) {
        self.company = company
        self.data = data
    }
}

extension ManufacturerData: CustomStringConvertible {
    /// The company and the bytes in hexadecimal.
    public var description: String { "\(company): \(data.hexadecimal)" }
}

/// The BR/EDR class of device (Assigned Numbers §2.8), 24 bits.
public struct ClassOfDevice: RawRepresentable, Hashable, Sendable {
    /// The 24 bits as on the air.
    public let rawValue: UInt32

    /// The low 24 bits of `rawValue`.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue & 0xFF_FFFF
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = try reader.readUInt24()
    }

    /// The major service class bits 13 to 23, moved down to 0.
    public var serviceClasses: UInt16 { UInt16(truncatingIfNeeded: rawValue >> 13) }
    /// The major device class: 1 computer, 2 phone, 4 audio and video, 5 peripheral, …
    public var majorDeviceClass: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 8) & 0x1F }
    /// The minor device class, whose meaning depends on the major one.
    public var minorDeviceClass: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 2) & 0x3F }
}

extension ClassOfDevice: CustomStringConvertible {
    /// Six hexadecimal digits.
    public var description: String { "0x" + hexadecimal(rawValue, digits: 6) }
}

/// Device ID of a BR/EDR inquiry response (Device ID Profile).
public struct DeviceID: Hashable, Sendable {
    /// Who assigned `vendor`: 1 the Bluetooth SIG, 2 the USB forum.
    public var vendorSource: UInt16
    /// The vendor's number.
    public var vendor: UInt16
    /// The vendor's number for the product.
    public var product: UInt16
    /// The version as binary coded decimal: 0x0210 is 2.1.0.
    public var version: UInt16

    /// A Device ID from its four numbers.
    public init(vendorSource: UInt16, vendor: UInt16, product: UInt16, version: UInt16) {
        self.vendorSource = vendorSource
        self.vendor = vendor
        self.product = product
        self.version = version
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        vendorSource = try reader.readUInt16()
        vendor = try reader.readUInt16()
        product = try reader.readUInt16()
        version = try reader.readUInt16()
    }
}

extension DeviceID: CustomStringConvertible {
    /// Vendor, product and version in hexadecimal.
    public var description: String {
        let source = vendorSource == 1 ? "Bluetooth" : vendorSource == 2 ? "USB" : "source \(vendorSource)"
        let numbers = [vendor, product, version].map { hexadecimal($0, digits: 4) }
        return "\(source) \(numbers.joined(separator: ":"))"
    }
}

/// Security Manager Out of Band Flags (CSS Part A §1.7).
public struct SecurityManagerOutOfBandFlags: OptionSet, Hashable, Sendable {
    /// The bits as on the air.
    public var rawValue: UInt8

    /// The flags with these bits, assigned or not.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = try reader.readUInt8()
    }

    /// Out-of-band data is present.
    public static let dataPresent = SecurityManagerOutOfBandFlags(rawValue: 1 << 0)
    /// The host supports LE.
    public static let leSupported = SecurityManagerOutOfBandFlags(rawValue: 1 << 1)
    /// The host does LE and BR/EDR to the same device at the same time.
    public static let simultaneousLEAndBREDR = SecurityManagerOutOfBandFlags(rawValue: 1 << 2)
    /// The address is a random one.
    public static let randomAddress = SecurityManagerOutOfBandFlags(rawValue: 1 << 3)
}

/// Which of the roles central and peripheral a device can take (CSS Part A §1.17); an open set.
public struct LERole: RawRepresentable, Hashable, Sendable {
    /// The number as on the air.
    public var rawValue: UInt8

    /// The role with this number, assigned or not.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = try reader.readUInt8()
    }

    /// Peripheral only.
    public static let peripheralOnly = LERole(rawValue: 0)
    /// Central only.
    public static let centralOnly = LERole(rawValue: 1)
    /// Both, rather peripheral.
    public static let peripheralPreferred = LERole(rawValue: 2)
    /// Both, rather central.
    public static let centralPreferred = LERole(rawValue: 3)
}

extension LERole: CustomStringConvertible {
    /// The role in words, or its number.
    public var description: String {
        switch self {
        case .peripheralOnly: "peripheral only"
        case .centralOnly: "central only"
        case .peripheralPreferred: "peripheral preferred"
        case .centralPreferred: "central preferred"
        default: "role 0x" + hexadecimal(rawValue, digits: 2)
        }
    }
}

/// The encrypted form of other AD structures (CSS Part A §1.23): who holds the key reads them.
public struct EncryptedAdvertisingData: Hashable, Sendable {
    /// Five bytes that make each encryption different.
    public var randomizer: [UInt8]
    /// The AD structures, encrypted.
    public var ciphertext: [UInt8]
    /// The four bytes that prove it was encrypted with the key.
    public var messageIntegrityCheck: [UInt8]

    /// Encrypted data from its three parts; the builder refuses other lengths than five and four for the outer two.
    public init(randomizer: [UInt8], ciphertext: [UInt8], messageIntegrityCheck: [UInt8]) {
        self.randomizer = randomizer
        self.ciphertext = ciphertext
        self.messageIntegrityCheck = messageIntegrityCheck
    }

    static let randomizerByteCount = 5
    static let messageIntegrityCheckByteCount = 4

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        randomizer = [UInt8](try reader.read(Self.randomizerByteCount))
        let check = Self.messageIntegrityCheckByteCount
        guard reader.remaining >= check else {
            throw TruncatedBytes(offset: reader.offset, needed: check, available: reader.remaining)
        }
        ciphertext = [UInt8](try reader.read(reader.remaining - check))
        messageIntegrityCheck = [UInt8](reader.readRemaining())
    }
}

/// To which coordinated set a device belongs, for those who hold the set's key (Coordinated Set Identification Service).
public struct ResolvableSetIdentifier: Hashable, Sendable {
    /// What the key makes of ``random``: 24 bits.
    public let hash: UInt32
    /// The random part: 24 bits of which the two upper ones are 01.
    public let random: UInt32

    /// An identifier from the low 24 bits of both parts.
    public init(hash: UInt32, random: UInt32) {
        self.hash = hash & 0xFF_FFFF
        self.random = random & 0xFF_FFFF
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        self.init(hash: try reader.readUInt24(), random: try reader.readUInt24())
    }
}

extension ResolvableSetIdentifier: CustomStringConvertible {
    /// Random part and hash in hexadecimal.
    public var description: String { hexadecimal(random, digits: 6) + ":" + hexadecimal(hash, digits: 6) }
}

/// One block of Transport Discovery Data (Transport Discovery Service): a service on another transport.
public struct TransportDiscoveryBlock: Hashable, Sendable {
    /// Who defined the data: 1 the Bluetooth SIG, 2 the Wi-Fi Alliance, …
    public var organization: UInt8
    /// Roles, transport state and whether the data is incomplete.
    public var flags: UInt8
    /// What the organization says.
    public var data: [UInt8]

    /// A block from its parts.
    public init(organization: UInt8, flags: UInt8, data: [UInt8]) {
        self.organization = organization
        self.flags = flags
        self.data = data
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        organization = try reader.readUInt8()
        flags = try reader.readUInt8()
        data = [UInt8](try reader.read(Int(try reader.readUInt8())))
    }
}

extension TransportDiscoveryBlock: CustomStringConvertible {
    /// Organization, flags and data.
    public var description: String {
        "organization \(organization), flags 0x\(hexadecimal(flags, digits: 2)): \(data.hexadecimal)"
    }
}

/// The LE features a device supports (CSS Part A §1.19); bit numbers are those of Core Vol 6 Part B §4.6.
public struct LESupportedFeatures: Hashable, Sendable {
    /// The bit field, least significant byte first; zero bytes at the end may be left out.
    public var bytes: [UInt8]

    /// Features from their bit field.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether the feature with this bit number is supported; one beyond the field is not.
    public func contains(_ bit: Int) -> Bool {
        guard bit >= 0, bytes.indices.contains(bit / 8) else { return false }
        return bytes[bit / 8] & 1 << (bit % 8) != 0
    }
}

extension LESupportedFeatures: CustomStringConvertible {
    /// The bit numbers that are set.
    public var description: String {
        let set = (0..<8 * bytes.count).filter { contains($0) }
        return "bits [" + set.map { "\($0)" }.joined(separator: ", ") + "]"
    }
}
