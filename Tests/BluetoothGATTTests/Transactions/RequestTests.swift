import BluetoothATT
import TestSupport
import Testing

import BluetoothGATT

/// Core Vol 3 Part F §3.3.2: one outstanding request, and the order of PDUs.
@Suite struct RequestTests {
    @Test("abandoned operations do not count towards the limit")
    func abandonedCallers() {
        let bearer = Bearer(waitingLimit: 2)
        bearer.read(0x0003, "first")
        _ = bearer.send()
        for _ in 0..<5 {
            bearer.read(0x0005).isAbandoned = true
            bearer.command("01").isAbandoned = true
            bearer.indicate("01").isAbandoned = true
        }
        bearer.read(0x0007, "read")
        bearer.command("02", "command")
        bearer.indicate("03", "indication")
        #expect(bearer.endings.list == [])
        bearer.receive("0B")
        #expect(bearer.send() == ["0A0700", "1D030003", "52030002"])
    }

    @Test("one request is outstanding at a time, the others follow in order")
    func oneAtATime() {
        let bearer = Bearer()
        bearer.read(0x0003, "A")
        bearer.read(0x0005, "B")
        bearer.read(0x0007, "C")
        #expect(bearer.send() == ["0A0300"])
        #expect(bearer.send() == [])
        #expect(bearer.receive("0B 01"))
        #expect(bearer.send() == ["0A0500"])
        #expect(bearer.receive("01 0A 0500 02"))
        #expect(bearer.send() == ["0A0700"])
        #expect(bearer.receive("0B 03"))
        #expect(bearer.send() == [])
        #expect(bearer.endings.list == ["A: value 01", "B: refused 02", "C: value 03"])
        #expect(bearer.engine.strayResponseCount == 0)
    }

    @Test("a procedure keeps its turn until its last response")
    func procedureKeepsItsTurn() {
        let bearer = Bearer()
        let long = bearer.read(0x0003)
        let short = bearer.read(0x0005)
        #expect(bearer.send() == ["0A0300"])
        bearer.receive("0B" + String(repeating: "11", count: 22))
        #expect(bearer.send() == ["0C03001600"])
        #expect(long.ending == nil)
        bearer.receive("0D 22")
        #expect(long.ending == "value " + String(repeating: "11", count: 22) + "22")
        #expect(bearer.send() == ["0A0500"])
        #expect(short.ending == nil)
    }

    @Test("each request has a new number, which restarts the timer")
    func numbers() {
        let bearer = Bearer()
        #expect(bearer.engine.requestInFlight == nil)
        bearer.read(0x0003)
        #expect(bearer.offer() == "0A0300")
        #expect(bearer.engine.requestInFlight == nil, "a request that the kernel did not take is not in flight")
        _ = bearer.send()
        let first = bearer.engine.requestInFlight
        #expect(first != nil)
        bearer.receive("0B" + String(repeating: "11", count: 22))
        #expect(bearer.engine.requestInFlight == nil)
        _ = bearer.send()
        #expect(bearer.engine.requestInFlight != nil)
        #expect(bearer.engine.requestInFlight != first)
    }

    @Test("confirmations and responses are sent first, then the request, the indication and the commands")
    func order() {
        let bearer = Bearer()
        bearer.command("01")
        bearer.indicate("02")
        bearer.read(0x0005)
        #expect(bearer.respond(hex("13")))
        bearer.enqueueConfirmation()
        #expect(!bearer.engine.isIdleForMessages)
        #expect(bearer.send() == ["1E", "13", "0A0500", "1D030002", "52030001"])
        #expect(bearer.engine.isIdleForMessages)
    }

    @Test("a command is sent immediately unless a response, a confirmation or another command is pending")
    func idleForMessages() {
        let bearer = Bearer()
        #expect(bearer.engine.isIdleForMessages)
        bearer.read(0x0005)
        bearer.indicate("01")
        #expect(bearer.engine.isIdleForMessages)
        #expect(bearer.respond(hex("13")))
        #expect(!bearer.engine.isIdleForMessages)
        #expect(bearer.sendOne() == "13")
        bearer.enqueueConfirmation()
        #expect(!bearer.engine.isIdleForMessages)
        #expect(bearer.sendOne() == "1E")
        bearer.command("01")
        #expect(!bearer.engine.isIdleForMessages)
        #expect(bearer.send() == ["0A0500", "1D030001", "52030001"])
        #expect(bearer.engine.isIdleForMessages)
    }

    @Test("commands are sent in order, also while a request is outstanding")
    func commands() {
        let bearer = Bearer()
        bearer.read(0x0005, "read")
        #expect(bearer.send() == ["0A0500"])
        #expect(bearer.engine.isIdleForMessages)
        bearer.command("01", "A")
        bearer.command("02", "B")
        #expect(!bearer.engine.isIdleForMessages)
        #expect(bearer.sendOne() == "52030001")
        bearer.command("03", "C")
        #expect(bearer.send() == ["52030002", "52030003"])
        bearer.receive("0B")
        #expect(bearer.endings.list == ["A: sent", "B: sent", "C: sent", "read: value "])
    }

