import BluetoothPrimitives

/// An AltBeacon: manufacturer data of any company with the code BEAC and 22 bytes.
public struct AltBeacon: Hashable, Sendable {
    /// Whose format the last byte has; often the maker of the beacon.
    public var company: CompanyIdentifier
    /// Twenty bytes, of which by convention the first sixteen say whose beacons these are.
    public var identifier: [UInt8]
    /// The signal strength at one metre, in dBm.
    public var referenceRSSI: Int8
    /// A byte whose meaning the company decides.
    public var reserved: UInt8

    private static let code: [UInt8] = [0xBE, 0xAC]
    private static let identifierByteCount = 20

    /// A beacon from its four values.
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

    /// Reads manufacturer data; nil when it is no AltBeacon.
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

    /// The manufacturer data that makes a device this beacon.
    public var manufacturerData: ManufacturerData {
        ManufacturerData(
            company: company, data: Self.code + identifier + [UInt8(bitPattern: referenceRSSI), reserved])
    }
}

extension AltBeacon: CustomStringConvertible {
    /// The values in one line.
    public var description: String { "AltBeacon \(company) \(identifier.hexadecimal) \(referenceRSSI) dBm" }
}

extension AdvertisementData {
    /// The AltBeacon this device is, if it is one.
    public var altBeacon: AltBeacon? {
        manufacturerData.lazy.compactMap { AltBeacon($0) }.first
    }
}

// Beacons are advertised as what takes no connections.
extension AdvertisementContent {
    /// What an iBeacon says.
    public static func iBeacon(_ beacon: IBeacon) -> AdvertisementContent {
        AdvertisementContent(manufacturerData: [beacon.manufacturerData])
    }

    /// What an AltBeacon says.
    public static func altBeacon(_ beacon: AltBeacon) -> AdvertisementContent {
        AdvertisementContent(manufacturerData: [beacon.manufacturerData])
    }

    /// What an Eddystone beacon says.
    /// - Throws: ``BeaconError`` about values that the frame has no room for.
    public static func eddystone(_ frame: Eddystone) throws(BeaconError) -> AdvertisementContent {
        AdvertisementContent(services: [Eddystone.service], serviceData: [try frame.serviceData()])
    }
}
