import ATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import GATT

@Suite struct ReadingTests {
    static let exchanges: [(mtu: Int, request: String, response: String)] = [
        // Read, Core Vol 3 Part F §3.4.4.3.
        (23, "0A 0300", "0B 54657374"),
        (23, "0A 0100", "0B 0018"),
        (23, "0A 1100", "0B 10 1200 E8F37690FFB854915A46EB35CBC9AD27"),
        (23, "0A 0700", "0B 0000"),
        (23, "0A FFFF", "0B 0000"),
        (23, "0A 3D00", "0B 000102030405060708090A0B0C0D0E0F101112131415"),
        (247, "0A 3D00", "0B 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D"),
        (23, "0A 0000", "01 0A 0000 01"),
        (23, "0A 0800", "01 0A 0800 01"),
        (23, "0A 1200", "01 0A 1200 02"),
        (23, "0A 1500", "01 0A 1500 02"),
        (23, "0A 3500", "01 0A 3500 05"),

        // Read Blob, §3.4.4.5.
        (23, "0C 3D00 0000", "0D 000102030405060708090A0B0C0D0E0F101112131415"),
        (23, "0C 3D00 1600", "0D 161718191A1B1C1D"),
        (23, "0C 3D00 1E00", "0D"),
        (23, "0C 3D00 1F00", "01 0C 3D00 07"),
        (23, "0C 3D00 FFFF", "01 0C 3D00 07"),
        (23, "0C 0300 0100", "0D 657374"),
        (23, "0C 0700 0100", "0D 00"),
        (23, "0C 0800 0000", "01 0C 0800 01"),
        (23, "0C 1200 0000", "01 0C 1200 02"),
        (23, "0C 3700 0000", "01 0C 3700 05"),

        // Read Multiple, §3.4.4.7.
        (23, "0E 0300 0600", "0F 54657374 64"),
        (23, "0E 0300 0300 0300 0300 0300 0300", "0F 54657374 54657374 54657374 54657374 54657374 5465"),
        (23, "0E 3D00 0800", "01 0E 0800 01"),
        (23, "0E 0300 1200 0800", "01 0E 1200 02"),
        (23, "0E 0300 3500", "01 0E 3500 05"),
        (23, "0E 0300", "01 0E 0000 04"),
        (23, "0E", "01 0E 0000 04"),

        // Read Multiple Variable, §3.4.4.11.
        (23, "20 0300 0600", "21 0400 54657374 0100 64"),
        (23, "20 0300 3D00", "21 0400 54657374 1E00 000102030405060708090A0B0C0D"),
        (23, "20 0300 0800", "01 20 0800 01"),
        (23, "20 1500 0300", "01 20 1500 02"),
        (23, "20 0300", "01 20 0000 04"),
    ]

    @Test("every read is answered by the book", arguments: exchanges)
    func exchange(mtu: Int, request: String, response: String) throws {
        var fixture = try ServerFixture(mtu: mtu)
        #expect(fixture.send(request) == hex(response).hexadecimal)
        #expect(fixture.events.isEmpty)
    }

    @Test("the program's value is asked for with its handle and offset, and answers the request")
    func dynamicValue() throws {
        var fixture = try ServerFixture()
        #expect(fixture.send("0A 4000") == "")
        guard case .readRequested(let request) = fixture.events.first else {
            Issue.record("no question")
            return
        }
        #expect(request.handle == 0x0040)
        #expect(request.offset == 0)
        #expect(fixture.server.isWaitingForProgram)
        #expect(try fixture.answer("0102") == "0B0102")
        #expect(!fixture.server.isWaitingForProgram)

        #expect(fixture.send("0C 4000 0100") == "")
        #expect(try fixture.answer("0102") == "0D02")
        #expect(fixture.send("0C 4000 0100") == "")
        #expect(try fixture.answer("02", startingAt: 1) == "0D02")
        #expect(fixture.send("0C 4000 0300") == "")
        #expect(try fixture.answer("0102") == "010C400007")
        #expect(fixture.send("0C 4000 0300") == "")
        #expect(try fixture.refuse(ATTErrorCode(0x81)) == "010C400081")

        #expect(fixture.send("0E 0300 4000") == "")
        #expect(try fixture.answer("0102") == "0F546573740102")
        #expect(fixture.send("20 4000 0300 4000") == "")
        #expect(try fixture.answer("") == "210000" + "040054657374" + "0000")
    }

