/// Four identity resolving keys (IRK), made ready to be tried on private addresses at once.
package struct FourResolvingKeys: Sendable {
    private let ciphers: FourAES128

    /// The keys, the first byte of each the most significant.
    package init(_ keys: FourBlocks) {
        ciphers = FourAES128(keys: keys)
    }

    /// The random address hash function ah of 24 bits, under each of the keys (Core Vol 3 Part H §2.2.2).
    private func hashes(of random: UInt64) -> FourBlocks {
        // The random part is padded with zeros above, and the last 24 bits of the cipher's output are the hash.
        ciphers.encrypt(FourBlocks(repeating: UInt128(random & 0xFF_FFFF)))
    }

    /// Which of the keys an address of 48 bits was made with: bit n for key n.
    ///
    /// What kind of address it is is not looked at.
    package func matches(_ address: UInt64) -> UInt8 {
        let hashes = hashes(of: address &>> 24)
        // One below nought has its highest bit set; nothing else of 24 bits has.
        func isEqual(_ hash: UInt128) -> UInt8 {
            UInt8(truncatingIfNeeded: (((UInt64(truncatingIfNeeded: hash) ^ address) & 0xFF_FFFF) &- 1) &>> 63)
        }
        return isEqual(hashes.first) | isEqual(hashes.second) << 1 | isEqual(hashes.third) << 2
            | isEqual(hashes.fourth) << 3
    }

    /// The address of 48 bits that the first key makes of 24 bits (Core Vol 6 Part B §1.3.2.2).
    package func address(of random: UInt64) -> UInt64 {
        (random & 0xFF_FFFF) << 24 | UInt64(truncatingIfNeeded: hashes(of: random).first) & 0xFF_FFFF
    }
}
