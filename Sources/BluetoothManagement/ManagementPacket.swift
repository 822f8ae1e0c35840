import BluetoothPackets
import BluetoothPrimitives

/// A packet of the kernel's management socket: a command or an event, with a header of code, adapter and length.
public struct ManagementPacket: ~Escapable {
    /// The index in commands and events without an adapter.
    public static var noController: UInt16 { 0xFFFF }

    /// The size of the header in bytes.
    public static var headerByteCount: Int { 6 }

    /// An opcode in a command, an event code in an event.
    public let code: UInt16
    /// The adapter's index: 0 is hci0; ``noController`` is none.
    public let index: UInt16
    /// The parameters of the command or event.
    public let parameters: RawSpan

    /// Parses a packet as read from the socket; bytes after the length it gives are ignored.
    @_lifetime(copy packet)
    public init(decoding packet: RawSpan) throws(TruncatedBytes) {
        var reader = ByteReader(packet)
        code = try reader.readUInt16()
        index = try reader.readUInt16()
        let count = Int(try reader.readUInt16())
        parameters = try reader.read(count)
    }
}

extension ByteWriter {
    /// Writes the number of elements that follow, in two bytes.
    mutating func writeCount(_ count: Int) throws(BufferFull) {
        guard let number = UInt16(exactly: count) else {
            throw BufferFull(needed: count, available: Int(UInt16.max))
        }
        try write(number)
    }

    /// Writes a whole packet, or nothing.
    mutating func writePacket(
        code: UInt16, index: UInt16, parameters: (inout ByteWriter) throws(BufferFull) -> Void
    ) throws(BufferFull) {
        try writeWhole { (writer) throws(BufferFull) in
            try writer.write(code)
            try writer.write(index)
            let start = writer.count
            try writer.write(0 as UInt16)
            try parameters(&writer)
            let count = writer.count - start - 2
            guard let length = UInt16(exactly: count) else {
                throw BufferFull(needed: count, available: Int(UInt16.max))
            }
            writer.replace(at: start, with: UInt8(truncatingIfNeeded: length))
            writer.replace(at: start + 1, with: UInt8(truncatingIfNeeded: length >> 8))
        }
    }

    /// Writes `text` as UTF-8 in a field of `byteCount` bytes that ends in at least one zero; the excess is truncated
    /// at a character boundary.
    mutating func writeText(_ text: String, byteCount: Int) throws(BufferFull) {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            let encoded = Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            guard scalar != "\0", bytes.count + encoded.count < byteCount else { break }
            bytes += encoded
        }
        try write(bytes)
        try writeZeros(byteCount - bytes.count)
    }
}

extension ByteReader {
    /// Reads text that ends at the first zero or after `byteCount` bytes, and skips all of them; invalid UTF-8 becomes
    /// replacement characters.
    @_lifetime(self: copy self)
    mutating func readText(byteCount: Int) throws(TruncatedBytes) -> String {
        let bytes = [UInt8](try read(byteCount))
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
