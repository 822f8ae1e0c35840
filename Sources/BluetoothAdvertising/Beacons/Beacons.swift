import BluetoothPrimitives

/// An iBeacon: Apple's manufacturer specific data of type 2 with 21 bytes.
public struct IBeacon: AdvertisedValue, Hashable {
    /// The UUID of the organization or application.
    public var proximityUUID: BluetoothUUID
    /// The major number, of a group of beacons.
    public var major: UInt16
    /// The minor number, of a beacon in the group.
    public var minor: UInt16
    /// The RSSI at one metre in dBm.
    public var measuredPower: Int8

    /// A beacon with the given fields.
    public init(proximityUUID: BluetoothUUID, major: UInt16, minor: UInt16, measuredPower: Int8) {
        self.proximityUUID = proximityUUID
        self.major = major
        self.minor = minor
        self.measuredPower = measuredPower
    }

    private static let type: UInt8 = 0x02
    private static let byteCount: UInt8 = 0x15

    /// Decodes manufacturer specific data; nil when it is not an iBeacon.
    public init?(_ data: ManufacturerData) {
        guard data.company == .apple else { return nil }
        var reader = ByteReader(data.data.span.bytes)
        do throws(TruncatedBytes) {
            guard try reader.readUInt8() == Self.type, try reader.readUInt8() == Self.byteCount else { return nil }
            // The fields of a beacon are big-endian.
            let high = try reader.readUInt64().byteSwapped
            let low = try reader.readUInt64().byteSwapped
            proximityUUID = BluetoothUUID(high: high, low: low)
            major = try reader.readUInt16().byteSwapped
            minor = try reader.readUInt16().byteSwapped
            measuredPower = try reader.readInt8()
        } catch {
            return nil
        }
    }

    /// The manufacturer specific data of this beacon.
    public var manufacturerData: ManufacturerData {
        let numbers = [major >> 8, major & 0xFF, minor >> 8, minor & 0xFF].map { UInt8($0) }
        let power = UInt8(bitPattern: measuredPower)
        return ManufacturerData(
            company: .apple, data: [Self.type, Self.byteCount] + proximityUUID.bytes + numbers + [power])
    }
}

extension IBeacon: CustomStringConvertible {
    /// The fields in one line.
    public var description: String {
        "iBeacon \(proximityUUID.fullDescription) \(major)/\(minor) \(measuredPower) dBm"
    }
}

/// An Eddystone frame in the data of service FEAA. An open set: other frames keep their bytes.
public enum Eddystone: AdvertisedValue, Hashable {
    /// A UID frame: a namespace of ten bytes, an instance of six bytes, and the transmit power at 0 m in dBm.
    case uid(namespace: [UInt8], instance: [UInt8], txPower: Int8)
    /// A URL frame, with the transmit power at 0 m in dBm.
    case url(String, txPower: Int8)
    /// A TLM frame: the battery voltage in mV, 0 if unknown; the temperature in 1/256 °C, nil if unknown; the number of
    /// packets sent; the time since the start in 0.1 s.
    case telemetry(batteryVoltage: UInt16, temperature: Int16?, packetCount: UInt32, uptime: UInt32)
    /// An EID frame: an ephemeral identifier of eight bytes, and the transmit power at 0 m in dBm.
    case ephemeralIdentifier([UInt8], txPower: Int8)
    /// Another frame.
    case other(frameType: UInt8, [UInt8])

    /// The Eddystone service UUID.
    public static let service: BluetoothUUID = 0xFEAA

    /// Decodes service data; nil when it is of another service or too short for its frame.
    public init?(_ data: ServiceData) {
        guard data.service == Self.service else { return nil }
        var reader = ByteReader(data.data.span.bytes)
        do throws(TruncatedBytes) {
            let frameType = try reader.readUInt8()
            switch frameType {
            case 0x00:
                let power = try reader.readInt8()
                let namespace = [UInt8](try reader.read(10))
                self = .uid(namespace: namespace, instance: [UInt8](try reader.read(6)), txPower: power)
            case 0x10:
                let power = try reader.readInt8()
                let scheme = Int(try reader.readUInt8())
                guard scheme < Self.schemes.count else { return nil }
                self = .url(Self.schemes[scheme] + Self.expanded(reader.readRemaining()), txPower: power)
            case 0x20:
                // Other versions than 0 are encrypted.
                guard try reader.readUInt8() == 0 else {
                    self = .other(frameType: frameType, Array(data.data.dropFirst()))
                    return
                }
                let voltage = try reader.readUInt16().byteSwapped
                let temperature = Int16(bitPattern: try reader.readUInt16().byteSwapped)
                let packets = try reader.readUInt32().byteSwapped
                let uptime = try reader.readUInt32().byteSwapped
                self = .telemetry(
                    batteryVoltage: voltage, temperature: temperature == .min ? nil : temperature,
                    packetCount: packets, uptime: uptime)
            case 0x30:
                let power = try reader.readInt8()
                self = .ephemeralIdentifier([UInt8](try reader.read(8)), txPower: power)
            default: self = .other(frameType: frameType, [UInt8](reader.readRemaining()))
            }
        } catch {
            return nil
        }
    }

    /// The text of a compressed URL, in which values below 14 abbreviate common endings with or without a slash.
    private static func expanded(_ bytes: RawSpan) -> String {
        var text = ""
        var reader = ByteReader(bytes)
        while let byte = try? reader.readUInt8() {
            let index = Int(byte)
            switch index {
            case ..<endings.count: text += endings[index] + "/"
            case ..<(2 * endings.count): text += endings[index - endings.count]
            default: text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }
}
