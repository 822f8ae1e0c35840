import BluetoothPrimitives

extension RawSpan {
    /// The number of bytes before the first zero, with which some devices pad their names.
    var textByteCount: Int {
        for index in 0..<byteCount where unsafeLoad(fromByteOffset: index, as: UInt8.self) == 0 { return index }
        return byteCount
    }

    /// Whether the text, up to a zero, equals `text` or begins with it.
    func text(equals text: String, prefixOnly: Bool) -> Bool {
        let count = textByteCount
        var reader = ByteReader(self)
        for byte in text.utf8 {
            guard reader.offset < count, let own = try? reader.readUInt8(), own == byte else { return false }
        }
        return prefixOnly || reader.offset == count
    }

    /// Whether the text, up to a zero, contains `text`.
    func text(contains text: [UInt8], ignoringCase: Bool) -> Bool {
        let count = textByteCount
        guard text.count <= count else { return false }
        return withUnsafeBytes { bytes in
            (0...(count - text.count)).contains { start in
                text.indices.allSatisfy { index in
                    let byte = bytes[start + index]
                    return (ignoringCase && 0x41...0x5A ~= byte ? byte | 0x20 : byte) == text[index]
                }
            }
        }
    }

    /// The text up to a zero or invalid UTF-8; `fault` reports the invalid bytes, or those after the zeros.
    func text(fault: inout ADFault?) -> String {
        let count = textByteCount
        return withUnsafeBytes { bytes in
            if bytes[count...].contains(where: { $0 != 0 }) { fault = .trailingBytes(byteCount - count) }
            let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count]).assumingMemoryBound(to: UInt8.self)
            do throws(UTF8.ValidationError) {
                return String(copying: try UTF8Span(validating: bytes.span))
            } catch {
                let valid = error.byteOffsets.lowerBound
                fault = .invalidUTF8(validBytes: valid)
                return String(decoding: bytes.prefix(valid), as: UTF8.self)
            }
        }
    }
}

/// The longest prefix of `text` that takes at most `byteCount` bytes of UTF-8 without splitting a character.
func prefix(of text: String, byteCount: Int) -> String {
    var used = 0
    var end = text.startIndex
    while end < text.endIndex {
        let next = text.index(after: end)
        used += text[end..<next].utf8.count
        guard used <= byteCount else { break }
        end = next
    }
    return String(text[..<end])
}
