import BluetoothCryptography
import TestSupport
import Testing

/// The checksum against RFC 4493 §4, and the pairing functions against the sample data of the specification
/// (Core Vol 3 Part H appendix D); they consist only of the cipher and the checksum.
@Suite struct SpecificationTests {
    private static func number(_ digits: String) -> UInt128 { hex(digits).reduce(0) { $0 << 8 | UInt128($1) } }

    private static func code(_ key: String, _ message: String...) -> UInt128 {
        AESCMAC.code(of: message.flatMap { hex($0) }, key: number(key))
    }

    @Test(arguments: [
        (0, "BB1D6929E95937287FA37D129B756746"), (16, "070A16B46B4D4144F79BDD9DD04A287C"),
        (40, "DFA66747DE9AE63030CA32611497C827"), (64, "51F0BEBF7E3B9D92FC49741779363CFE"),
    ])
    func checksumsAreThoseOfTheStandard(_ count: Int, _ code: String) {
        let message = hex(
            """
            6BC1BEE22E409F96E93D7E117393172AAE2D8A571E03AC9C9EB76FAC45AF8E51\
            30C81C46A35CE411E5FBC1191A0A52EFF69F2445DF4F9B17AD2B417BE66C3710
            """
        ).prefix(count)
        let key = Self.number("2B7E151628AED2A6ABF7158809CF4F3C")
        #expect(AESCMAC.code(of: message, key: key) == Self.number(code))
        #expect(AESCMAC.code(of: message) != Self.number(code))
        var inTurn = AESCMAC(key: key)
        for byte in message { inTurn.update(byte) }
        #expect(inTurn.finalize() == Self.number(code))
    }

    // MARK: Legacy pairing

    @Test func theConfirmValueIsThatOfTheSpecification() {
        // c1 of §2.2.3: e(k, e(k, r ⊕ p1) ⊕ p2).
        let cipher = AES128(key: 0)
        let first = Self.number("05000800000302" + "07071000000101" + "00" + "01")
        let second = Self.number("00000000" + "A1A2A3A4A5A6" + "B1B2B3B4B5B6")
        let random = Self.number("5783D52156AD6F0E6388274EC6702EE0")
        #expect(
            cipher.encrypt(cipher.encrypt(random ^ first) ^ second) == Self.number("1E1E3FEF878988EAD2A74DC5BEF13B86"))
    }

    @Test func theShortTermKeyIsThatOfTheSpecification() {
        // s1 of §2.2.4: the lower halves of both random numbers, the first one as the most significant.
        #expect(
            AES128(key: 0).encrypt(Self.number("1122334455667788" + "99AABBCCDDEEFF00"))
                == Self.number("9A1FE1F0E8B0F49B5B4216AE796DA062"))
    }

    // MARK: LE Secure Connections

    private static let publicKeys = (
        "20B003D2F297BE2C5E2C83A7E9F9A5B9EFF49111ACF4FDDBCC0301480E359DE6",
        "55188B3D32F6BB9A900AFCFBEED4E72A59CB9AC2F19D7CFB6B4FDD49F47FC5FD"
    )
    private static let nonces = ("D5CB8454D177733EFFFFB2EC712BAEAB", "A6E8E7CC25A75F6E216583F7FF3DC4CF")
    private static let addresses = ("0056123737BFCE", "00A713702DCFC1")

    @Test func theConfirmValueOfSecureConnections() {
        let code = Self.code(Self.nonces.0, Self.publicKeys.0, Self.publicKeys.1, "00")  // f4
        #expect(code == Self.number("F2C916F107A9BD1CF1EDA1BEA974872D"))
    }

    @Test func theKeysOfSecureConnections() {
        let secret = "EC0234A357C8AD05341010A60A397D9B99796B13B4F866F1868D34F373BFA698"
        // f5: the key is derived from the secret with a publicly known salt.
        let key = AESCMAC.code(of: hex(secret), key: Self.number("6C888391AAF5A53860370BDB5A6083BE"))
        func made(_ counter: String) -> UInt128 {
            let message = [
                counter, "62746C65", Self.nonces.0, Self.nonces.1, Self.addresses.0, Self.addresses.1, "0100",
            ]
            return AESCMAC.code(of: message.flatMap { hex($0) }, key: key)
        }
        #expect(made("00") == Self.number("2965F176A1084A02FD3F6A20CE636E20"))
        #expect(made("01") == Self.number("6986791169D7CD23980522B594750A38"))
    }

    @Test func theCheckValueAndTheNumberThatIsCompared() {
        let check = Self.code(  // f6
            "2965F176A1084A02FD3F6A20CE636E20", Self.nonces.0, Self.nonces.1, "12A3343BB453BB5408DA42D20C2D0FC8",
            "010102", Self.addresses.0, Self.addresses.1)
        #expect(check == Self.number("E3C473989CD0E8C5D26C0B09DA958F61"))
        let number = Self.code(Self.nonces.0, Self.publicKeys.0, Self.publicKeys.1, Self.nonces.1)  // g2
        #expect(UInt32(truncatingIfNeeded: number) == 0x2F9E_D5BA)
        #expect(UInt32(truncatingIfNeeded: number) % 1_000_000 == 938554)
    }

    @Test func keysOfTheOtherTransport() {
        // h6 and h7.
        #expect(
            Self.code("EC0234A357C8AD05341010A60A397D9B", "6C656272")
                == Self.number("2D9AE102E76DC91CE8D3A9E280B16399"))
        #expect(
            Self.code("000000000000000000000000746D7031", "EC0234A357C8AD05341010A60A397D9B")
                == Self.number("FB173597C6A3C0ECD2998C2A75A57011"))
    }

    // MARK: Private addresses

    @Test func anAddressIsHashedAsTheSpecificationSays() {
        // ah, with the key in each of the four positions.
        let key = Self.number("EC0234A357C8AD05341010A60A397D9B")
        let keys = [
            FourBlocks(first: key), FourBlocks(first: 0, second: key), FourBlocks(first: 0, third: key),
            FourBlocks(first: 0, fourth: key),
        ]
        for (place, keys) in keys.enumerated() {
            let resolving = FourResolvingKeys(keys)
            #expect(resolving.matches(0x7081_940D_FBAA) == 1 << UInt8(place))
            for bit in 0..<48 { #expect(resolving.matches(0x7081_940D_FBAA ^ 1 << UInt64(bit)) == 0) }
        }
        #expect(FourResolvingKeys(FourBlocks(repeating: key)).matches(0x7081_940D_FBAA) == 0b1111)
        #expect(FourResolvingKeys(FourBlocks(first: key)).address(of: 0x70_8194) == 0x7081_940D_FBAA)
    }
}
