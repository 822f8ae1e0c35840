import BluetoothATT
import BluetoothPrimitives
import Testing

import BluetoothGATT

/// The matching of responses to requests (Core Vol 3 Part F §3.3.2, §3.4.1.1).
@Suite struct AnswerTests {
    /// Responses that no Read Request has.
    static let wrongAnswers = [
        "13",  // a Write Response
        "0D 01",  // the response to another kind of read
        "01 12 0300 03",  // an Error Response to another request
        "01 0B 0300 03",  // … to no request
        "01 00 0300 03",
        "01 12 03",  // a malformed Error Response to another request
        "17 0300",  // a malformed response of another kind
        "03 17",
        "09 00",
    ]

    @Test("a response that does not match is dropped, and the true one ends the request", arguments: wrongAnswers)
    func unexpectedResponse(_ answer: String) {
        let bearer = Bearer()
        let first = bearer.read(0x0003)
        let second = bearer.read(0x0005)
        _ = bearer.send()
        for _ in 0..<15 { #expect(bearer.receive(answer)) }
        #expect(bearer.engine.strayResponseCount == 15)
        #expect([first.ending, second.ending] == [nil, nil])
        bearer.receive("0B 07")
        #expect(first.ending == "value 07")
        // The match begins a new row.
        #expect(bearer.send() == ["0A0500"])
        for _ in 0..<15 { #expect(bearer.receive(answer)) }
        bearer.receive("01 0A 0500 02")
        #expect(second.ending?.hasPrefix("refused") == true)
    }

    @Test("a malformed response to the request also ends the row")
    func malformedResponse() {
        let bearer = Bearer()
        let first = bearer.read(0x0003)
        let second = bearer.read(0x0005)
        _ = bearer.send()
        #expect(bearer.receive("01 0A"))
        #expect(first.ending == "violation")
        #expect(bearer.send() == ["0A0500"])
        for _ in 0..<15 { #expect(bearer.receive("13")) }
        bearer.receive("0B 07")
        #expect(second.ending == "value 07")
    }

    @Test("at sixteen in a row the request fails, and the bearer must be closed", arguments: wrongAnswers)
    func tooManyStrays(_ answer: String) {
        let bearer = Bearer()
        let first = bearer.read(0x0003)
        let second = bearer.read(0x0005)
        _ = bearer.send()
        for _ in 0..<15 { #expect(bearer.receive(answer)) }
        #expect(!bearer.receive(answer))
        #expect([first.ending, second.ending] == ["violation", nil])
        #expect(bearer.send() == [])
        bearer.engine.close()
        #expect(second.ending == "closed")
        #expect(bearer.send() == [])
    }

    @Test("a pending response is sent although the ATT_MTU has since become smaller")
    func smallerMTU() {
        let bearer = Bearer()
        bearer.engine.mtu = 100
        let response = [0x0B] + [UInt8](repeating: 7, count: 60)
        #expect(bearer.respond(response))
        bearer.engine.mtu = 23
        bearer.read(0x0003)
        #expect(bearer.send() == [response.hexadecimal, "0A0300"])
    }

    @Test("a stray while an abandoned request is outstanding leaves its place to it")
    func strayAfterAbandoning() {
        let bearer = Bearer()
        let first = bearer.read(0x0003)
        let second = bearer.read(0x0005)
        _ = bearer.send()
        first.isAbandoned = true
        #expect(bearer.receive("13"))
        #expect(bearer.send() == [])
        bearer.receive("0B 01")
        #expect(bearer.send() == ["0A0500"])
        bearer.receive("0B 02")
        #expect([first.ending, second.ending] == [nil, "value 02"])
    }

    @Test("the failure names the response and the request")
    func texts() {
        let bearer = Bearer()
        let request = bearer.read(0x0003)
        _ = bearer.send()
        for _ in 0..<16 { bearer.receive("13") }
        #expect(
            request.failure?.description
                == "the peer violated the protocol: 16 responses in a row to no Read Request, the last a Write Response"
        )
    }

    /// Requests with malformed responses that can only be theirs.
    static let malformedAnswers: [(procedure: any ClientProcedure, answer: String)] = [
        (ValueRead(0x0003), "01"), (ValueRead(0x0003), "01 0A 0300"), (ValueRead(0x0003), "01 0A 0300 03 00"),
        (ValueWrite([1], to: 0x0003), "13 00"), (MTUExchange(offering: 517), "03 17"),
        (MTUExchange(offering: 517), "03 1700 00"), (ServiceDiscovery(), "11"), (ServiceDiscovery(), "11 06"),
        (ServiceDiscovery(), "11 06 0100 0500 00"), (ServiceDiscovery(), "11 03 0100 05"),
        (ServiceDiscovery(uuid: 0x180F), "07 0100"), (CharacteristicDiscovery(in: .all), "09 01 01"),
        (DescriptorDiscovery(in: .all), "05 03 0100 0028"), (DescriptorDiscovery(in: .all), "05 01"),
    ]

    @Test("a malformed response fails only its request, and the next one is sent", arguments: malformedAnswers)
    func malformed(_ procedure: any ClientProcedure, _ answer: String) {
        let bearer = Bearer()
        bearer.engine.mtu = 247
        func submit(_ procedure: some ClientProcedure) { bearer.request(procedure, "first") }
        submit(procedure)
        bearer.read(0x0005, "second")
        _ = bearer.send()
        #expect(bearer.receive(answer))
        #expect(bearer.endings.list == ["first: violation"])
        #expect(bearer.send() == ["0A0500"])
        bearer.receive("0B")
        #expect(bearer.endings.list == ["first: violation", "second: value "])
    }

    @Test("a malformed echo fails the long write, and its parts are cancelled before the next request")
    func malformedEcho() {
        let bearer = Bearer()
        let write = bearer.request(ReliableWrite([1, 2], to: 0x0003))
        let read = bearer.read(0x0005)
        _ = bearer.send()
        #expect(bearer.receive("17 0300"))
        #expect(write.ending == "violation")
        #expect(bearer.send() == ["1800"])
        #expect(bearer.receive("19 00"))
        #expect(bearer.send() == ["0A0500"])
        bearer.receive("0B")
        #expect(read.ending == "value ")
    }

    @Test("a malformed response to an abandoned request reaches no caller")
    func malformedAfterAbandoning() {
        let bearer = Bearer()
        let first = bearer.read(0x0003)
        let second = bearer.read(0x0005)
        _ = bearer.send()
        first.isAbandoned = true
        #expect(bearer.receive("01 0A"))
        #expect([first.ending, second.ending] == [nil, nil])
        #expect(bearer.send() == ["0A0500"])
    }

    @Test("responses without a request are only counted", arguments: ["0B 01", "01 0A 0300 02", "01 0A", "13 00"])
    func stray(_ answer: String) {
        let bearer = Bearer()
        #expect(bearer.receive(answer))
        #expect(bearer.engine.strayResponseCount == 1)

        // A request that the channel has not accepted cannot have a response.
        let read = bearer.read(0x0003)
        #expect(bearer.offer() == "0A0300")
        #expect(bearer.receive(answer))
        #expect(bearer.engine.strayResponseCount == 2)
        #expect(read.ending == nil)

        #expect(bearer.send() == ["0A0300"])
        #expect(bearer.receive("0B 07"))
        #expect(read.ending == "value 07")
        #expect(bearer.receive(answer))
        #expect(bearer.engine.strayResponseCount == 3)
    }
}
