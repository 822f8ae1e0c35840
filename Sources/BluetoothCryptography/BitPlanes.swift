/// The bytes of four AES blocks as bit planes: plane n has bit n of all 64 bytes.
///
/// Operations on the planes transform all bytes alike, so that neither the time nor the memory addresses depend on
/// their values. Byte 16 × row + 4 × column + block of a plane is that of the state's row and column (FIPS 197 §3.4) in
/// that block.
struct BitPlanes: Sendable {
    private var b0, b1, b2, b3, b4, b5, b6, b7: UInt64

    private init(
        _ b0: UInt64, _ b1: UInt64, _ b2: UInt64, _ b3: UInt64, _ b4: UInt64, _ b5: UInt64, _ b6: UInt64, _ b7: UInt64
    ) {
        (self.b0, self.b1, self.b2, self.b3) = (b0, b1, b2, b3)
        (self.b4, self.b5, self.b6, self.b7) = (b4, b5, b6, b7)
    }

    /// The planes of four blocks; the first byte of each block is the most significant.
    init(_ blocks: FourBlocks) {
        // Byte k of word j becomes bit 8 × k + j of the planes.
        let first = Self.spread(blocks.first)
        let second = Self.spread(blocks.second)
        let third = Self.spread(blocks.third)
        let fourth = Self.spread(blocks.fourth)
        self.init(first.even, second.even, third.even, fourth.even, first.odd, second.odd, third.odd, fourth.odd)
        transpose()
    }

    /// The four blocks; the first byte of each is the most significant.
    var blocks: FourBlocks {
        var words = self
        words.transpose()
        return FourBlocks(
            first: Self.gathered(even: words.b0, odd: words.b4), second: Self.gathered(even: words.b1, odd: words.b5),
            third: Self.gathered(even: words.b2, odd: words.b6), fourth: Self.gathered(even: words.b3, odd: words.b7))
    }

    /// The even and the odd columns of a block: byte 2 × row + h of a word is that of the column 2 × h, or of the next.
    @inline(__always)
    private static func spread(_ block: UInt128) -> (even: UInt64, odd: UInt64) {
        func column(_ shift: UInt128) -> UInt64 {
            var word = UInt64(UInt32(truncatingIfNeeded: block &>> shift).byteSwapped)
            word = (word | word &<< 16) & 0x0000_FFFF_0000_FFFF
            return (word | word &<< 8) & 0x00FF_00FF_00FF_00FF
        }
        return (column(96) | column(32) &<< 8, column(64) | column(0) &<< 8)
    }

    @inline(__always)
    private static func gathered(even: UInt64, odd: UInt64) -> UInt128 {
        func column(_ bytes: UInt64) -> UInt128 {
            var word = bytes & 0x00FF_00FF_00FF_00FF
            word = (word | word &>> 8) & 0x0000_FFFF_0000_FFFF
            word |= word &>> 16
            return UInt128(UInt32(truncatingIfNeeded: word).byteSwapped)
        }
        return column(even) &<< 96 | column(odd) &<< 64 | column(even &>> 8) &<< 32 | column(odd &>> 8)
    }

    /// Swaps bit n of byte k of word j with bit j of byte k of word n.
    @inline(__always)
    private mutating func transpose() {
        @inline(__always)
        func swap(_ low: inout UInt64, _ high: inout UInt64, _ mask: UInt64, _ shift: UInt64) {
            let difference = (low &>> shift ^ high) & mask
            high ^= difference
            low ^= difference &<< shift
        }
        let (single, pair, nibble): (UInt64, UInt64, UInt64) = (
            0x5555_5555_5555_5555, 0x3333_3333_3333_3333, 0x0F0F_0F0F_0F0F_0F0F
        )
        swap(&b0, &b1, single, 1)
        swap(&b2, &b3, single, 1)
        swap(&b4, &b5, single, 1)
        swap(&b6, &b7, single, 1)
        swap(&b0, &b2, pair, 2)
        swap(&b1, &b3, pair, 2)
        swap(&b4, &b6, pair, 2)
        swap(&b5, &b7, pair, 2)
        swap(&b0, &b4, nibble, 4)
        swap(&b1, &b5, nibble, 4)
        swap(&b2, &b6, nibble, 4)
        swap(&b3, &b7, nibble, 4)
    }