    @Test("an answer the attribute cannot have is an Unlikely Error")
    func badAnswers() throws {
        var fixture = try ServerFixture()
        let tooLong = [UInt8](repeating: 0, count: 513).hexadecimal
        #expect(fixture.send("0A 4000") == "")
        #expect(try fixture.answer(tooLong) == "010A40000E")
        for start in [1, -1, Int.max, Int.min] {
            #expect(fixture.send("0A 4000") == "")
            #expect(try fixture.answer("01", startingAt: start) == "010A40000E")
        }
    }

    @Test("an answer that comes twice or for another request sends nothing")
    func staleAnswers() throws {
        var fixture = try ServerFixture()
        _ = fixture.send("0A 4000")
        let first = fixture.events
        _ = try fixture.answer("01")
        fixture.events = first
        #expect(try fixture.answer("02") == "")
        _ = fixture.send("0A 4000")
        let second = fixture.events
        fixture.events = first
        #expect(try fixture.answer("03") == "")
        #expect(
            try {
                fixture.events = first; return try fixture.refuse(.unlikelyError)
            }() == "")
        fixture.events = second
        #expect(try fixture.answer("04") == "0B04")
    }

    @Test("a request while another waits is not answered but reported; commands are carried out")
    func outOfTurn() throws {
        var fixture = try ServerFixture()
        _ = fixture.send("0A 4000")
        let waiting = fixture.events
        #expect(fixture.send("0A 0300") == "")
        #expect(fixture.events == [.requestOutOfTurn(.readRequest)])
        #expect(fixture.send("52 1500 AB") == "")
        #expect(fixture.events == [.writeCommandReceived(AttributeWrite(0x0015, value: [0xAB]))])
        fixture.events = waiting
        #expect(try fixture.answer("01") == "0B01")
    }

    /// The answers to reads and writes of 0x0035 (encrypted), 0x0037 (authenticated), 0x0039 (authorised) and 0x003B
    /// (authorised and authenticated).
    static let protections: [(BearerSecurity, [UInt8])] = [
        (.none, [0x05, 0x05, 0x08, 0x08]),
        (BearerSecurity(isAuthorized: true), [0x05, 0x05, 0, 0x05]),
        (BearerSecurity(hasLongTermKey: true), [0x0F, 0x05, 0x08, 0x08]),
        (BearerSecurity(isAuthenticated: true, hasLongTermKey: true, isAuthorized: true), [0x0F, 0x0F, 0, 0x0F]),
        (.encrypted, [0, 0x05, 0x08, 0x08]),
        (.authenticated, [0, 0, 0x08, 0x08]),
        (
            BearerSecurity(
                isEncrypted: true, encryptionKeySize: 6, isAuthenticated: true, hasLongTermKey: true,
                isAuthorized: true), [0x0C, 0x0C, 0, 0x0C]
        ),
        (
            BearerSecurity(
                isEncrypted: true, encryptionKeySize: 7, isAuthenticated: true, hasLongTermKey: true,
                isAuthorized: true), [0, 0, 0, 0]
        ),
    ]

    @Test("protected attributes are refused on every path, in the order of the checks", arguments: protections)
    func protection(security: BearerSecurity, codes: [UInt8]) throws {
        let handles = ["3500", "3700", "3900", "3B00"]
        let types = ["F1FF", "F2FF", "F3FF", "F4FF"]
        for ((handle, type), code) in zip(zip(handles, types), codes) {
            for (opcode, request) in [
                ("0A", "0A \(handle)"), ("0C", "0C \(handle) 0000"), ("0E", "0E 0300 \(handle)"),
                ("0E", "0E \(handle) 0300"), ("20", "20 0300 \(handle)"), ("08", "08 0100 FFFF \(type)"),
                ("12", "12 \(handle) 00"), ("16", "16 \(handle) 0000 00"),
            ] {
                var fixture = try ServerFixture(security: security)
                let response = fixture.send(request)
                if code == 0 {
                    #expect(!response.hasPrefix("01"), "\(request)")
                } else {
                    #expect(response == "01\(opcode)\(handle)\([code].hexadecimal)", "\(request)")
                    #expect(fixture.events.isEmpty)
                }
            }
            var fixture = try ServerFixture(security: security)
            #expect(fixture.send("52 \(handle) 77") == "")
            #expect(fixture.events.isEmpty == (code != 0))
        }
    }

    @Test("the least key size is the program's choice")
    func keySize() throws {
        let security = BearerSecurity(isEncrypted: true, encryptionKeySize: 15, hasLongTermKey: true)
        var fixture = try ServerFixture(security: security, limits: .init(minimumEncryptionKeySize: 16))
        #expect(fixture.send("0A 3500") == "010A35000C")
        fixture.server.security.encryptionKeySize = 16
        #expect(fixture.send("0A 3500") == "0BA1")
    }
}
