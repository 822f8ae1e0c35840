import BluetoothPrimitives

/// An AltBeacon: manufacturer specific data of any company with the code BEAC and 22 bytes.
public struct AltBeacon: AdvertisedValue, Hashable {
    /// The company that defines the last byte, often the manufacturer of the beacon.
    public var company: CompanyIdentifier
    /// The beacon identifier, twenty bytes; by convention, the first sixteen identify the organization.
    public private(set) var identifier: [UInt8]
    /// The RSSI at one metre in dBm.
    public var referenceRSSI: Int8
    /// A byte reserved for the company.
    public var reserved: UInt8

    private static let code: [UInt8] = [0xBE, 0xAC]
    private static let identifierByteCount = 20

    /// A beacon with the given fields.
    /// - Throws: ``BeaconError/wrongLength(expected:actual:)`` unless the identifier has twenty bytes.
    public init(
        company: CompanyIdentifier, identifier: [UInt8], referenceRSSI: Int8, reserved: UInt8 = 0
    ) throws(BeaconError) {
        guard identifier.count == Self.identifierByteCount else {
            throw .wrongLength(expected: Self.identifierByteCount, actual: identifier.count)
        }
        self.company = company
        self.identifier = identifier
        self.referenceRSSI = referenceRSSI
        self.reserved = reserved
    }

    /// Decodes manufacturer specific data; nil when it is not an AltBeacon.
    public init?(_ data: ManufacturerData) {
        var reader = ByteReader(data.data.span.bytes)
        do throws(TruncatedBytes) {
            guard [UInt8](try reader.read(2)) == Self.code else { return nil }
            company = data.company
            identifier = [UInt8](try reader.read(Self.identifierByteCount))
            referenceRSSI = try reader.readInt8()
            reserved = try reader.readUInt8()
        } catch {
            return nil
        }
    }

    /// The manufacturer specific data of this beacon.
    public var manufacturerData: ManufacturerData {
        ManufacturerData(
            company: company, data: Self.code + identifier + [UInt8(bitPattern: referenceRSSI), reserved])
    }
}

extension AltBeacon: CustomStringConvertible {
    /// The fields in one line.
    public var description: String { "AltBeacon \(company) \(identifier.hexadecimal) \(referenceRSSI) dBm" }
}

// Beacons use non-connectable advertising.
extension AdvertisementContent {
    /// The content of an iBeacon's advertisement.
    public static func iBeacon(_ beacon: IBeacon) -> AdvertisementContent {
        AdvertisementContent(manufacturerData: [beacon.manufacturerData])
    }

    /// The content of an AltBeacon's advertisement.
    public static func altBeacon(_ beacon: AltBeacon) -> AdvertisementContent {
        AdvertisementContent(manufacturerData: [beacon.manufacturerData])
    }

    /// The content of an Eddystone beacon's advertisement.
    /// - Throws: `BeaconError` for values that the frame cannot represent.
    public static func eddystone(_ frame: Eddystone) throws(BeaconError) -> AdvertisementContent {
        AdvertisementContent(services: [Eddystone.service], serviceData: [try frame.serviceData()])
    }
}
