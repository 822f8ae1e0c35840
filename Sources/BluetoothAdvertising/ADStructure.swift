import BluetoothPrimitives

/// One AD structure with bytes of its own (Core Vol 3 Part C §11).
public struct ADStructure: Hashable, Sendable {
    /// What it holds.
    public var type: ADType
    /// The bytes after the type; more than ``mostBytes`` cannot be sent.
    public var data: [UInt8]

    /// The most bytes that may follow the type: the length byte counts the type, too.
    public static let mostBytes = 254

    /// A structure of any type and bytes.
    public init(type: ADType, data: [UInt8]) {
        self.type = type
        self.data = data
    }

    /// Copies a borrowed structure.
    public init(_ structure: ADStructureView) {
        type = structure.type
        data = [UInt8](structure.data)
    }

    /// How many bytes it takes in a payload, with length and type.
    public var byteCount: Int { 2 + data.count }

    /// What it means.
    public var field: ADField { ADField(ADStructureView(type: type, data: data.span.bytes, offset: 0)) }
}

extension ADStructure: CustomStringConvertible {
    /// What it means, in one line.
    public var description: String { field.description }
}
