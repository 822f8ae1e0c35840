import BluetoothPrimitives

/// A value that is the content of an AD structure.
protocol ADValue {
    init(reading reader: inout ByteReader) throws(TruncatedBytes)
}

/// The flags: discoverability and BR/EDR support (CSS Part A §1.3).
public struct AdvertisementFlags: OptionSet, Hashable, Sendable, ADValue {
    /// The flags as sent, one byte.
    public var rawValue: UInt8

    /// The flags with the bits `rawValue`, assigned or not.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    @inlinable
    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = try reader.readUInt8()
    }

    /// LE Limited Discoverable Mode.
    public static let leLimitedDiscoverable = AdvertisementFlags(rawValue: 1 << 0)
    /// LE General Discoverable Mode.
    public static let leGeneralDiscoverable = AdvertisementFlags(rawValue: 1 << 1)
    /// BR/EDR Not Supported.
    public static let brEDRNotSupported = AdvertisementFlags(rawValue: 1 << 2)
    /// Simultaneous LE and BR/EDR to the same device (controller).
    public static let simultaneousLEAndBREDRController = AdvertisementFlags(rawValue: 1 << 3)
    /// Simultaneous LE and BR/EDR to the same device (host); previously used.
    public static let simultaneousLEAndBREDRHost = AdvertisementFlags(rawValue: 1 << 4)
}

extension AdvertisementFlags: CustomStringConvertible {
    /// The names of the set bits.
    public var description: String {
        let names = [
            "LE limited discoverable", "LE general discoverable", "BR/EDR not supported",
            "LE and BR/EDR (controller)", "LE and BR/EDR (host)",
        ]
        let set = (0..<8).filter { rawValue & 1 << $0 != 0 }
        return "[" + set.map { $0 < names.count ? names[$0] : "bit \($0)" }.joined(separator: ", ") + "]"
    }
}

/// The data of a service (CSS Part A §1.11).
public struct ServiceData: Hashable, Sendable {
    /// The service UUID.
    public var service: BluetoothUUID
    /// The data, in a format that the service defines.
    public var data: [UInt8]

    /// Data of the given service.
    public init(service: BluetoothUUID, data: [UInt8]) {
        self.service = service
        self.data = data
    }
}

extension ServiceData: CustomStringConvertible {
    /// The service and its data in hexadecimal.
    public var description: String { "\(service): \(data.hexadecimal)" }
}

/// Manufacturer specific data (CSS Part A §1.4).
public struct ManufacturerData: Hashable, Sendable {
    /// The company, which defines the format.
    public var company: CompanyIdentifier
    /// The bytes after the company identifier.
    public var data: [UInt8]

    /// Data of the given company.
    public init(company: CompanyIdentifier, data: [UInt8]) {
        self.company = company
        self.data = data
    }
}

extension ManufacturerData: CustomStringConvertible {
    /// The company and the data in hexadecimal.
    public var description: String { "\(company): \(data.hexadecimal)" }
}

/// The BR/EDR class of device (Assigned Numbers §2.8), 24 bits.
public struct ClassOfDevice: RawRepresentable, Hashable, Sendable, ADValue {
    /// The 24 bits as sent.
    public let rawValue: UInt32

    /// The class of device in the low 24 bits of `rawValue`.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue & 0xFF_FFFF
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        rawValue = try reader.readUInt24()
    }

    /// The major service classes, bits 13 to 23 shifted down to bit 0.
    public var serviceClasses: UInt16 { UInt16(truncatingIfNeeded: rawValue >> 13) }
    /// The major device class: 1 computer, 2 phone, 4 audio and video, 5 peripheral, …
    public var majorDeviceClass: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 8) & 0x1F }
    /// The minor device class, which depends on the major one.
    public var minorDeviceClass: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 2) & 0x3F }
}

extension ClassOfDevice: CustomStringConvertible {
    /// Six hexadecimal digits.
    public var description: String { "0x" + hexadecimal(rawValue, digits: 6) }
}

/// The Device ID of a BR/EDR inquiry response (Device ID Profile).
public struct DeviceID: Hashable, Sendable {
    /// The authority that assigned `vendor`: 1 the Bluetooth SIG, 2 the USB Implementers Forum.
    public var vendorSource: UInt16
    /// The vendor ID.
    public var vendor: UInt16
    /// The product ID, assigned by the vendor.
    public var product: UInt16
    /// The version in binary-coded decimal: 0x0210 is 2.1.0.
    public var version: UInt16

