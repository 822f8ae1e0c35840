// Runs what handles secrets with secrets that memcheck holds for undefined: it reports each branch and each address that
// depends on one. With an argument it leaks on purpose; see `run`.

import BluetoothCryptography
import Glibc

/// A value that only memcheck knows to be secret.
@inline(never)
func secret<Value: BitwiseCopyable>(_ value: Value) -> Value {
    var value = value
    withUnsafeBytes(of: &value) { markSecret($0.baseAddress, $0.count) }
    return value
}

/// A result that everybody may know from now on.
@inline(never)
func published<Value: BitwiseCopyable>(_ value: Value) -> Value {
    var value = value
    withUnsafeBytes(of: &value) { markPublic($0.baseAddress, $0.count) }
    return value
}

/// Ends the check with a sentence.
func fail(_ sentence: String) -> Never {
    print(sentence)
    exit(2)
}

@inline(never)
func expect<Value: BitwiseCopyable & Equatable>(_ value: Value, _ expected: Value, _ what: String) {
    if published(value) != expected { fail("\(what) is wrong") }
}

let key: UInt128 = 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C
let block: UInt128 = 0x6BC1_BEE2_2E40_9F96_E93D_7E11_7393_172A
let resolvingKey: UInt128 = 0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B

/// The cipher and its key schedule, and the checksum with its doubling, of a message that is as secret as the key.
func checkCipherAndChecksum() {
    expect(AES128(key: secret(key)).encrypt(secret(block)), 0x3AD7_7BB4_0D7A_3660_A89E_CAF3_2466_EF97, "a block")
    // The message and the codes of RFC 4493 §4.
    let message: [UInt128] = [
        block, 0xAE2D_8A57_1E03_AC9C_9EB7_6FAC_45AF_8E51, 0x30C8_1C46_A35C_E411_E5FB_C119_1A0A_52EF,
        0xF69F_2445_DF4F_9B17_AD2B_417B_E66C_3710,
    ]
    for (count, expected) in [
        (0, 0xBB1D_6929_E959_3728_7FA3_7D12_9B75_6746 as UInt128), (16, 0x070A_16B4_6B4D_4144_F79B_DD9D_D04A_287C),
        (40, 0xDFA6_6747_DE9A_E630_30CA_3261_1497_C827), (64, 0x51F0_BEBF_7E3B_9D92_FC49_7417_7936_3CFE),
    ] {
        let bytes = (0..<count).map { index in
            secret(UInt8(truncatingIfNeeded: message[index / 16] >> UInt128(120 - 8 * (index % 16))))
        }
        expect(AESCMAC.code(of: bytes, key: secret(key)), expected, "the checksum of \(count) bytes")
        var code = AESCMAC(key: secret(key))
        for byte in bytes { code.update(byte) }
        expect(code.finalize(), expected, "the checksum of \(count) bytes in turn")
    }
}

/// A hash, of which everybody may know the length of the message.
func checkHash() {
    let hash = SHA256.hash(of: [0x61, 0x62, 0x63].map { secret($0 as UInt8) })
    let word = hash.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    expect(word, 0xBA78_16BF, "a hash")
}

/// Private addresses are looked up and made; which key an address belongs to is what everybody may know.
func checkPrivateAddresses() {
    let keys = FourResolvingKeys(
        FourBlocks(first: secret(key), second: secret(block), third: secret(resolvingKey), fourth: secret(0)))
    expect(keys.matches(0x7081_940D_FBAA), 0b0100, "the key of an address")
    expect(keys.matches(0x7081_940D_FBAB), 0, "the key of nobody's address")
    expect(
        FourResolvingKeys(FourBlocks(first: secret(resolvingKey))).address(of: 0x70_8194), 0x7081_940D_FBAA,
        "an address")
}

/// The authenticated cipher: packet vector 1 of RFC 3610 §8. Whether the tag is right is what everybody may know.
func checkAuthenticatedCipher() {
    let cipher = AESCCM(key: secret(0xC0C1_C2C3_C4C5_C6C7_C8C9_CACB_CCCD_CECF), tagByteCount: 8)
    let nonce: [UInt8] = [0, 0, 0, 3, 2, 1, 0, 0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5]
    let sealed = cipher.seal((8..<31).map { secret($0) }, nonce: nonce, additionalData: (0..<8).map { secret($0) })
    expect(sealed.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }, 0x17E8_D12C_FDF9_26E0, "the tag of a message")
    let opened = cipher.decrypt(sealed, nonce: nonce, additionalData: (0..<8).map { secret($0) })
    expect(opened.difference, 0, "the difference of the tag")
    expect(opened.message.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }, 0x1718_191A_1B1C_1D1E, "a decrypted message")
}

/// What an implementation with a table does, so that it is known that memcheck sees it.
func leak() {
    let table = (0..<256).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let index = Int(secret(key) & 0xFF)
    if published(table[index]) == 0 { fail("the table is wrong") }
}

guard isWatched() != 0 else { fail("This has to run under valgrind; see Tests/ConstantTime/run.") }
if CommandLine.arguments.count > 1 {
    leak()
} else {
    checkCipherAndChecksum()
    checkPrivateAddresses()
    checkAuthenticatedCipher()
    checkHash()
}
exit(errorCount() == 0 ? 0 : 1)
