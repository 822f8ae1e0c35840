import BluetoothATT
import BluetoothPrimitives

/// The attributes of a server as far as a capture has shown their discovery.
package struct AttributeNames: Sendable {
    /// An attribute as a program names it.
    package struct Name: Hashable, Sendable {
        /// The attribute's type; for a characteristic value, the characteristic's UUID.
        package var uuid: BluetoothUUID
        /// The characteristic whose descriptor it is; nil for other attributes.
        package var characteristic: BluetoothUUID?
    }

    /// The maximum number of stored attributes; further ones stay without a name.
    package static let capacity = 4096

    private var types: [UInt16: BluetoothUUID] = [:]
    /// The handles of characteristic values, in order.
    private var values: [UInt16] = []
    /// The handles of the values that the server notifies or indicates.
    private var notified: Set<UInt16> = []

    /// No attributes.
    package init() {}

    /// The name of an attribute; nil before its discovery.
    package subscript(handle: AttributeHandle) -> Name? {
        guard let uuid = types[handle.rawValue] else {
            // Clients skip the discovery of an only descriptor, since it must be the configuration.
            let value = handle.rawValue &- 1
            guard notified.contains(value) else { return nil }
            return Name(uuid: BluetoothUUID(0x2902), characteristic: types[value])
        }
        guard let type = uuid.uint16, (0x2900...0x29FF).contains(type) else { return Name(uuid: uuid) }
        let index = partitionPoint(of: values) { $0 <= handle.rawValue }
        return Name(uuid: uuid, characteristic: index > 0 ? types[values[index - 1]] : nil)
    }

    /// Stores the type of an attribute from Find Information; that of a characteristic value is its UUID too.
    package mutating func record(_ type: BluetoothUUID, of handle: AttributeHandle) {
        guard types[handle.rawValue] != nil || types.count < Self.capacity else { return }
        types[handle.rawValue] = type
    }

    /// Stores a characteristic from its declaration: properties, value handle and UUID (Core Vol 3 Part G §3.3.1).
    /// - Returns: The characteristic, nil if the declaration is malformed.
    package mutating func recordCharacteristic(
        _ declaration: RawSpan
    ) -> (handle: AttributeHandle, uuid: BluetoothUUID)? {
        var reader = ByteReader(declaration)
        guard let properties = try? reader.readUInt8(), let handle = try? reader.readUInt16() else { return nil }
        guard let uuid = try? reader.readUUID(reader.remaining == 16 ? .bits128 : .bits16), reader.isAtEnd else {
            return nil
        }
        record(uuid, of: AttributeHandle(handle))
        let index = partitionPoint(of: values) { $0 < handle }
        if types[handle] != nil, index == values.count || values[index] != handle { values.insert(handle, at: index) }
        if properties & 0x30 != 0, types[handle] != nil { notified.insert(handle) } else { notified.remove(handle) }
        return (AttributeHandle(handle), uuid)
    }
}