    /// A Device ID with the given fields.
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
    /// The vendor, product and version in hexadecimal.
    public var description: String {
        let source = vendorSource == 1 ? "Bluetooth" : vendorSource == 2 ? "USB" : "source \(vendorSource)"
        let numbers = [vendor, product, version].map { hexadecimal($0, digits: 4) }
        return "\(source) \(numbers.joined(separator: ":"))"
    }
}

/// The Security Manager Out of Band Flags (CSS Part A §1.7).
public struct SecurityManagerOutOfBandFlags: OptionSet, Hashable, Sendable, ADValue {
    /// The flags as sent, one byte.
    public var rawValue: UInt8

    /// The flags with the bits `rawValue`, assigned or not.
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
    /// The host supports LE and BR/EDR to the same device simultaneously.
    public static let simultaneousLEAndBREDR = SecurityManagerOutOfBandFlags(rawValue: 1 << 2)
    /// The address is a random address.
    public static let randomAddress = SecurityManagerOutOfBandFlags(rawValue: 1 << 3)
}

/// The supported and preferred roles of a device (CSS Part A §1.17). An open set.
public struct LERole: RawRepresentable, Hashable, Sendable, ADValue {
    /// The value as sent, one byte.
    public var rawValue: UInt8

    /// The value `rawValue`, assigned or not.
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
    /// Both roles, peripheral preferred.
    public static let peripheralPreferred = LERole(rawValue: 2)
    /// Both roles, central preferred.
    public static let centralPreferred = LERole(rawValue: 3)
}

extension LERole: CustomStringConvertible {
    /// The name of the roles, or the value of an unassigned one.
    public var description: String {
        codeName(rawValue, ["peripheral only", "central only", "peripheral preferred", "central preferred"])
            ?? "role 0x" + hexadecimal(rawValue, digits: 2)
    }
}

/// Encrypted AD structures (CSS Part A §1.23).
public struct EncryptedAdvertisingData: Hashable, Sendable {
    /// The randomizer, five bytes that make each encryption different.
    public var randomizer: [UInt8]
    /// The encrypted AD structures.
    public var ciphertext: [UInt8]
    /// The message integrity check, four bytes.
    public var messageIntegrityCheck: [UInt8]

    /// Encrypted data with the given parts; the builder refuses a randomizer or a check of another length.
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
        ciphertext = [UInt8](try reader.read(max(0, reader.remaining - check)))
        messageIntegrityCheck = [UInt8](try reader.read(check))
    }
}

/// A resolvable identifier of a coordinated set (Coordinated Set Identification Service).
public struct ResolvableSetIdentifier: Hashable, Sendable, ADValue {
    /// The 24-bit hash of ``random`` with the set's key.
    public let hash: UInt32
    /// The 24-bit random part, whose two upper bits are 01.
    public let random: UInt32

    /// An identifier with the low 24 bits of both parts.
    public init(hash: UInt32, random: UInt32) {
        self.hash = hash & 0xFF_FFFF
        self.random = random & 0xFF_FFFF
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        self.init(hash: try reader.readUInt24(), random: try reader.readUInt24())
    }
}

extension ResolvableSetIdentifier: CustomStringConvertible {
    /// The random part and the hash in hexadecimal.
    public var description: String { hexadecimal(random, digits: 6) + ":" + hexadecimal(hash, digits: 6) }
}

/// A block of Transport Discovery Data (Transport Discovery Service): a service on another transport.
public struct TransportDiscoveryBlock: Hashable, Sendable {
    /// The organization that defines the data: 1 the Bluetooth SIG, 2 the Wi-Fi Alliance, …
    public var organization: UInt8
    /// The role, the transport state and whether the data is incomplete.
    public var flags: UInt8
    /// The data, in a format that the organization defines.
    public var data: [UInt8]

    /// A block with the given fields.
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
    /// The organization, the flags and the data.
    public var description: String {
        "organization \(organization), flags 0x\(hexadecimal(flags, digits: 2)): \(data.hexadecimal)"
    }
}

/// The LE features that a device supports (CSS Part A §1.19), with the bit numbers of Core Vol 6 Part B §4.6.
public struct LESupportedFeatures: Hashable, Sendable {
    /// The bit field, least significant byte first; trailing zero bytes may be absent.
    public var bytes: [UInt8]

    /// The features with the given bit field.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether the device supports the feature with this bit number; false beyond the field.
    public func contains(_ bit: Int) -> Bool {
        guard bytes.indices.contains(bit >> 3) else { return false }
        return bytes[bit >> 3] & 1 << (bit & 7) != 0
    }
}

extension LESupportedFeatures: CustomStringConvertible {
    /// The numbers of the set bits.
    public var description: String {
        let set = (0..<8 * bytes.count).filter { contains($0) }
        return "bits [" + set.map { "\($0)" }.joined(separator: ", ") + "]"
    }
}
