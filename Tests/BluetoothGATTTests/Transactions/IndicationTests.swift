import Testing

/// Core Vol 3 Part F §3.3.2: one outstanding indication, independent of requests.
@Suite struct IndicationTests {
    @Test("one indication is outstanding at a time, the others follow in order")
    func oneAtATime() {
        let bearer = Bearer()
        bearer.indicate("01", "A")
        bearer.indicate("02", "B")
        #expect(bearer.send() == ["1D030001"])
        #expect(bearer.engine.indicationInFlight != nil)
        #expect(bearer.send() == [])
        bearer.receive("1E")
        #expect(bearer.engine.indicationInFlight == nil)
        #expect(bearer.send() == ["1D030002"])
        bearer.receive("1E")
        #expect(bearer.send() == [])
        #expect(bearer.endings.list == ["A: confirmed", "B: confirmed"])
    }

    @Test("indications and requests do not wait for each other")
    func independence() {
        let bearer = Bearer()
        bearer.read(0x0003, "read 1")
        bearer.read(0x0005, "read 2")
        bearer.indicate("01", "indication 1")
        bearer.indicate("02", "indication 2")
        #expect(bearer.send() == ["0A0300", "1D030001"])
        #expect(bearer.engine.requestInFlight != bearer.engine.indicationInFlight)
        bearer.receive("1E")
        #expect(bearer.send() == ["1D030002"])
        bearer.receive("0B")
        #expect(bearer.send() == ["0A0500"])
        #expect(bearer.endings.list == ["indication 1: confirmed", "read 1: value "])
    }

    @Test("an unexpected confirmation is ignored")
    func strayConfirmation() {
        let bearer = Bearer()
        bearer.receive("1E")
        let indication = bearer.indicate("01")
        #expect(bearer.offer() == "1D030001")
        // The channel has not accepted the indication yet.
        bearer.receive("1E")
        #expect(indication.ending == nil)
        #expect(bearer.send() == ["1D030001"])
        bearer.receive("1E")
        bearer.receive("1E")
        #expect(indication.ending == "confirmed")
        #expect(bearer.engine.strayResponseCount == 0)
    }

    @Test("an abandoned outstanding indication keeps its place, and its late confirmation is not the next one's")
    func abandoned() {
        let bearer = Bearer()
        let first = bearer.indicate("01")
        let second = bearer.indicate("02")
        #expect(bearer.send() == ["1D030001"])
        first.isAbandoned = true
        #expect(bearer.send() == [])
        bearer.receive("1E")
        #expect([first.ending, second.ending] == [nil, nil])
        #expect(bearer.send() == ["1D030002"])
        bearer.receive("1E")
        #expect(second.ending == "confirmed")
    }

    @Test("every indication of the peer is confirmed once")
    func confirmations() {
        let bearer = Bearer()
        bearer.enqueueConfirmation()
        #expect(bearer.send() == ["1E"])
        bearer.enqueueConfirmation()
        bearer.enqueueConfirmation()
        #expect(bearer.send() == ["1E", "1E"])
        #expect(bearer.send() == [])
    }
}