    @inline(__always)
    private mutating func updateEach(_ change: (UInt64) -> UInt64) {
        (b0, b1, b2, b3) = (change(b0), change(b1), change(b2), change(b3))
        (b4, b5, b6, b7) = (change(b4), change(b5), change(b6), change(b7))
    }

    /// Adds two sets of planes bitwise.
    @inline(__always)
    static func ^= (planes: inout BitPlanes, other: BitPlanes) {
        planes.b0 ^= other.b0
        planes.b1 ^= other.b1
        planes.b2 ^= other.b2
        planes.b3 ^= other.b3
        planes.b4 ^= other.b4
        planes.b5 ^= other.b5
        planes.b6 ^= other.b6
        planes.b7 ^= other.b7
    }

    // MARK: The steps of a round (FIPS 197 §5.1)

    /// ShiftRows: rotates each row to the left by its index.
    @inline(__always)
    mutating func shiftRows() {
        updateEach { plane in
            plane & 0x0000_0000_0000_FFFF
                | (plane & 0x0000_0000_FFF0_0000) &>> 4 | (plane & 0x0000_0000_000F_0000) &<< 12
                | (plane & 0x0000_FF00_0000_0000) &>> 8 | (plane & 0x0000_00FF_0000_0000) &<< 8
                | (plane & 0xF000_0000_0000_0000) &>> 12 | (plane & 0x0FFF_0000_0000_0000) &<< 4
        }
    }

    /// MixColumns: row r becomes 2 × row r + 3 × row r+1 + row r+2 + row r+3.
    @inline(__always)
    mutating func mixColumns() {
        // A row plus the next, and the sum of the three others, which is not doubled.
        @inline(__always)
        func parts(_ plane: UInt64) -> (sum: UInt64, others: UInt64) {
            let next = plane &>> 16 | plane &<< 48
            let sum = plane ^ next
            return (sum, next ^ (sum &>> 32 | sum &<< 32))
        }
        let (s0, s1, s2, s3) = (parts(b0), parts(b1), parts(b2), parts(b3))
        let (s4, s5, s6, s7) = (parts(b4), parts(b5), parts(b6), parts(b7))
        // Doubling shifts each bit up; the carry is reduced to 0x1B.
        b0 = s0.others ^ s7.sum
        b1 = s1.others ^ s0.sum ^ s7.sum
        b2 = s2.others ^ s1.sum
        b3 = s3.others ^ s2.sum ^ s7.sum
        b4 = s4.others ^ s3.sum ^ s7.sum
        b5 = s5.others ^ s4.sum
        b6 = s6.others ^ s5.sum
        b7 = s7.others ^ s6.sum
    }

    // MARK: The key schedule (FIPS 197 §5.2)

