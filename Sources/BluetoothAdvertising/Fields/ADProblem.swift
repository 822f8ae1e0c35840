import BluetoothPrimitives

/// A payload of a device.
public enum ADPayload: Hashable, Sendable {
    /// The advertising payload, sent without a request.
    case advertising
    /// The scan response, sent after a scan request.
    case scanResponse
}

/// A fault in one AD structure; the structures around it are decoded.
public struct ADProblem: Hashable, Sendable {
    /// The payload with the fault.
    public var payload: ADPayload
    /// The offset of the structure's length byte in the payload.
    public var offset: Int
    /// The AD type; nil when it is missing, and for bytes after the last structure.
    public var type: ADType?
    /// The fault.
    public var fault: ADFault

    /// A fault of the structure at `offset`.
    public init(payload: ADPayload = .advertising, offset: Int, type: ADType?, fault: ADFault) {
        self.payload = payload
        self.offset = offset
        self.type = type
        self.fault = fault
    }
}

/// A fault of an AD structure. An open set: switch with a default.
public struct ADFault: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case runsPastEnd(declared: Int, available: Int)
        case tooShort(needed: Int, available: Int)
        case trailingBytes(Int)
        case invalidUTF8(validBytes: Int)
        case unassigned(UInt32)
        case bytesAfterEnd(Int)
    }

    package let kind: Kind

    /// The length declares `declared` bytes, but the payload has `available`; decoding ends here.
    public static func runsPastEnd(declared: Int, available: Int) -> Self {
        Self(kind: .runsPastEnd(declared: declared, available: available))
    }
    /// A value of the type needs `needed` bytes, but only `available` remain; the structure has no value.
    public static func tooShort(needed: Int, available: Int) -> Self {
        Self(kind: .tooShort(needed: needed, available: available))
    }
    /// This number of meaningless bytes follows the value, or the last complete entry of a list; the value is valid.
    public static func trailingBytes(_ count: Int) -> Self { Self(kind: .trailingBytes(count)) }
    /// The text is valid UTF-8 only for this number of bytes; those are the value.
    public static func invalidUTF8(validBytes: Int) -> Self { Self(kind: .invalidUTF8(validBytes: validBytes)) }
    /// An unassigned number, such as a URI scheme; the structure has no value.
    public static func unassigned(_ number: UInt32) -> Self { Self(kind: .unassigned(number)) }
    /// This number of bytes, not all zero, follows the zero length that ends the payload.
    public static func bytesAfterEnd(_ count: Int) -> Self { Self(kind: .bytesAfterEnd(count)) }
}

extension ADFault: CustomStringConvertible {
    /// The fault as text.
    public var description: String {
        switch kind {
        case .runsPastEnd(let declared, let available): "\(declared) bytes declared, \(available) available"
        case .tooShort(let needed, let available): "\(needed) bytes needed, \(available) available"
        case .trailingBytes(let count): "\(count) trailing bytes"
        case .invalidUTF8(let valid): "not UTF-8 after \(valid) bytes"
        case .unassigned(let value): "unassigned value 0x" + hexadecimal(value, digits: 2)
        case .bytesAfterEnd(let count): "\(count) bytes after the end"
        }
    }
}

extension ADProblem: CustomStringConvertible {
    /// The type, the place and the fault in one line.
    public var description: String {
        let place = "\(payload == .advertising ? "advertising data" : "scan response") at \(offset)"
        return "\(type.map { "\($0), " } ?? "")\(place): \(fault)"
    }
}
