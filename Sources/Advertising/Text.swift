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

    /// The text up to a zero, as far as it is UTF-8; `fault` says where it stops being so, or what follows the zeros.
    func text(fault: inout ADFault?) -> String {
        let count = textByteCount
        if count < byteCount, hasOtherThanZeros(from: count) { fault = .trailingBytes(byteCount - count) }
        // The only way from raw bytes to typed ones without a closure; every byte is a valid UInt8.
        let bytes = Span<UInt8>(_bytes: extracting(first: count))
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            let valid = error.byteOffsets.lowerBound
            fault = .invalidUTF8(validBytes: valid)
            guard let text = try? UTF8Span(validating: bytes.extracting(first: valid)) else { return "" }
            return String(copying: text)
        }
    }

    private func hasOtherThanZeros(from start: Int) -> Bool {
        for index in start..<byteCount where unsafeLoad(fromByteOffset: index, as: UInt8.self) != 0 { return true }
        return false
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
