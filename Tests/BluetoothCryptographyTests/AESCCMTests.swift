import BluetoothCryptography
import TestSupport
import Testing

/// The authenticated cipher against RFC 3610 §8 and vectors of NIST's CAVP.
@Suite struct AESCCMTests {
    /// A row of the table; the message is nil if the tag is wrong.
    private struct Vector {
        let cipher: AESCCM
        let nonce: [UInt8]
        let data: [UInt8]
        let message: [UInt8]?
        let sealed: [UInt8]

        init(_ row: [String], tagByteCount: Int) {
            cipher = AESCCM(key: hex(row[0]).reduce(0) { $0 << 8 | UInt128($1) }, tagByteCount: tagByteCount)
            (nonce, data, sealed) = (hex(row[1]), hex(row[2]), hex(row[4]))
            message = row[3] == "-" ? nil : hex(row[3])
        }
    }

    /// The vectors of messages that are refused have no length of the message: of NIST's, both lengths of it are tried.
    private static let vectors = vectorTable("aes-ccm.txt").flatMap { row -> [Vector] in
        let count = hex(row[4]).count
        let tags = row[3] == "-" ? [4, 16] : [count - hex(row[3]).count]
        return tags.filter { $0 <= count }.map { Vector(row, tagByteCount: $0) }
    }

    @Test func theTableHasTheVectorsOfBothSources() {
        #expect(vectorTable("aes-ccm.txt").count == 142)
        #expect(Self.vectors.filter { $0.message == nil }.count >= 16)
    }

    @Test func messagesAreEncryptedAsPublished() {
        for vector in Self.vectors {
            guard let message = vector.message else { continue }
            let sealed = vector.cipher.seal(message, nonce: vector.nonce, additionalData: vector.data)
            #expect(sealed == vector.sealed)
        }
    }

    @Test func messagesAreDecryptedOrRefusedAsPublished() {
        for vector in Self.vectors {
            let opened = vector.cipher.open(vector.sealed, nonce: vector.nonce, additionalData: vector.data)
            #expect(opened == vector.message)
        }
    }

    @Test func everyChangedBitIsRefused() throws {
        let vector = try #require(Self.vectors.first)
        let changes = { (bytes: [UInt8]) in
            (0..<8 * bytes.count).map { bit in
                var changed = bytes
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                return changed
            }
        }
        for sealed in changes(vector.sealed) {
            let opened = vector.cipher.open(sealed, nonce: vector.nonce, additionalData: vector.data)
            #expect(opened == nil)
        }
        for nonce in changes(vector.nonce) {
            let opened = vector.cipher.open(vector.sealed, nonce: nonce, additionalData: vector.data)
            #expect(opened == nil)
        }
        for data in changes(vector.data) {
            let opened = vector.cipher.open(vector.sealed, nonce: vector.nonce, additionalData: data)
            #expect(opened == nil)
        }
        // A nonce of 13 bytes leaves two for the length.
        let opened = vector.cipher.open([UInt8](repeating: 0, count: 65_544), nonce: vector.nonce)
        #expect(opened == nil)
        for count in vector.sealed.indices {
            let opened = vector.cipher.open(
                Array(vector.sealed.prefix(count)), nonce: vector.nonce, additionalData: vector.data)
            #expect(opened == nil)
        }
    }
}
