import BluetoothAdvertising
import BluetoothCryptography
import BluetoothPrimitives

/// A MiBeacon advertisement of versions 2 to 5, the format of Xiaomi's sensors.
///
/// ``values`` has the objects that mean the same for all devices. What a button or an object is called depends on the
/// ``product``: ``objects`` has the bytes of all.
public struct MiBeacon: SensorAdvertisement, Hashable {
    /// An object: a code of Xiaomi's list, and its content.
    public struct Object: Hashable, Sendable {
        /// The code, such as 0x1004 for a temperature.
        public let code: UInt16
        /// The content.
        public let content: [UInt8]
    }

    /// The service UUID whose data has the format.
    public static let service: BluetoothUUID = 0xFE95

    /// The version of the format, 2 to 15.
    public let version: Int
    /// The number of the product, such as 0x055B.
    public let product: UInt16
    /// The number of the packet: the same in repetitions of one message.
    public let packetNumber: UInt8
    /// The objects in the order received; none while they are encrypted.
    public private(set) var objects: [Object] = []
    /// The counter that the encryption uses up; nil if nothing was encrypted in a version that has one.
    public private(set) var counter: UInt32?

    /// The encrypted objects, the counter and the integrity check.
    private var sealed: [UInt8]?
    /// The first bytes of the nonce after the address: the product and the packet's number.
    private let header: [UInt8]
    /// The sensor's address in the data, the least significant byte first.
    private let addressBytes: [UInt8]?

    private static let counterByteCount = 3
    private static let checkByteCount = 4

    /// Decodes service data; nil when it is of another service or version, of a mesh device, or too short.
    public init?(_ data: ServiceData) {
        guard data.service == Self.service else { return nil }
        var reader = ByteReader(data.data.span.bytes)
        do throws(TruncatedBytes) {
            let control = try reader.readUInt16()
            version = Int(control >> 12)
            guard version >= 2, control & 0x0080 == 0 else { return nil }
            header = Array(data.data.dropFirst(2).prefix(3))
            product = try reader.readUInt16()
            packetNumber = try reader.readUInt8()
            addressBytes = control & 0x0010 == 0 ? nil : [UInt8](try reader.read(6))
            // The capabilities, which may include those of input and output.
            if control & 0x0020 != 0, try reader.readUInt8() & 0x20 != 0 { try reader.skip(1) }
            guard control & 0x0040 != 0 else { return }
            let rest = [UInt8](reader.readRemaining())
            guard control & 0x0008 != 0 else {
                objects = Self.decode(rest)
                return
            }
            sealed = rest
            guard version >= 4 else { return }
            guard rest.count >= Self.counterByteCount + Self.checkByteCount else { return nil }
            let bytes = rest.dropLast(Self.checkByteCount).suffix(Self.counterByteCount)
            counter = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } << 8 | UInt32(packetNumber)
        } catch {
            return nil
        }
    }

    /// The values in the order received, without numbers that are not finite; none while they are encrypted.
    public var values: [SensorValue] {
        objects.flatMap { $0.values(of: product) }.filter { $0.number?.isFinite ?? true }
    }

    /// Whether the objects are encrypted.
    public var isEncrypted: Bool { sealed != nil }

    /// The advertisement with its objects decrypted; an advertisement without objects stays as it is.
    /// - Throws: ``SensorDecryptionError``, also for objects that are not encrypted: anybody can send those.
    public func decrypted(
        with key: BindKey, from address: BluetoothAddress?
    ) throws(SensorDecryptionError) -> MiBeacon {
        guard let sealed else {
            guard objects.isEmpty else { throw .notEncrypted }
            return self
        }
        guard version >= 4 else { throw .unsupported }
        guard let address = addressBytes ?? address?.nonceBytes.reversed() else { throw .missingAddress }
        let check = sealed.suffix(Self.checkByteCount)
        let rest = sealed.dropLast(Self.checkByteCount)
        let nonce = address + header + rest.suffix(Self.counterByteCount)
        let cipher = AESCCM(key: key.number, tagByteCount: Self.checkByteCount)
        let message = rest.dropLast(Self.counterByteCount) + check
        guard let content = cipher.open(Array(message), nonce: nonce, additionalData: [0x11]) else { throw .wrongKey }
        var decrypted = self
        decrypted.sealed = nil
        decrypted.objects = Self.decode(content)
        return decrypted
    }

    /// Decodes objects up to the first that is incomplete.
    private static func decode(_ bytes: [UInt8]) -> [Object] {
        var objects: [Object] = []
        var rest = bytes[...]
        while rest.count >= 3 {
            let header = Array(rest.prefix(3))
            let content = rest.dropFirst(3).prefix(Int(header[2]))
            guard content.count == Int(header[2]) else { break }
            objects.append(Object(code: UInt16(header[0]) | UInt16(header[1]) << 8, content: Array(content)))
            rest = rest.dropFirst(3 + content.count)
        }
        return objects
    }
}
