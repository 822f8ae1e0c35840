import BluetoothPrimitives

/// What an Execute Write Request does with the prepared writes (Core Vol 3 Part F §3.4.6.3).
///
/// An open set: a peer can send any value.
@frozen
public struct ATTExecuteWriteFlags: RawRepresentable, Hashable, Sendable {
    /// The byte on the air.
    public let rawValue: UInt8

    /// The flags with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Forget all prepared writes.
    @inlinable public static var cancelAll: Self { Self(rawValue: 0x00) }
    /// Write all prepared writes at once.
    @inlinable public static var writeAll: Self { Self(rawValue: 0x01) }
}

extension ATTExecuteWriteFlags: CustomStringConvertible {
    /// `cancel all`, `write all`, or the number of a value the specification does not assign.
    public var description: String {
        switch self {
        case .cancelAll: "cancel all"
        case .writeAll: "write all"
        default: "unknown flags 0x" + hexadecimal(rawValue, digits: 2)
        }
    }
}

/// The twelve bytes at the end of a Signed Write Command (Core Vol 3 Part F §3.3.1, Part H §2.4.5).
///
/// Only carried here; making and checking it takes the connection signature resolving key.
@frozen
public struct ATTAuthenticationSignature: Hashable, Sendable {
    /// Goes up with every signed PDU, so that none can be sent twice.
    public var signCounter: UInt32
    /// The message authentication code, its first byte on the air the least significant.
    public var messageAuthenticationCode: UInt64

    /// How many bytes a signature takes.
    @inlinable public static var byteCount: Int { 12 }

    /// A signature of its two parts.
    @inlinable
    public init(signCounter: UInt32, messageAuthenticationCode: UInt64) {
        self.signCounter = signCounter
        self.messageAuthenticationCode = messageAuthenticationCode
    }
}

extension ATTAuthenticationSignature: CustomStringConvertible {
    /// The counter and the code: `counter 7, code 0x0123456789ABCDEF`.
    public var description: String {
        "counter \(signCounter), code 0x\(hexadecimal(messageAuthenticationCode, digits: 16))"
    }
}

extension ByteWriter {
    mutating func write(_ opcode: ATTOpcode) throws(BufferFull) {
        try write(opcode.rawValue)
    }

    mutating func write(_ handle: AttributeHandle) throws(BufferFull) {
        try write(handle.rawValue)
    }

    mutating func write(_ range: AttributeHandleRange) throws(BufferFull) {
        try write(UInt32(range.start.rawValue) | UInt32(range.end.rawValue) << 16)
    }

    /// Writes an attribute type in 16 bits where it has them, otherwise in 128 (Core Vol 3 Part F §3.2.1).
    mutating func write(attributeType type: BluetoothUUID) throws(BufferFull) {
        if let short = type.uint16 {
            try write(short)
        } else {
            try write(type, width: .bits128)
        }
    }
}

/// How many bits `type` takes in a PDU: ATT has no identifiers of 32 bits (Core Vol 3 Part F §3.2.1).
func attributeTypeWidth(of type: BluetoothUUID) -> BluetoothUUID.Width {
    type.shortestWidth == .bits16 ? .bits16 : .bits128
}

/// The bytes of `value` as pairs of hexadecimal digits, or a dash when there are none.
func hexadecimal(_ value: RawSpan) -> String {
    value.isEmpty ? "-" : [UInt8](value).hexadecimal
}