    /// Expands this round key to the next one, for all four keys together.
    ///
    /// - Parameter constant: Rcon, which is added to the first byte.
    @inline(__always)
    mutating func expandKey(_ constant: UInt8) {
        var word = self
        word.substitute()
        // Rotates the rows of the last column by one and moves it to the first column.
        word.updateEach { ($0 &>> 16 | $0 &<< 48) &>> 12 & 0x000F_000F_000F_000F }
        @inline(__always)
        func bit(_ number: UInt8) -> UInt64 { UInt64(constant &>> number & 1) &* 0xF }
        word ^= BitPlanes(bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6), bit(7))
        self ^= word
        // Adds each column to all later ones.
        updateEach { plane in
            let sum = plane ^ plane &<< 4 & 0xFFF0_FFF0_FFF0_FFF0
            return sum ^ sum &<< 8 & 0xFF00_FF00_FF00_FF00
        }
    }

    // MARK: The substitution (FIPS 197 §5.1.1)

    /// SubBytes: the inverse of each byte in the field of AES, followed by an affine transformation.
    ///
    /// A circuit of 115 gates: J. Boyar, R. Peralta, "A new combinational logic minimization technique with
    /// applications to cryptology", 2010. The names are theirs; their bit 0 is the most significant.
    mutating func substitute() {
        let (x0, x1, x2, x3) = (b7, b6, b5, b4)
        let (x4, x5, x6, x7) = (b3, b2, b1, b0)

        // The linear map into a field with cheap inversion.
        let y14 = x3 ^ x5
        let y13 = x0 ^ x6
        let y9 = x0 ^ x3
        let y8 = x0 ^ x5
        let t0 = x1 ^ x2
        let y1 = t0 ^ x7
        let y4 = y1 ^ x3
        let y12 = y13 ^ y14
        let y2 = y1 ^ x0
        let y5 = y1 ^ x6
        let y3 = y5 ^ y8
        let t1 = x4 ^ y12
        let y15 = t1 ^ x5
        let y20 = t1 ^ x1
        let y6 = y15 ^ x7
        let y10 = y15 ^ t0
        let y11 = y20 ^ y9
        let y7 = x7 ^ y11
        let y17 = y10 ^ y11
        let y19 = y10 ^ y8
        let y16 = t0 ^ y11
        let y21 = y13 ^ y16
        let y18 = x0 ^ y16

        // The inversion.
        let t2 = y12 & y15
        let t3 = y3 & y6
        let t4 = t3 ^ t2
        let t5 = y4 & x7
        let t6 = t5 ^ t2
        let t7 = y13 & y16
        let t8 = y5 & y1
        let t9 = t8 ^ t7
        let t10 = y2 & y7
        let t11 = t10 ^ t7
        let t12 = y9 & y11
        let t13 = y14 & y17
        let t14 = t13 ^ t12
        let t15 = y8 & y10
        let t16 = t15 ^ t12
        let t17 = t4 ^ t14
        let t18 = t6 ^ t16
        let t19 = t9 ^ t14
        let t20 = t11 ^ t16
        let t21 = t17 ^ y20
        let t22 = t18 ^ y19
        let t23 = t19 ^ y21
        let t24 = t20 ^ y18
        let t25 = t21 ^ t22
        let t26 = t21 & t23
        let t27 = t24 ^ t26
        let t28 = t25 & t27
        let t29 = t28 ^ t22
        let t30 = t23 ^ t24
        let t31 = t22 ^ t26
        let t32 = t31 & t30
        let t33 = t32 ^ t24
        let t34 = t23 ^ t33
        let t35 = t27 ^ t33
        let t36 = t24 & t35
        let t37 = t36 ^ t34
        let t38 = t27 ^ t36
        let t39 = t29 & t38
        let t40 = t25 ^ t39
        let t41 = t40 ^ t37
        let t42 = t29 ^ t33
        let t43 = t29 ^ t40
        let t44 = t33 ^ t37
        let t45 = t42 ^ t41
        let z0 = t44 & y15
        let z1 = t37 & y6
        let z2 = t33 & x7
        let z3 = t43 & y16
        let z4 = t40 & y1
        let z5 = t29 & y7
        let z6 = t42 & y11
        let z7 = t45 & y17
        let z8 = t41 & y10
        let z9 = t44 & y12
        let z10 = t37 & y3
        let z11 = t33 & y4
        let z12 = t43 & y13
        let z13 = t40 & y5
        let z14 = t29 & y2
        let z15 = t42 & y9
        let z16 = t45 & y14
        let z17 = t41 & y8

        // The linear map back, combined with the affine transformation.
        let t46 = z15 ^ z16
        let t47 = z10 ^ z11
        let t48 = z5 ^ z13
        let t49 = z9 ^ z10
        let t50 = z2 ^ z12
        let t51 = z2 ^ z5
        let t52 = z7 ^ z8
        let t53 = z0 ^ z3
        let t54 = z6 ^ z7
        let t55 = z16 ^ z17
        let t56 = z12 ^ t48
        let t57 = t50 ^ t53
        let t58 = z4 ^ t46
        let t59 = z3 ^ t54
        let t60 = t46 ^ t57
        let t61 = z14 ^ t57
        let t62 = t52 ^ t58
        let t63 = t49 ^ t58
        let t64 = z4 ^ t59
        let t65 = t61 ^ t62
        let t66 = z1 ^ t63
        let s0 = t59 ^ t63
        let s6 = t56 ^ ~t62
        let s7 = t48 ^ ~t60
        let t67 = t64 ^ t65
        let s3 = t53 ^ t66
        let s4 = t51 ^ t66
        let s5 = t47 ^ t65
        let s1 = t64 ^ ~s3
        let s2 = t55 ^ ~t67

        self = BitPlanes(s7, s6, s5, s4, s3, s2, s1, s0)
    }
}
