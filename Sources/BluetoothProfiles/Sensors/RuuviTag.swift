import BluetoothAdvertising
import BluetoothPrimitives

/// An advertisement of a RuuviTag or Ruuvi Air in data format 3, 5 or 6 (docs.ruuvi.com).
///
/// ``SensorQuantity/sequenceNumber`` is the same in repetitions of one measurement. What the sensor could not measure is
/// missing.
public struct RuuviTag: SensorAdvertisement, Hashable {
    /// The number of the data format: 3, 5 or 6.
    public let dataFormat: UInt8
    /// The values, in the order of the format.
    public private(set) var values: [SensorValue] = []
    /// The sensor's address, the most significant byte first: six bytes, the last three in format 6, none in format 3.
    public private(set) var addressBytes: [UInt8] = []

    /// Decodes manufacturer specific data; nil when it is of another company or format, or too short.
    public init?(_ data: ManufacturerData) {
        guard data.company == 0x0499 else { return nil }
        var reader = ByteReader(data.data.span.bytes)
        do throws(TruncatedBytes) {
            dataFormat = try UInt8(reader.unsigned(1))
            switch dataFormat {
            case 3: try readFormat3(&reader)
            case 5: try readFormat5(&reader)
            case 6: try readFormat6(&reader)
            default: return nil
            }
        } catch {
            return nil
        }
    }

    /// Appends a number, unless its integer says that it is not available.
    private mutating func add(
        _ quantity: SensorQuantity, _ integer: Int?, _ unit: String = "", over divisor: Double = 1
    ) {
        guard let integer else { return }
        values.append(SensorValue(quantity, number: Double(integer) / divisor, unit: unit))
    }

    private mutating func readFormat3(_ reader: inout ByteReader) throws(TruncatedBytes) {
        add(.humidity, try reader.unsigned(1), "%", over: 2)
        // A sign and a magnitude, then hundredths.
        let whole = try reader.unsigned(1)
        let magnitude = (whole & 0x7F) * 100 + (try reader.unsigned(1))
        add(.temperature, whole & 0x80 == 0 ? magnitude : -magnitude, "°C", over: 100)
        add(.pressure, try reader.unsigned(2) + 50_000, "hPa", over: 100)
        for quantity in [SensorQuantity.accelerationX, .accelerationY, .accelerationZ] {
            add(quantity, try reader.signed(), "g", over: 1000)
        }
        add(.voltage, try reader.unsigned(2), "V", over: 1000)
    }

    /// Temperature, humidity and pressure, as in formats 5 and 6.
    private mutating func readClimate(_ reader: inout ByteReader) throws(TruncatedBytes) {
        add(.temperature, try reader.availableSigned(), "°C", over: 200)
        add(.humidity, try reader.available(2), "%", over: 400)
        add(.pressure, try reader.available(2).map { $0 + 50_000 }, "hPa", over: 100)
    }

    private mutating func readFormat5(_ reader: inout ByteReader) throws(TruncatedBytes) {
        try readClimate(&reader)
        for quantity in [SensorQuantity.accelerationX, .accelerationY, .accelerationZ] {
            add(quantity, try reader.availableSigned(), "g", over: 1000)
        }
        let power = try reader.unsigned(2)
        add(.voltage, power >> 5 == 0x7FF ? nil : power >> 5 + 1600, "V", over: 1000)
        add(.transmitPower, power & 0x1F == 0x1F ? nil : (power & 0x1F) * 2 - 40, "dBm")
        add(.movementCount, try reader.available(1))
        add(.sequenceNumber, try reader.available(2))
        addressBytes = [UInt8](try reader.read(6))
    }

    private mutating func readFormat6(_ reader: inout ByteReader) throws(TruncatedBytes) {
        try readClimate(&reader)
        add(.pm25, try reader.available(2), "µg/m³", over: 10)
        add(.carbonDioxide, try reader.available(2), "ppm")
        let (volatile, nitrogen) = (try reader.unsigned(1), try reader.unsigned(1))
        if let code = try reader.available(1) {
            // A logarithmic scale: 254 is 65,535 lx.
            let power = (0..<code).reduce(1.0) { power, _ in power * Self.illuminanceStep }
            values.append(SensorValue(.illuminance, number: power - 1, unit: "lx"))
        }
        _ = try reader.unsigned(1)
        let (sequence, flags) = (try reader.unsigned(1), try reader.unsigned(1))
        // The lowest bits of the indices are among the flags.
        let (volatileIndex, nitrogenIndex) = (volatile << 1 | flags >> 6 & 1, nitrogen << 1 | flags >> 7 & 1)
        add(.vocIndex, volatileIndex == 0x1FF ? nil : volatileIndex)
        add(.noxIndex, nitrogenIndex == 0x1FF ? nil : nitrogenIndex)
        values.append(SensorValue(.calibrating, state: flags & 0x01 != 0))
        add(.sequenceNumber, sequence)
        addressBytes = [UInt8](try reader.read(3))
    }

    /// The 254th root of 65,536.
    private static let illuminanceStep = 1.0446300614125956
}

// The most significant byte is first. All bits set, of a signed number the lowest, say that a value is not available.
extension ByteReader {
    fileprivate mutating func unsigned(_ count: Int) throws(TruncatedBytes) -> Int {
        [UInt8](try read(count)).reduce(0) { $0 << 8 | Int($1) }
    }

    fileprivate mutating func available(_ count: Int) throws(TruncatedBytes) -> Int? {
        let number = try unsigned(count)
        return number == 1 << (8 * count) - 1 ? nil : number
    }

    fileprivate mutating func signed() throws(TruncatedBytes) -> Int { Int(Int16(truncatingIfNeeded: try unsigned(2))) }

    fileprivate mutating func availableSigned() throws(TruncatedBytes) -> Int? {
        let number = try signed()
        return number == Int(Int16.min) ? nil : number
    }
}
