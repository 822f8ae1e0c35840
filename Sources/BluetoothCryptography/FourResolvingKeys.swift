/// Four identity resolving keys (IRK), expanded for resolving private addresses together.
package struct FourResolvingKeys: Sendable {
    private let ciphers: FourAES128

    /// The given keys; the first byte of each is the most significant.
    package init(_ keys: FourBlocks) {
        ciphers = FourAES128(keys: keys)
    }

    /// The 24-bit random address hash function ah with each of the keys (Core Vol 3 Part H §2.2.2).
    private func hashes(of random: UInt64) -> FourBlocks {
        // The random part is padded with leading zeros, and the hash is the last 24 bits of the cipher's output.
        ciphers.encrypt(FourBlocks(repeating: UInt128(random & 0xFF_FFFF)))
    }

    /// The keys that resolve a 48-bit address: bit n for key n.
    ///
    /// The type of the address is not checked.
    package func matches(_ address: UInt64) -> UInt8 {
        let hashes = hashes(of: address &>> 24)
        // Subtracting one sets the highest bit of zero, and of no other 24-bit value.
        func isEqual(_ hash: UInt128) -> UInt8 {
            UInt8(truncatingIfNeeded: (((UInt64(truncatingIfNeeded: hash) ^ address) & 0xFF_FFFF) &- 1) &>> 63)
        }
        return isEqual(hashes.first) | isEqual(hashes.second) << 1 | isEqual(hashes.third) << 2
            | isEqual(hashes.fourth) << 3
    }

    /// The 48-bit private address that the first key generates from 24 random bits (Core Vol 6 Part B §1.3.2.2).
    package func address(of random: UInt64) -> UInt64 {
        (random & 0xFF_FFFF) << 24 | UInt64(truncatingIfNeeded: hashes(of: random).first) & 0xFF_FFFF
    }
}
