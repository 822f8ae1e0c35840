import BluetoothPrimitives

/// The flags of an Execute Write Request (Core Vol 3 Part F §3.4.6.3).
///
/// An open set: a peer can send any value.
@frozen
public struct ATTExecuteWriteFlags: RawRepresentable, Hashable, Sendable {
    /// The flags as sent, one byte.
    public let rawValue: UInt8

    /// The flags with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Cancels all prepared writes.
    @inlinable public static var cancelAll: Self { Self(rawValue: 0x00) }
    /// Writes all prepared writes.
    @inlinable public static var writeAll: Self { Self(rawValue: 0x01) }
}

extension ATTExecuteWriteFlags: CustomStringConvertible {
    /// `cancel all`, `write all`, or the number of an unassigned value.
    public var description: String {
        switch self {
        case .cancelAll: "cancel all"
        case .writeAll: "write all"
        default: "unknown flags 0x" + hexadecimal(rawValue, digits: 2)
        }
    }
}

/// The authentication signature of a Signed Write Command, 12 bytes (Core Vol 3 Part F §3.3.1, Part H §2.4.5).
///
/// This type only carries the signature; computing and verifying it requires the CSRK.
@frozen
public struct ATTAuthenticationSignature: Hashable, Sendable {
    /// The sign counter, which increases with every signed PDU to prevent replay.
    public var signCounter: UInt32
    /// The message authentication code; the first byte sent is the least significant.
    public var messageAuthenticationCode: UInt64

    /// The size of a signature in bytes.
    @inlinable public static var byteCount: Int { 12 }

    /// A signature with a counter and a message authentication code.
    @inlinable
    public init(signCounter: UInt32, messageAuthenticationCode: UInt64) {
        self.signCounter = signCounter
        self.messageAuthenticationCode = messageAuthenticationCode
    }
}

extension ATTAuthenticationSignature: CustomStringConvertible {
    /// The counter and the message authentication code: `counter 7, code 0x0123456789ABCDEF`.
    public var description: String {
        "counter \(signCounter), code 0x\(hexadecimal(messageAuthenticationCode, digits: 16))"
    }
}

/// The opcode of a PDU and the parameters of fixed length behind it, at most eight bytes.
struct PDUHeader {
    private(set) var bytes: UInt64
    private(set) var count = 1

    init(_ opcode: ATTOpcode) {
        bytes = UInt64(opcode.rawValue)
    }

    mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        bytes |= UInt64(truncatingIfNeeded: value) << (8 * count)
        count += Value.bitWidth / 8
    }

    mutating func append(_ range: AttributeHandleRange) {
        append(range.start.rawValue)
        append(range.end.rawValue)
    }
}

extension ByteWriter {
    mutating func write(_ header: PDUHeader, _ value: RawSpan = RawSpan()) throws(BufferFull) {
        try write(first: header.count, of: header.bytes, value)
    }

    mutating func write(_ opcode: ATTOpcode) throws(BufferFull) {
        try write(opcode.rawValue)
    }

    package mutating func write(_ handle: AttributeHandle) throws(BufferFull) {
        try write(handle.rawValue)
    }

    package mutating func write(_ range: AttributeHandleRange) throws(BufferFull) {
        try write(UInt32(range.start.rawValue) | UInt32(range.end.rawValue) << 16)
    }

    /// Writes an attribute type in 16 bits where its UUID has a 16-bit form, otherwise in 128
    /// (Core Vol 3 Part F §3.2.1).
    package mutating func write(attributeType type: BluetoothUUID) throws(BufferFull) {
        if let short = type.uint16 {
            try write(short)
        } else {
            try write(type, width: .bits128)
        }
    }
}

/// The bytes of `value` in hexadecimal, or a dash when it is empty.
func hexadecimal(_ value: RawSpan) -> String {
    value.isEmpty ? "-" : [UInt8](value).hexadecimal
}
