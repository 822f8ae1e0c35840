import BluetoothATT
import TestSupport
import Testing

/// The rules of a bearer, as tables of packets.
@Suite struct ATTBearerCoreTests {
    @Test("a request, its response, and its timer")
    func request() throws {
        let bearer = try CoreFixture()
        bearer.read(0x0003, "A")
        bearer.read(0x0005, "B")
        #expect(bearer.run() == ["0A0300", "request timer on"])
        #expect(bearer.receive("0B 01") == ["0A0500", "request timer on"])
        #expect(bearer.receive("01 0A 0500 0A") == ["request timer off"])
        #expect(bearer.endings.list == ["A: value 01", "B: refused 0A"])
    }

    @Test("a request that reports its beginning does so once the channel has accepted it")
    func beginning() throws {
        let bearer = try CoreFixture()
        bearer.channel = .isFull
        bearer.read(0x0003, "A", reportsBeginning: true)
        #expect(bearer.run() == ["full"])
        #expect(bearer.becomeWritable() == ["0A0300", "began", "request timer on"])
    }

    @Test("values go to the owner, and indications are confirmed")
    func values() throws {
        let bearer = try CoreFixture()
        #expect(bearer.receive("1B 0300 01") == ["\(ATTOpcode.handleValueNotification)"])
        #expect(bearer.receive("1D 0300 01") == ["\(ATTOpcode.handleValueIndication)", "1E"])
        #expect(bearer.receive("23 0300 0100 01 0500 0100 02") == ["\(ATTOpcode.multipleHandleValueNotification)"])
        #expect(bearer.receive("1B 03") == ["malformed"])
        #expect(bearer.receive("") == [])
    }

    @Test("local values are sent to a subscribed client, and fail otherwise")
    func updates() throws {
        let bearer = try CoreFixture()
        bearer.notify("01")
        bearer.indicate("02")
        #expect(bearer.run() == [])
        #expect(bearer.endings.list.sorted() == ["indication: not sendable", "notification: not sendable"])
        #expect(bearer.receive("12 0700 0300") == ["13"])
        bearer.notify("01", "N")
        bearer.indicate("02", "I")
        bearer.indicate("03", "J")
        #expect(bearer.run() == ["1D060002", "1B060001", "indication timer on"])
        #expect(bearer.receive("0A 0300") == ["0B54657374"], "requests do not wait for a confirmation")
        #expect(bearer.receive("1E") == ["1D060003", "indication timer on"])
        #expect(bearer.receive("1E") == ["indication timer off"])
        #expect(bearer.endings.list.suffix(3) == ["N: sent", "I: confirmed", "J: confirmed"])
    }

    @Test("a new ATT_MTU is in force once the response is sent, and an enhanced bearer refuses the exchange")
    func exchange() throws {
        let bearer = try CoreFixture()
        bearer.channel = .isFull
        #expect(bearer.receive("02 F700") == ["full", "reading off"])
        #expect(bearer.core.mtu == 23)
        #expect(bearer.becomeWritable() == ["030502", "reading on"])
        #expect(bearer.core.mtu == 247)
        let enhanced = try CoreFixture(isEnhanced: true)
        #expect(enhanced.receive("02 F700") == ["0102000006"])
        #expect(enhanced.core.mtu == 23)
    }

    @Test("a request before the response to the last one is reported and has no response")
    func outOfTurn() throws {
        let bearer = try CoreFixture()
        bearer.channel = .isFull
        bearer.receive("0A 0600")
        #expect(bearer.receive("0A 0300") == [])
        #expect(bearer.events == [.requestOutOfTurn(.readRequest)])
        #expect(bearer.becomeWritable() == ["0B64", "reading on"])
        #expect(bearer.receive("0A 4000") == [])
        #expect(bearer.receive("0A 0300") == [])
        #expect(bearer.events == [.requestOutOfTurn(.readRequest)])
        bearer.giveUp()
        #expect(bearer.run() == ["010A40000E"])
    }

    @Test("the program answers reads and writes in its own time")
    func program() throws {
        let bearer = try CoreFixture()
        #expect(bearer.receive("0A 4000") == [])
        bearer.read(0x0003)
        #expect(bearer.run() == ["0A0300", "request timer on"])
        bearer.answer([1, 2])
        #expect(bearer.run() == ["0B0102"])
        #expect(bearer.receive("12 4000 07") == [])
        bearer.accept()
        #expect(bearer.run() == ["13"])
    }

