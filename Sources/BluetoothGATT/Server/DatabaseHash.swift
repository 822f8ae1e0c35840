import BluetoothATT
import BluetoothCryptography
import BluetoothPrimitives

/// Sixteen bytes that stand for the structure of a server's database: as long as they are the same, so are all handles
/// (Core Vol 3 Part G §7.3).
///
/// A checksum, and no proof of anything: its key is zero, so that anybody can make a database with a given hash.
///
/// It is a number of 128 bits (Table 7.8), and numbers in a characteristic's value go least significant byte first unless
/// its definition says otherwise (§2.4), which that of the hash does not. The qualification test GATT/SR/GAS/BV-02-C
/// computes the hash and compares it in that order; Zephyr, NimBLE, Android and Bumble have it so. BlueZ sends the
/// AES-CMAC as it comes, most significant byte first. So we send the former and recognise both.
public struct DatabaseHash: Hashable, Sendable {
    let code: UInt128

    init(code: UInt128) { self.code = code }

    /// The hash as it is read; nil unless there are sixteen bytes.
    public init?(_ value: [UInt8]) {
        guard value.count == 16 else { return nil }
        code = value.reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// The value of the Database Hash characteristic, least significant byte first.
    public var bytes: [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: code >> (8 * $0)) }
    }

    /// Whether this is `other` in whichever order of bytes a server has sent it.
    func isSame(as other: DatabaseHash) -> Bool {
        code == other.code || code == other.code.byteSwapped
    }
}

extension DatabaseHash: CustomStringConvertible {
    /// Thirty-two hexadecimal digits, the most significant first, as the specification writes it.
    public var description: String { [UInt8](bytes.reversed()).hexadecimal }
}

/// Puts a database hash together, attribute by attribute in the order of their handles.
struct DatabaseHashing {
    private var code = AESCMAC()

    /// Takes in an attribute; of those that do not count nothing is taken.
    mutating func update(_ handle: AttributeHandle, type: BluetoothUUID, value: [UInt8]) {
        switch type {
        case .primaryService, .secondaryService, .include, .characteristic, .characteristicExtendedProperties:
            update(handle, type)
            code.update(value)
        case .characteristicUserDescription, .clientCharacteristicConfiguration, .serverCharacteristicConfiguration,
            .characteristicPresentationFormat, .characteristicAggregateFormat:
            update(handle, type)
        default: break
        }
    }

    private mutating func update(_ handle: AttributeHandle, _ type: BluetoothUUID) {
        for number in [handle.rawValue, type.uint16 ?? 0] {
            code.update(UInt8(truncatingIfNeeded: number))
            code.update(UInt8(truncatingIfNeeded: number >> 8))
        }
    }

    var hash: DatabaseHash { DatabaseHash(code: code.finish()) }
}

extension AttributeDatabase {
    /// The hash of the database as it is now; takes time in proportion to its declarations and descriptors.
    public var hash: DatabaseHash {
        var hashing = DatabaseHashing()
        for attribute in attributes {
            hashing.update(attribute.handle, type: attribute.type, value: attribute.storedValue ?? [])
        }
        return hashing.hash
    }
}
