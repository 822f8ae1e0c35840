import TestSupport
import Testing

@testable import BluetoothCryptography

/// The cipher against FIPS 197, and SubBytes against its definition for every byte.
@Suite struct AES128Tests {
    @Test func encryptsAsTheStandardSays() {
        // Appendix B and appendix C.1.
        let first = AES128(key: 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C)
        #expect(first.encrypt(0x3243_F6A8_885A_308D_3131_98A2_E037_0734) == 0x3925_841D_02DC_09FB_DC11_8597_196A_0B32)
        let second = AES128(key: 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F)
        #expect(
            second.encrypt(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF) == 0x69C4_E0D8_6A7B_0430_D8CD_B780_70B4_C55A)
    }

    /// The example key of SP 800-38A, F.1.1.
    @Test(arguments: [
        (0x6BC1_BEE2_2E40_9F96_E93D_7E11_7393_172A as UInt128, 0x3AD7_7BB4_0D7A_3660_A89E_CAF3_2466_EF97 as UInt128),
        (0xAE2D_8A57_1E03_AC9C_9EB7_6FAC_45AF_8E51, 0xF5D3_D585_03B9_699D_E785_895A_96FD_BAAF),
        (0x30C8_1C46_A35C_E411_E5FB_C119_1A0A_52EF, 0x43B1_CD7F_598E_CE23_881B_00E3_ED03_0688),
        (0xF69F_2445_DF4F_9B17_AD2B_417B_E66C_3710, 0x7B0C_785E_27E8_AD3F_8223_2071_0472_5DD4),
    ])
    func encryptsTheSampleBlocks(_ plain: UInt128, _ encrypted: UInt128) {
        #expect(AES128(key: 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C).encrypt(plain) == encrypted)
    }

    @Test func theRoundKeysAreThoseOfTheStandard() {
        // Appendix A.1: the first and the last derived key.
        var key = BitPlanes(FourBlocks(repeating: 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C))
        key.expandKey(0x01)
        #expect(key.blocks.all == FourBlocks(repeating: 0xA0FA_FE17_8854_2CB1_23A3_3939_2A6C_7605).all)
        for constant in [0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36] as [UInt8] { key.expandKey(constant) }
        #expect(key.blocks.all == FourBlocks(repeating: 0xD014_F9A8_C9EE_2589_E13F_0CC8_B663_0CA6).all)
    }

    @Test func planesPreserveTheBlocks() {
        let block: UInt128 = 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F
        let blocks = FourBlocks(first: block, second: ~block, third: block << 4, fourth: block &* 0x1234_5678_9ABC_DEF1)
        #expect(BitPlanes(blocks).blocks.all == blocks.all)
    }

    /// Multiplies in the field of AES (FIPS 197 §4.2).
    private static func product(_ one: UInt8, _ other: UInt8) -> UInt8 {
        var (one, sum): (UInt8, UInt8) = (one, 0)
        for bit in 0..<8 {
            if other >> bit & 1 == 1 { sum ^= one }
            one = one << 1 ^ (one & 0x80 == 0 ? 0 : 0x1B)
        }
        return sum
    }

    @Test func everyByteIsSubstitutedByItsInverseTurned() {
        for start in stride(from: 0, to: 256, by: 64) {
            let bytes = (0..<64).map { UInt8(start + $0) }
            func block(_ number: Int) -> UInt128 {
                bytes[16 * number..<16 * number + 16].reduce(0) { $0 << 8 | UInt128($1) }
            }
            var planes = BitPlanes(
                FourBlocks(first: block(0), second: block(1), third: block(2), fourth: block(3)))
            planes.substitute()
            let words = planes.blocks.all
            for (index, byte) in bytes.enumerated() {
                let inverse = (1...255).map { UInt8($0) }.first { Self.product(byte, $0) == 1 } ?? 0
                func turned(_ count: UInt8) -> UInt8 { inverse << count | inverse >> (8 - count) }
                let expected = inverse ^ turned(1) ^ turned(2) ^ turned(3) ^ turned(4) ^ 0x63
                #expect(UInt8(truncatingIfNeeded: words[index / 16] >> UInt128(8 * (15 - index % 16))) == expected)
            }
        }
    }

    @Test(.seeded) func fourCiphersEqualSeparateOnes() {
        var generator = SeededGenerator()
        func random() -> UInt128 { .random(in: 0 ... .max, using: &generator) }
        for _ in 0..<100 {
            let keys = FourBlocks(first: random(), second: random(), third: random(), fourth: random())
            let blocks = FourBlocks(first: random(), second: random(), third: random(), fourth: random())
            let encrypted = FourAES128(keys: keys).encrypt(blocks)
            #expect(encrypted.first == AES128(key: keys.first).encrypt(blocks.first))
            #expect(encrypted.second == AES128(key: keys.second).encrypt(blocks.second))
            #expect(encrypted.third == AES128(key: keys.third).encrypt(blocks.third))
            #expect(encrypted.fourth == AES128(key: keys.fourth).encrypt(blocks.fourth))
        }
    }
}

extension FourBlocks {
    /// The blocks in order. The type is not Equatable, since the time of a comparison would depend on the values.
    fileprivate var all: [UInt128] { [first, second, third, fourth] }
}
