import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct HostileInputTests {
    static let requests: [String] =
        ServerRuleTests.all.map(\.request)
        + ["02 0502", "0A 4000", "0C 4000 0000", "12 4000 0102", "16 3D00 0000 0102", "18 01", "1E", "52 1500 01"]
        + ["52 0700 0100", "D2 0300 00 000102030405060708090A0B"]

    @Test("every input has a valid response within the ATT_MTU", arguments: [23, 247])
    func mutated(mtu: Int) throws {
        var fixture = try ServerFixture(mtu: mtu)
        let fresh = fixture
        for vector in Set(Self.requests) {
            for bytes in [hex(vector)] + mutations(of: hex(vector)) {
                // The state after the previous requests is part of the test; a changed ATT_MTU is not.
                if fixture.server.mtu != mtu { fixture = fresh }
                try check(fixture.send(bytes), to: bytes, in: &fixture, mtu: mtu)
            }
        }
    }

    @Test("every handle can be requested in every way", arguments: [23, 247])
    func everyHandle(mtu: Int) throws {
        var fixture = try ServerFixture(mtu: mtu)
        let handles = [0...0x50, 0xFFF0...0xFFFF].flatMap { $0.map { [UInt8($0 & 0xFF), UInt8($0 >> 8)] } }
        for handle in handles {
            for request in [
                hex("0A") + handle, hex("0C") + handle + [1, 0], hex("0E") + handle + handle,
                hex("20") + handle + handle, hex("12") + handle + [1, 0], hex("52") + handle + [0, 0],
                hex("16") + handle + [1, 0, 9], hex("1801"), hex("04") + handle + [0xFF, 0xFF],
                hex("08") + handle + hex("FFFF0328"), hex("10") + handle + hex("FFFF0028"),
                hex("06") + handle + hex("FFFF00280118"),
            ] {
                try check(fixture.send(request), to: request, in: &fixture, mtu: mtu)
            }
        }
    }

    /// Plays the program too, until the request has its response, and validates that.
    private func check(_ sent: [UInt8], to bytes: [UInt8], in fixture: inout ServerFixture, mtu: Int) throws {
        var sent = sent
        while let event = fixture.events.last, fixture.server.isWaitingForProgram {
            #expect(sent.isEmpty)
            switch event {
            case .readRequested(let handle, _):
                sent =
                    handle.rawValue % 3 == 0
                    ? hex(try fixture.refuse(.unlikelyError)) : hex(try fixture.answer("0102030405"))
            case .writeRequested: sent = hex(try fixture.accept())
            default:
                Issue.record("\(event) leaves \([UInt8](bytes).hexadecimal) waiting")
                return
            }
        }
        guard let first = bytes.first, case let opcode = ATTOpcode(first), opcode.type == .request else {
            #expect(sent.isEmpty, "answer to \(bytes.hexadecimal)")
            return
        }
        #expect(!sent.isEmpty && sent.count <= mtu, "no answer to \(bytes.hexadecimal)")
        switch try ATTServerPDU(decoding: sent.span.bytes) {
        case .errorResponse(let error):
            #expect(error.requestOpcode == opcode)
            #expect((error.code == .requestNotSupported) == (opcode.answer == nil))
            if (try? ATTClientPDU(decoding: bytes.span.bytes)) == nil { #expect(error.code == .invalidPDU) }
        case let response:
            #expect(response.opcode == opcode.answer, "answer to \(bytes.hexadecimal)")
        }
    }
}