    @Test("a congested channel is offered the same PDU again")
    func fullSocket() {
        let bearer = Bearer()
        let request = bearer.read(0x0005)
        let indication = bearer.indicate("02")
        let command = bearer.command("01")
        _ = bearer.respond(hex("13"))
        bearer.enqueueConfirmation()
        for pdu in ["1E", "13", "0A0500", "1D030002", "52030001"] {
            for _ in 0..<3 { #expect(bearer.offer() == pdu) }
            #expect(bearer.sendOne() == pdu)
        }
        #expect(bearer.offer() == nil)
        #expect([request.ending, indication.ending, command.ending] == [nil, nil, "sent"])
    }

    @Test("responses and confirmations overtake the PDU offered to a congested channel")
    func overtaking() {
        let bearer = Bearer()
        bearer.read(0x0005)
        #expect(bearer.offer() == "0A0500")
        bearer.enqueueConfirmation()
        bearer.enqueueConfirmation()
        #expect(bearer.send() == ["1E", "1E", "0A0500"])
    }

    @Test("an invalid request fails alone, and the next one is sent")
    func invalidRequest() {
        let bearer = Bearer()
        let first = bearer.request(ValueWrite([UInt8](repeating: 0, count: 21), to: 0x0003))
        let second = bearer.request(ReliableWrite([UInt8](repeating: 0, count: 513), to: 0x0003))
        let third = bearer.read(0x0005)
        #expect(bearer.send() == ["0A0500"])
        #expect([first.ending, second.ending, third.ending] == ["invalid", "invalid", nil])
    }

    @Test("an invalid indication or command fails alone, and the next one is sent")
    func invalidMessages() {
        let bearer = Bearer()
        let tooLong = String(repeating: "00", count: 21)
        let messages = [
            bearer.indicate(tooLong), bearer.indicate("01"), bearer.command(tooLong), bearer.command("02"),
        ]
        #expect(bearer.send() == ["1D030001", "52030002"])
        #expect(messages.map(\.ending) == ["invalid", nil, "invalid", "sent"])
    }

    @Test("PDUs have at most the current ATT_MTU, which is never below 23")
    func mtu() {
        let bearer = Bearer()
        bearer.engine.mtu = 247
        bearer.request(ValueWrite([UInt8](repeating: 0, count: 244), to: 0x0003))
        #expect(bearer.sendOne()?.count == 2 * 247)
        bearer.receive("13")
        bearer.engine.mtu = 0
        #expect(bearer.engine.mtu == 23)
        bearer.request(ReliableWrite([UInt8](repeating: 0, count: 40), to: 0x0003))
        #expect(bearer.sendOne()?.count == 2 * 23)
    }

    @Test("one response is accepted at a time, and only if it can be sent")
    func responses() {
        let bearer = Bearer()
        #expect(!bearer.respond([]))
        #expect(!bearer.respond([UInt8](repeating: 0x0B, count: 24)))
        #expect(!bearer.engine.hasResponse)
        #expect(bearer.respond(hex("0B 01")))
        #expect(!bearer.respond(hex("0B 02")))
        #expect(bearer.engine.hasResponse)
        #expect(bearer.send() == ["0B01"])
        #expect(!bearer.engine.hasResponse)
        #expect(bearer.respond(hex("0B 03")))
        #expect(bearer.send() == ["0B03"])
    }

    @Test("the limit of waiting requests excludes the outstanding one, and the next fails immediately")
    func waitingLimit() {
        let bearer = Bearer(waitingLimit: 2)
        bearer.read(0x0001, "1")
        #expect(bearer.send() == ["0A0100"])
        for handle in 2...4 { bearer.read(AttributeHandle(UInt16(handle)), "\(handle)") }
        #expect(bearer.endings.list == ["4: 2 are waiting"])
        bearer.receive("0B")
        #expect(bearer.send() == ["0A0200"])
        let another = bearer.read(0x0005, "5")
        #expect(another.ending == nil)
    }

    @Test("indications and commands beyond the limit fail immediately")
    func waitingLimitOfMessages() {
        let bearer = Bearer(waitingLimit: 2)
        bearer.indicate("00", "indication 0")
        bearer.command("00", "command 0")
        #expect(bearer.send() == ["1D030000", "52030000"])
        for value in ["01", "02", "03"] {
            bearer.indicate(value, "indication \(value)")
            bearer.command(value, "command \(value)")
        }
        #expect(
            bearer.endings.list == ["command 0: sent", "indication 03: 2 are waiting", "command 03: 2 are waiting"])
        #expect(bearer.send() == ["52030001", "52030002"])
    }
}
