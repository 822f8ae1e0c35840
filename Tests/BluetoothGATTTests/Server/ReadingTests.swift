import BluetoothATT
import BluetoothPrimitives
import Testing

import BluetoothGATT

/// Reads that the program answers; ``ReadingRules`` covers those that the database answers.
@Suite struct ReadingTests {
    @Test("a dynamic value is requested with its handle, and answers the request")
    func dynamicValue() throws {
        var fixture = try ServerFixture()
        #expect(fixture.send("0A 4000") == "")
        guard case .readRequested(let handle, _) = fixture.events.first else {
            Issue.record("no question")
            return
        }
        #expect(handle == 0x0040)
        #expect(fixture.server.isWaitingForProgram)
        #expect(try fixture.answer("0102") == "0B0102")
        #expect(!fixture.server.isWaitingForProgram)

        #expect(fixture.send("0C 4000 0100") == "")
        #expect(try fixture.answer("0102") == "0D02")
        #expect(fixture.send("0C 4000 0300") == "")
        #expect(try fixture.answer("0102") == "010C400007")
        #expect(fixture.send("0C 4000 0300") == "")
        #expect(try fixture.refuse(ATTErrorCode(0x81)) == "010C400081")

        #expect(fixture.send("0E 0300 4000") == "")
        #expect(try fixture.answer("0102") == "0F546573740102")
        #expect(fixture.send("20 4000 0300 4000") == "")
        #expect(try fixture.answer("") == "210000" + "040054657374" + "0000")
    }

    @Test("an invalid answer of the program is an Unlikely Error")
    func badAnswers() throws {
        var fixture = try ServerFixture()
        let tooLong = [UInt8](repeating: 0, count: 513).hexadecimal
        #expect(fixture.send("0A 4000") == "")
        #expect(try fixture.answer(tooLong) == "010A40000E")
    }

    @Test("a repeated answer, or one for another request, sends nothing")
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

    @Test("a request before the response to another is reported, and commands are performed")
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
}
