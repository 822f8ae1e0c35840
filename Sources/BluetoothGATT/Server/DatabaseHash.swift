import BluetoothATT
import BluetoothCryptography
import BluetoothPrimitives

/// The Database Hash, 16 bytes that identify the structure of a server's database: equal hashes mean equal handles
/// (Core Vol 3 Part G §7.3).
///
/// It is a checksum without authentication: its key is zero, so that any device can construct a database with a given
/// hash.
///
/// The hash is a 128-bit number (Table 7.8), and numbers in characteristic values are little-endian unless their
/// definition says otherwise (§2.4), which this one's does not. The qualification test GATT/SR/GAS/BV-02-C, Zephyr,
/// NimBLE, Android and Bumble use that order. BlueZ sends the AES-CMAC most significant byte first. This package sends
/// the former and recognizes both.
public struct DatabaseHash: Hashable, Sendable {
    let code: UInt128

    init(code: UInt128) { self.code = code }

    /// The hash from a characteristic value; nil unless it has 16 bytes.
    public init?(_ value: [UInt8]) {
        guard value.count == 16 else { return nil }
        code = value.reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// The value of the Database Hash characteristic, least significant byte first.
    public var bytes: [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: code >> (8 * $0)) }
    }

    /// Whether both are the same hash in either byte order.
    func isSame(as other: DatabaseHash) -> Bool {
        code == other.code || code == other.code.byteSwapped
    }
}

extension DatabaseHash: CustomStringConvertible {
    /// Thirty-two hexadecimal digits, most significant first, as in the specification.
    public var description: String { [UInt8](bytes.reversed()).hexadecimal }
}

/// The computation of a Database Hash from attributes in the order of their handles.
struct DatabaseHashing {
    private var code = AESCMAC()

    /// Adds an attribute; attributes that the hash does not cover are ignored.
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

    var hash: DatabaseHash { DatabaseHash(code: code.finalize()) }
}

extension AttributeDatabase {
    /// The hash of the current database; takes time linear in its declarations and descriptors.
    package var hash: DatabaseHash {
        var hashing = DatabaseHashing()
        for attribute in attributes {
            hashing.update(attribute.handle, type: attribute.type, value: attribute.storedValue ?? [])
        }
        return hashing.hash
    }

    /// Updates the value of the Database Hash characteristic, if services were added or removed and `request` may read
    /// it: a program that publishes many services one after the other computes it once.
    mutating func updateHash(for request: borrowing ATTClientPDU) {
        guard isHashDue else { return }
        switch request {
        case .readByTypeRequest(_, let type): guard type == .databaseHash else { return }
        case .findByTypeValueRequest(_, let type, _): guard BluetoothUUID(type) == .databaseHash else { return }
        case .readRequest(let handle), .readBlobRequest(let handle, _): guard isHash(handle) else { return }
        case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
            guard containsHash(handles) else { return }
        default: return
        }
        isHashDue = false
        let value = hash.bytes
        for handle in handlesByType[.databaseHash] ?? [] { attributes[lowerBound(handle)].content = .stored(value) }
    }

    private func isHash(_ handle: AttributeHandle) -> Bool { attribute(at: handle)?.type == .databaseHash }

    private func containsHash(_ handles: borrowing ATTHandleList) -> Bool {
        var rest = copy handles
        while let handle = rest.next() { if isHash(handle) { return true } }
        return false
    }
}
