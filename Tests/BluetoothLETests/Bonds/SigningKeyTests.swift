import BluetoothATT
import BluetoothLE
import TestSupport
import Testing

/// Signatures compared with those of another host, with keys and signatures in the order of the air.
@Suite struct SigningKeyTests {
    private static let message = hex(
        """
        6BC1BEE22E409F96E93D7E117393172AAE2D8A571E03AC9C9EB76FAC45AF8E51\
        30C81C46A35CE411E5FBC1191A0A52EFF69F2445DF4F9B17AD2B417BE66C3710
        """)

    /// The counter and code as sent.
    private static func bytes(_ signature: ATTAuthenticationSignature) -> String {
        let code = (0..<8).map { UInt8(truncatingIfNeeded: signature.messageAuthenticationCode >> (8 * $0)) }
        let counter = (0..<4).map { UInt8(truncatingIfNeeded: signature.signCounter >> (8 * $0)) }
        return (counter + code).hexadecimal
    }

    @Test(arguments: [
        (0, "00000000B3A8594127EBC2C0"), (16, "00000000273974F4392A232A"), (40, "00000000B7CA94AB87C78218"),
        (64, "0000000044E1E6CE1DF51368"),
    ])
    func signaturesMatchThoseOfOtherHosts(_ count: Int, _ signature: String) throws {
        let key = try #require(SigningKey(hex("3C4FCF098815F7ABA6D2AE2816157E2B")))
        #expect(Self.bytes(try key.signature(of: Array(Self.message.prefix(count)))) == signature)
        #expect(key.signCounter == 1)
    }

    @Test func aSignatureIsAcceptedOnce() throws {
        let bytes = hex("505E42DF9691EC72D31FCDFBEB641B61")
        let signer = try #require(SigningKey(bytes, signCounter: 1))
        let command = hex("D212001337")
        let signature = try signer.signature(of: command)
        #expect(Self.bytes(signature) == "01000000F1871E933C900FF2")
        let checker = try #require(SigningKey(bytes))
        var wrong = signature
        wrong.messageAuthenticationCode ^= 1 << 56
        #expect(!checker.accepts(wrong, of: command))
        #expect(!checker.accepts(signature, of: hex("D212001338")))
        #expect(checker.accepts(signature, of: command))
        #expect(!checker.accepts(signature, of: command))
        #expect(checker.signCounter == 2)
        #expect(checker.accepts(try signer.signature(of: command), of: command))
    }

    @Test func theCounterDoesNotStartAgain() throws {
        let key = try #require(SigningKey([UInt8](repeating: 1, count: 16), signCounter: .max))
        _ = try key.signature(of: [])
        #expect(key.signCounter == nil)
        #expect(throws: BluetoothError.self) { try key.signature(of: []) }
        #expect(SigningKey([1, 2, 3]) == nil)
    }
}