    @Test("one Service Changed indication covers all pending changes and precedes values")
    func serviceChanged() throws {
        let bearer = try CoreFixture()
        bearer.change(1, 3)
        #expect(bearer.run() == [], "not subscribed")
        bearer.receive("12 FFFF 0200")
        bearer.receive("12 0700 0200")
        bearer.channel = .isFull
        bearer.indicate("01")
        bearer.change(0x10, 0x20)
        bearer.change(0x04, 0x12)
        #expect(bearer.run() == ["full"])
        bearer.change(0x30, 0x40)
        #expect(bearer.becomeWritable() == ["1DFEFF04004000", "indication timer on"])
        #expect(!bearer.core.server.client.isChangeAware)
        #expect(bearer.receive("1E") == ["client changed", "1D060001", "indication timer on"])
        #expect(bearer.core.server.client.isChangeAware)
        bearer.change(5, 5)
        bearer.change(7, 7)
        #expect(bearer.receive("1E") == ["1DFEFF05000700", "indication timer on"])
        bearer.change(8, 8)
        #expect(bearer.receive("1E") == ["client changed", "1DFEFF08000800", "indication timer on"])
        #expect(!bearer.core.server.client.isChangeAware, "not of the last change")
    }

    @Test("nothing begins while the channel holds that, and answers are sent")
    func held() throws {
        let bearer = try CoreFixture()
        bearer.receive("12 0700 0300")
        bearer.read(0x0003)
        bearer.indicate("01")
        bearer.run()
        bearer.channel = .takesAnswers
        #expect(bearer.command([1]))
        bearer.read(0x0005)
        bearer.submitCommand("01")
        #expect(!bearer.command([1]))
        #expect(bearer.run() == ["held"])
        #expect(bearer.receive("0B 01") == ["request timer off"])
        #expect(bearer.receive("0A 0600") == ["0B64"], "the peer waits for it")
        #expect(bearer.receive("1E") == ["indication timer off"])
        #expect(bearer.run() == [])
        #expect(bearer.becomeWritable() == ["0A0500", "52030001", "request timer on"])
    }

    @Test("unsent PDUs wait until the channel is writable")
    func full() throws {
        let bearer = try CoreFixture()
        bearer.channel = .isFull
        bearer.read(0x0003)
        #expect(bearer.run() == ["full"])
        #expect(bearer.core.isCongested == true)
        #expect(bearer.becomeWritable() == ["0A0300", "request timer on"])

        let held = try CoreFixture()
        held.channel = .isFull
        held.core.channelHolds()
        #expect(held.receive("0A 0600") == ["full", "reading off"], "an answer is sent all the same")
    }

    @Test("sixteen wrong responses and a timeout close the bearer, and all waiting operations fail")
    func failures() throws {
        let bearer = try CoreFixture()
        #expect(bearer.receive("0B 01") == [], "a stray response has no effect")
        bearer.read(0x0003, "A")
        bearer.read(0x0005, "B")
        bearer.run()
        for _ in 0..<15 { #expect(bearer.receive("13") == []) }
        #expect(bearer.receive("13") == ["close", "request timer off"])
        #expect(bearer.endings.list == ["A: violation", "B: closed"])

        let late = try CoreFixture()
        late.read(0x0003, "A")
        late.submitCommand("01", "C")
        late.read(0x0005, "B")
        late.run()
        late.timeOut()
        #expect(late.run() == ["close", "request timer off"])
        #expect(late.endings.list == ["C: sent", "A: timed out", "B: closed"])
        late.read(0x0003, "D")
        #expect(late.run() == [])
        #expect(late.endings.list.last == "D: closed")
    }

    @Test("the outstanding transactions of both sides at the end")
    func outstanding() throws {
        let bearer = try CoreFixture()
        #expect(bearer.core.outstandingAtEnd().isEmpty)
        bearer.read(0x0003)
        bearer.run()
        bearer.receive("16 4000 0000 01")
        #expect(bearer.core.outstandingAtEnd() == OutstandingTransactions(request: .readRequest, isPeerWaiting: true))
        #expect(bearer.core.close().isPeerWaiting)
        #expect(bearer.core.outstandingAtEnd() == OutstandingTransactions(isPeerWaiting: true))
        let wrong = try CoreFixture()
        wrong.read(0x0003)
        wrong.run()
        for _ in 0..<15 { #expect(wrong.receive("13") == []) }
        _ = try wrong.core.receive(hex("13").span.bytes)
        #expect(wrong.core.close(.unexpectedResponse(.writeResponse)) == OutstandingTransactions(request: .readRequest))
    }
}
