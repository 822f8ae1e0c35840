/// The AES-128 block cipher in constant time, encryption only (FIPS 197).
///
/// No branch and no memory address depends on the key or the plaintext; `Tests/ConstantTime/run` verifies this.
package struct AES128: Sendable {
    private let four: FourAES128

    /// The cipher with `key`, whose first byte is the most significant.
    package init(key: UInt128) {
        four = FourAES128(keys: FourBlocks(first: key))
    }

    /// Encrypts one block, whose first byte is the most significant.
    package func encrypt(_ block: UInt128) -> UInt128 {
        four.encrypt(FourBlocks(first: block)).first
    }
}

/// Four blocks of sixteen bytes, or four keys; the first byte of each is the most significant.
package struct FourBlocks: Sendable {
    package var first: UInt128
    package var second: UInt128
    package var third: UInt128
    package var fourth: UInt128

    package init(first: UInt128, second: UInt128 = 0, third: UInt128 = 0, fourth: UInt128 = 0) {
        (self.first, self.second, self.third, self.fourth) = (first, second, third, fourth)
    }

    /// The same block four times.
    package init(repeating block: UInt128) {
        self.init(first: block, second: block, third: block, fourth: block)
    }
}

/// Four AES-128 ciphers with a key each, computed together in the time of one.
package struct FourAES128: Sendable {
    private let roundKeys: [BitPlanes]

    /// The ciphers with four keys; key expansion takes about as long as encrypting four blocks.
    package init(keys: FourBlocks) {
        var key = BitPlanes(keys)
        var constant: UInt8 = 1
        roundKeys = [BitPlanes](unsafeUninitializedCapacity: 11) { buffer, count in
            buffer.initializeElement(at: 0, to: key)
            for round in 1...10 {
                key.expandKey(constant)
                buffer.initializeElement(at: round, to: key)
                constant = constant << 1 ^ (constant >> 7) &* 0x1B
            }
            count = 11
        }
    }

    /// Encrypts four blocks, each with its own key.
    package func encrypt(_ blocks: FourBlocks) -> FourBlocks {
        var state = BitPlanes(blocks)
        state ^= roundKeys[0]
        for round in 1..<10 {
            state.substitute()
            state.shiftRows()
            state.mixColumns()
            state ^= roundKeys[round]
        }
        state.substitute()
        state.shiftRows()
        state ^= roundKeys[10]
        return state.blocks
    }
}
