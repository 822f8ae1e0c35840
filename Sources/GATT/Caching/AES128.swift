/// The AES-128 block cipher, encrypting only (FIPS 197).
///
/// For checksums under a key everybody knows, such as the Database Hash. It takes no care to hide a key from somebody
/// who measures its time, so it is not for secrets.
package struct AES128: Sendable {
    private let roundKeys: [UInt32]

    /// The cipher under `key`, its first byte the most significant.
    package init(key: UInt128) {
        var words = Self.words(of: key)
        var constant: UInt8 = 1
        for index in 4..<44 {
            var word = words[index - 1]
            if index % 4 == 0 {
                word = Self.substitute(word << 8 | word >> 24) ^ UInt32(constant) << 24
                constant = constant << 1 ^ (constant & 0x80 == 0 ? 0 : 0x1B)
            }
            words.append(words[index - 4] ^ word)
        }
        roundKeys = words
    }

    /// Encrypts one block, its first byte the most significant.
    package func encrypt(_ block: UInt128) -> UInt128 {
        var columns = Self.words(of: block)
        for index in 0..<4 { columns[index] ^= roundKeys[index] }
        for round in 1...10 {
            let old = columns
            for index in 0..<4 {
                // Row n of a column comes from the column n to the right.
                var column =
                    old[index] & 0xFF00_0000 | old[(index + 1) % 4] & 0x00FF_0000
                    | old[(index + 2) % 4] & 0x0000_FF00 | old[(index + 3) % 4] & 0x0000_00FF
                column = Self.substitute(column)
                if round < 10 { column = Self.mix(column) }
                columns[index] = column ^ roundKeys[round * 4 + index]
            }
        }
        return columns.reduce(0) { $0 << 32 | UInt128($1) }
    }

    private static func words(of block: UInt128) -> [UInt32] {
        [96, 64, 32, 0].map { UInt32(truncatingIfNeeded: block >> $0) }
    }

    private static func substitute(_ word: UInt32) -> UInt32 {
        var result: UInt32 = 0
        for shift in [24, 16, 8, 0] {
            result = result << 8 | UInt32(substitutions[Int(UInt8(truncatingIfNeeded: word >> shift))])
        }
        return result
    }

    /// Doubles each byte in the field of AES.
    private static func double(_ word: UInt32) -> UInt32 {
        (word & 0x7F7F_7F7F) << 1 ^ (word >> 7 & 0x0101_0101) &* 0x1B
    }

    private static func mix(_ column: UInt32) -> UInt32 {
        let next = column << 8 | column >> 24
        return double(column) ^ double(next) ^ next ^ (column << 16 | column >> 16) ^ (column << 24 | column >> 8)
    }

    /// The inverse of each byte in the field, turned by an affine map.
    private static let substitutions: [UInt8] = {
        var table = [UInt8](repeating: 0x63, count: 256)
        var power: UInt8 = 1
        var inverse: UInt8 = 1
        repeat {
            // One steps through the powers of 3, the other through those of its inverse.
            power ^= power << 1 ^ (power & 0x80 == 0 ? 0 : 0x1B)
            inverse ^= inverse << 1
            inverse ^= inverse << 2
            inverse ^= inverse << 4
            if inverse & 0x80 != 0 { inverse ^= 0x09 }
            func turned(_ count: UInt8) -> UInt8 { inverse << count | inverse >> (8 - count) }
            table[Int(power)] = inverse ^ turned(1) ^ turned(2) ^ turned(3) ^ turned(4) ^ 0x63
        } while power != 1
        return table
    }()
}

/// The message authentication code AES-CMAC (RFC 4493), fed bit by bit.
package struct AESCMAC: Sendable {
    private let cipher: AES128
    private var state: UInt128 = 0
    /// What has not been taken in yet, the last byte the least significant; the last block waits until the end.
    private var pending: UInt128 = 0
    private var pendingCount = 0

    /// A code under `key`, its first byte the most significant. The key of nobody is zero.
    package init(key: UInt128 = 0) {
        cipher = AES128(key: key)
    }

    /// Takes in one byte.
    package mutating func update(_ byte: UInt8) {
        if pendingCount == 16 {
            state = cipher.encrypt(state ^ pending)
            pending = 0
            pendingCount = 0
        }
        pending = pending << 8 | UInt128(byte)
        pendingCount += 1
    }

    /// Takes in bytes.
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { update(byte) }
    }

    /// The code of all that was taken in, its first byte the most significant.
    package func finish() -> UInt128 {
        let whole = Self.double(cipher.encrypt(0))
        if pendingCount == 16 { return cipher.encrypt(state ^ pending ^ whole) }
        let padded = (pending << 8 | 0x80) << (8 * (15 - pendingCount))
        return cipher.encrypt(state ^ padded ^ Self.double(whole))
    }

    private static func double(_ value: UInt128) -> UInt128 {
        value << 1 ^ (value >> 127 == 0 ? 0 : 0x87)
    }

    /// The code of `bytes`.
    package static func code(of bytes: some Sequence<UInt8>, key: UInt128 = 0) -> UInt128 {
        var code = AESCMAC(key: key)
        code.update(bytes)
        return code.finish()
    }
}
