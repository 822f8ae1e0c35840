import BluetoothAdvertising
import BluetoothCryptography
import BluetoothPrimitives

/// A BTHome advertisement of version 2 (bthome.io/format), the format of Shelly's and many self-made sensors.
///
/// ```swift
/// let scan = try await adapter.scan(ScanOptions(filter: .serviceData(BTHome.service)))
/// for try await advertisement in scan {
///     guard let reading = advertisement.beacon(BTHome.self) else { continue }
///     print(reading[.temperature]?.number ?? .nan, reading[.humidity]?.number ?? .nan)
/// }
/// ```
public struct BTHome: SensorAdvertisement, Hashable {
    /// The service UUID whose data has the format.
    public static let service: BluetoothUUID = 0xFCD2

    /// Whether the sensor advertises when something happens and not at regular times, as buttons do.
    public let isTriggerBased: Bool
    /// The values in the order received; none while they are encrypted.
    public private(set) var values: [SensorValue] = []
    /// The bytes from the first object on that is unknown or incomplete; a later version of the format may know it.
    public private(set) var remainder: [UInt8] = []
    /// The counter that the encryption uses up; nil if nothing was encrypted.
    public let counter: UInt32?

    /// The encrypted objects, then their integrity check.
    private var sealed: [UInt8]?
    private let information: UInt8
    /// The sensor's address in the data, the most significant byte first.
    private let addressBytes: [UInt8]?

    private static let checkByteCount = 4

    /// Decodes service data; nil when it is of another service or version, or too short.
    public init?(_ data: ServiceData) {
        guard data.service == Self.service else { return nil }
        var reader = ByteReader(data.data.span.bytes)
        do throws(TruncatedBytes) {
            information = try reader.readUInt8()
            guard information >> 5 == 2 else { return nil }
            isTriggerBased = information & 0x04 != 0
            addressBytes = information & 0x02 == 0 ? nil : [UInt8](try reader.read(6)).reversed()
            guard information & 0x01 != 0 else {
                counter = nil
                (values, remainder) = Self.decode([UInt8](reader.readRemaining()))
                return
            }
            let objects = [UInt8](try reader.read(max(0, reader.remaining - Self.checkByteCount - 4)))
            counter = try reader.readUInt32()
            sealed = objects + [UInt8](try reader.read(Self.checkByteCount))
        } catch {
            return nil
        }
    }

    /// Whether the values are encrypted.
    public var isEncrypted: Bool { sealed != nil }

    /// The advertisement with its values decrypted.
    /// - Throws: ``SensorDecryptionError``, also for values that are not encrypted: anybody can send those.
    public func decrypted(
        with key: BindKey, from address: BluetoothAddress?
    ) throws(SensorDecryptionError) -> BTHome {
        guard let sealed, let counter else { throw .notEncrypted }
        guard let address = addressBytes ?? address?.nonceBytes else { throw .missingAddress }
        let nonce = address + [0xD2, 0xFC, information] + littleEndian(counter)
        let cipher = AESCCM(key: key.number, tagByteCount: Self.checkByteCount)
        guard let objects = cipher.open(sealed, nonce: nonce) else { throw .wrongKey }
        var decrypted = self
        decrypted.sealed = nil
        (decrypted.values, decrypted.remainder) = Self.decode(objects)
        return decrypted
    }

    /// Decodes objects up to the first that is unknown or incomplete.
    private static func decode(_ bytes: [UInt8]) -> (values: [SensorValue], remainder: [UInt8]) {
        var values: [SensorValue] = []
        var rest = bytes[...]
        while let object = BTHomeObject(rest) {
            if let value = object.value { values.append(value) }
            rest = rest.dropFirst(object.byteCount)
        }
        return (values, Array(rest))
    }
}
