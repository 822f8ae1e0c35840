import BluetoothPrimitives

/// An AD structure with its own bytes (Core Vol 3 Part C §11).
public struct ADStructure: Hashable, Sendable {
    /// The AD type.
    public var type: ADType
    /// The bytes after the type, at most ``maximumDataLength``.
    public var data: [UInt8]

    /// The maximum number of bytes after the type; the length byte also counts the type.
    public static let maximumDataLength = 254

    /// A structure with the given type and bytes.
    public init(type: ADType, data: [UInt8]) {
        self.type = type
        self.data = data
    }

    /// A copy of a borrowed structure.
    public init(_ structure: ADStructureView) {
        type = structure.type
        data = [UInt8](structure.data)
    }

    /// The size of the structure in a payload in bytes, with length and type.
    public var byteCount: Int { 2 + data.count }

    /// The decoded value.
    public var field: ADField { ADField(ADStructureView(type: type, data: data.span.bytes, offset: 0)) }
}

extension ADStructure: CustomStringConvertible {
    /// The decoded value in one line.
    public var description: String { field.description }
}
