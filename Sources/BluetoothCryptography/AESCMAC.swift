/// The message authentication code AES-CMAC (RFC 4493), computed incrementally.
///
/// Its time depends only on the length of the message.
package struct AESCMAC: Sendable {
    private let cipher: AES128
    private var state: UInt128 = 0
    /// The bytes not processed yet, the last byte the least significant; the last block remains until the end.
    private var pending: UInt128 = 0
    private var pendingCount = 0

    /// A code with `key`, whose first byte is the most significant. A checksum without a key uses zero.
    package init(key: UInt128 = 0) {
        cipher = AES128(key: key)
    }

    /// Adds one byte to the message.
    package mutating func update(_ byte: UInt8) {
        if pendingCount == 16 {
            state = cipher.encrypt(state ^ pending)
            pending = 0
            pendingCount = 0
        }
        pending = pending << 8 | UInt128(byte)
        pendingCount += 1
    }

    /// Adds bytes to the message.
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { update(byte) }
    }

    /// The code of the message, whose first byte is the most significant.
    package func finalize() -> UInt128 {
        let whole = Self.double(cipher.encrypt(0))
        if pendingCount == 16 { return cipher.encrypt(state ^ pending ^ whole) }
        let padded = (pending << 8 | 0x80) << UInt128(8 * (15 - pendingCount))
        return cipher.encrypt(state ^ padded ^ Self.double(whole))
    }

    /// Doubles in the field of CMAC: the carry is reduced to 0x87.
    private static func double(_ value: UInt128) -> UInt128 {
        value << 1 ^ (0 &- value >> 127) & 0x87
    }

    /// The code of `bytes`.
    package static func code(of bytes: some Sequence<UInt8>, key: UInt128 = 0) -> UInt128 {
        var code = AESCMAC(key: key)
        code.update(bytes)
        return code.finalize()
    }
}
