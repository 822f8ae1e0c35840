// The format of this library's files is a sequence of fields: a kind (one byte), a length (two bytes) and the content.

extension ByteWriter {
    /// Writes a field.
    package mutating func writeField(_ kind: UInt8, _ bytes: [UInt8]) throws(BufferFull) {
        guard let count = UInt16(exactly: bytes.count) else {
            throw BufferFull(needed: bytes.count, available: Int(UInt16.max))
        }
        try write(kind)
        try write(count)
        try write(bytes)
    }

    /// Writes a field with the content that `body` writes.
    package mutating func writeField(
        _ kind: UInt8, _ body: (inout ByteWriter) throws(BufferFull) -> Void
    ) throws(BufferFull) {
        var field = ByteWriter(growingTo: Int(UInt16.max))
        try body(&field)
        try writeField(kind, field.bytes)
    }

    /// Writes an address and its type.
    package mutating func writeWithKind(_ address: BluetoothAddress) throws(BufferFull) {
        try write(address)
        try write(address.kind.rawValue)
    }
}

extension ByteReader {
    /// Reads an address that ``ByteWriter/writeWithKind(_:)`` wrote.
    @_lifetime(self: copy self)
    package mutating func readAddressWithKind() throws(TruncatedBytes) -> BluetoothAddress {
        let value = try readAddress(.public)
        return BluetoothAddress(value.value, kind: try readUInt8() == 0 ? .public : .random)
    }
}
