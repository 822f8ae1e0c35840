import BluetoothPrimitives

/// Which of a device's two payloads.
public enum ADPayload: Hashable, Sendable {
    /// What the device sends by itself.
    case advertising
    /// What it answers to a scan request.
    case scanResponse
}

/// Something wrong in one AD structure; everything around it is still read.
public struct ADProblem: Hashable, Sendable {
    /// The payload it is in.
    public var payload: ADPayload
    /// Where the structure's length byte is, counted from the start of the payload.
    public var offset: Int
    /// The structure's type; nil when not even that is there, or for what follows the last structure.
    public var type: ADType?
    /// What is wrong.
    public var fault: ADFault

    /// Describes a fault of the structure at `offset`.
    public init(payload: ADPayload = .advertising, offset: Int, type: ADType?, fault: ADFault) {
        self.payload = payload
        self.offset = offset
        self.type = type
        self.fault = fault
    }
}

/// What can be wrong with an AD structure.
public enum ADFault: Hashable, Sendable {
    /// The length says that it goes on for `declared` bytes, and the payload has `available`; reading ends here.
    case runsPastEnd(declared: Int, available: Int)
    /// A value of the type takes `needed` bytes more than the `available`; the structure has no value.
    case tooShort(needed: Int, available: Int)
    /// That many bytes after the value, or after the last whole entry of a list, mean nothing; the value is kept.
    case trailingBytes(Int)
    /// The text is UTF-8 for that many bytes only; they are kept.
    case invalidUTF8(validBytes: Int)
    /// A number that the specification does not assign, such as a URI scheme; the structure has no value.
    case unassigned(UInt32)
    /// That many bytes, not all of them zero, follow the zero length that ends the payload.
    case bytesAfterEnd(Int)
}

extension ADFault: CustomStringConvertible {
    /// Says in words what is wrong.
    public var description: String {
        switch self {
        case .runsPastEnd(let declared, let available): "\(declared) bytes declared, \(available) available"
        case .tooShort(let needed, let available): "\(needed) bytes needed, \(available) available"
        case .trailingBytes(let count): "\(count) bytes too many"
        case .invalidUTF8(let valid): "not UTF-8 after \(valid) bytes"
        case .unassigned(let value): "unassigned value 0x" + hexadecimal(value, digits: 2)
        case .bytesAfterEnd(let count): "\(count) bytes after the end"
        }
    }
}

extension ADProblem: CustomStringConvertible {
    /// Type, place and fault in one line.
    public var description: String {
        let place = "\(payload == .advertising ? "advertising data" : "scan response") at \(offset)"
        return "\(type.map { "\($0), " } ?? "")\(place): \(fault)"
    }
}
