import BluetoothCryptography
import TestSupport
import Testing

/// SHA-256 against the examples of FIPS 180-4 and the lengths around the end of a block.
@Suite struct SHA256Tests {
    /// The examples of NIST for FIPS 180-4, and the empty message.
    @Test(arguments: [
        ("", "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"),
        ("abc", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248D6A61D20638B8E5C026930C3E6039A33CE45964FF2167F6ECEDD419DB06C1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "CF5B16A778AF8380036CE59E7B0492370B249B11E8F07A51AFAC45037AFEE9D1"
        ),
        (String(repeating: "a", count: 1_000_000), "CDC76E5C9914FB9281A1C7E284D73E67F1809A48A497200E046D39CCC7112CD0"),
    ])
    func hashesTheExamples(_ message: String, _ expected: String) {
        #expect(SHA256.hash(of: message.utf8) == hex(expected))
    }

    /// The bytes 0, 1, 2 … of these lengths, computed with OpenSSL.
    @Test(arguments: [
        (55, "463EB28E72F82E0A96C0A4CC53690C571281131F672AA229E0D45AE59B598B59"),
        (56, "DA2AE4D6B36748F2A318F23E7AB1DFDF45ACDC9D049BD80E59DE82A60895F562"),
        (63, "29AF2686FD53374A36B0846694CC342177E428D1647515F078784D69CDB9E488"),
        (64, "FDEAB9ACF3710362BD2658CDC9A29E8F9C757FCF9811603A8C447CD1D9151108"),
        (65, "4BFD2C8B6F1EEC7A2AFEB48B934EE4B2694182027E6D0FC075074F2FABB31781"),
        (119, "DA18797ED7C3A777F0847F429724A2D8CD5138E6ED2895C3FA1A6D39D18F7EC6"),
        (120, "F52B23DB1FBB6DED89EF42A23CE0C8922C45F25C50B568A93BF1C075420BBB7C"),
        (128, "471FB943AA23C511F6F72F8D1652D9C880CFA392AD80503120547703E56A2BE5"),
    ])
    func padsEveryEndOfABlock(_ count: Int, _ expected: String) {
        #expect(SHA256.hash(of: (0..<count).map { UInt8($0) }) == hex(expected))
    }

    @Test func aHashOfPartsIsThatOfTheWhole() {
        let message = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var hash = SHA256()
        for start in stride(from: 0, to: message.count, by: 37) { hash.update(message[start...].prefix(37)) }
        #expect(hash.finalize() == SHA256.hash(of: message))
        // Asked in between, it continues.
        hash.update([1])
        #expect(hash.finalize() == SHA256.hash(of: message + [1]))
    }
}
