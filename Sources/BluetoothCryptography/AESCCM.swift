/// The authenticated cipher AES-CCM with a key of 128 bits (RFC 3610, NIST SP 800-38C).
///
/// Its time depends only on the lengths of the message and of the additional data.
package struct AESCCM: Sendable {
    private let cipher: AES128
    /// The number of bytes of the authentication tag, M in RFC 3610: 4, 6, … 16.
    private let tagByteCount: Int

    /// A cipher with `key`, whose first byte is the most significant.
    package init(key: UInt128, tagByteCount: Int) {
        precondition((4...16).contains(tagByteCount) && tagByteCount % 2 == 0)
        cipher = AES128(key: key)
        self.tagByteCount = tagByteCount
    }

    /// Encrypts a message.
    /// - Parameters:
    ///   - nonce: 7 to 13 bytes, which a key never sees twice. The longer it is, the shorter the message must be: its
    ///     length takes the 15 - n bytes that the nonce leaves.
    ///   - additionalData: bytes that are authenticated but not encrypted, fewer than 65,280.
    /// - Returns: The encrypted message, then the tag.
    package func seal(_ message: [UInt8], nonce: [UInt8], additionalData: [UInt8] = []) -> [UInt8] {
        let blocks = CounterBlocks(nonce: nonce)
        let tag = code(of: message, blocks, additionalData) ^ cipher.encrypt(blocks.counter(0))
        return crypt(message, blocks) + (0..<tagByteCount).map { Self.byte($0, of: tag) }
    }

    /// Decrypts a message that its tag follows; nil if the tag is wrong or missing, or the message too long for the nonce.
    package func open(_ sealed: [UInt8], nonce: [UInt8], additionalData: [UInt8] = []) -> [UInt8]? {
        let count = sealed.count - tagByteCount
        guard count >= 0, nonce.count < 12 || count >> (8 * (15 - nonce.count)) == 0 else { return nil }
        let (message, difference) = decrypt(sealed, nonce: nonce, additionalData: additionalData)
        return difference == 0 ? message : nil
    }

    /// Decrypts a message that its tag follows, which must not be missing.
    /// - Returns: The message, and the bits in which the tag differs: unless these are zero, the message must not be used.
    package func decrypt(
        _ sealed: [UInt8], nonce: [UInt8], additionalData: [UInt8] = []
    ) -> (message: [UInt8], difference: UInt128) {
        let blocks = CounterBlocks(nonce: nonce)
        let message = crypt(Array(sealed.dropLast(tagByteCount)), blocks)
        let tag = code(of: message, blocks, additionalData) ^ cipher.encrypt(blocks.counter(0))
        let received = Self.block(sealed, at: sealed.count - tagByteCount)
        return (message, (tag ^ received) >> UInt128(8 * (16 - tagByteCount)))
    }

    /// The CBC-MAC of the lengths, the nonce, the additional data and the message (RFC 3610 §2.2).
    private func code(of message: [UInt8], _ blocks: CounterBlocks, _ additionalData: [UInt8]) -> UInt128 {
        precondition(additionalData.count < 0xFF00)
        let kind = UInt8(8 * (tagByteCount - 2) / 2) + (additionalData.isEmpty ? 0 : 0x40)
        var state = cipher.encrypt(blocks.first(kind, byteCount: message.count))
        let length = UInt16(additionalData.count)
        let header = [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + additionalData
        for bytes in [additionalData.isEmpty ? [] : header, message] {
            for offset in stride(from: 0, to: bytes.count, by: 16) {
                state = cipher.encrypt(state ^ Self.block(bytes, at: offset))
            }
        }
        return state
    }

    /// Encrypts or decrypts in counter mode (RFC 3610 §2.3).
    private func crypt(_ bytes: [UInt8], _ blocks: CounterBlocks) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for offset in stride(from: 0, to: bytes.count, by: 16) {
            let stream = cipher.encrypt(blocks.counter(offset / 16 + 1))
            for index in offset..<min(offset + 16, bytes.count) {
                result.append(bytes[index] ^ Self.byte(index - offset, of: stream))
            }
        }
        return result
    }

    /// The sixteen bytes at an offset as a block; zeros follow the last one.
    private static func block(_ bytes: [UInt8], at offset: Int) -> UInt128 {
        (offset..<offset + 16).reduce(0) { $0 << 8 | ($1 < bytes.count ? UInt128(bytes[$1]) : 0) }
    }

    private static func byte(_ index: Int, of block: UInt128) -> UInt8 {
        UInt8(truncatingIfNeeded: block >> UInt128(8 * (15 - index)))
    }
}

/// The blocks that consist of a byte of flags, the nonce, and a number in the remaining bytes.
private struct CounterBlocks {
    /// The number of bytes of the number, L in RFC 3610.
    private let byteCount: Int
    private let nonce: UInt128

    init(nonce: [UInt8]) {
        precondition((7...13).contains(nonce.count))
        byteCount = 15 - nonce.count
        self.nonce = nonce.reduce(0) { $0 << 8 | UInt128($1) } << UInt128(8 * byteCount)
    }

    /// The first block of the CBC-MAC, for a message of `byteCount` bytes.
    func first(_ kind: UInt8, byteCount length: Int) -> UInt128 {
        precondition(byteCount == 8 || length >> (8 * byteCount) == 0)
        return UInt128(kind + UInt8(byteCount - 1)) << 120 | nonce | UInt128(length)
    }

    /// The block that is encrypted for a position in the key stream.
    func counter(_ number: Int) -> UInt128 { UInt128(byteCount - 1) << 120 | nonce | UInt128(number) }
}
