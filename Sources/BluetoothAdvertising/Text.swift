import BluetoothPrimitives

extension RawSpan {
    /// How many bytes come before the first zero, which some devices pad their names with.
    var textByteCount: Int {
        for index in 0..<byteCount where unsafeLoad(fromByteOffset: index, as: UInt8.self) == 0 { return index }
        return byteCount
    }

    /// Whether these bytes of text, up to a zero, are those of `text`, or begin with them.
    func text(equals text: String, prefixOnly: Bool) -> Bool {
        let count = textByteCount
        var reader = ByteReader(self)
        for byte in text.utf8 {
            guard reader.offset < count, let own = try? reader.readUInt8(), own == byte else { return false }
        }
        return prefixOnly || reader.offset == count
    }

    /// Whether these bytes of text, up to a zero, have those of `text` somewhere in them.
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

    /// The text up to a zero, as far as it is UTF-8; `fault` says where it stops being so, or what follows the zeros.
    func text(fault: inout ADFault?) -> String {
        let count = textByteCount
        return withUnsafeBytes { bytes in
            if bytes.dropFirst(count).contains(where: { $0 != 0 }) { fault = .trailingBytes(byteCount - count) }
            let bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(count)).assumingMemoryBound(to: UInt8.self)
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

/// The longest front of `text` that takes at most `byteCount` bytes of UTF-8 and cuts no character in two.
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
