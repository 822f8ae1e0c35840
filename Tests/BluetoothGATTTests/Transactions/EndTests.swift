import BluetoothATT
import TestSupport
import Testing

import BluetoothGATT

/// Core Vol 3 Part F §3.3.3: all waiting operations end with the bearer, and nothing is sent after it.
@Suite struct EndTests {
    /// A bearer with one outstanding and one waiting operation of each kind.
    private func busyBearer(indicationFirst: Bool = false) -> Bearer {
        let bearer = Bearer()
        if indicationFirst {
            bearer.indicate("01", "indication 1")
            _ = bearer.send()
        }
        bearer.read(0x0003, "read 1")
        _ = bearer.send()
        if !indicationFirst { bearer.indicate("01", "indication 1") }
        _ = bearer.send()
        bearer.read(0x0005, "read 2")
        bearer.read(0x0007, "read 3")
        bearer.indicate("02", "indication 2")
        bearer.command("01", "command 1")
        bearer.command("02", "command 2")
        bearer.enqueueConfirmation()
        _ = bearer.respond(hex("13"))
        return bearer
    }

    private let waiting = [
        "read 2: closed", "read 3: closed", "indication 2: closed", "command 1: closed", "command 2: closed",
    ]

    private func checkEnded(_ bearer: Bearer) {
        #expect(bearer.engine.isClosed)
        #expect(bearer.engine.requestInFlight == nil)
        #expect(bearer.engine.indicationInFlight == nil)
        #expect(!bearer.engine.hasResponse)
        #expect(!bearer.engine.isIdleForMessages)
        let endings = bearer.endings.list
        #expect(bearer.send() == [])

        // Later operations are refused.
        bearer.enqueueConfirmation()
        #expect(!bearer.respond(hex("13")))
        bearer.receive("0B 01")
        bearer.receive("1E")
        bearer.receive("01 0A")
        bearer.engine.timeOut()
        bearer.engine.close()
        #expect(bearer.send() == [])
        #expect(bearer.endings.list == endings)

        bearer.read(0x0009, "late read")
        bearer.indicate("09", "late indication")
        bearer.command("09", "late command")
        #expect(bearer.send() == [])
        #expect(
            bearer.endings.list == endings
                + ["late read: closed", "late indication: closed", "late command: closed"])
    }

    @Test("closing ends all waiting operations in order")
    func close() {
        let bearer = busyBearer()
        bearer.engine.close()
        #expect(bearer.endings.list == ["read 1: closed", "indication 1: closed"] + waiting)
        checkEnded(bearer)
    }

    @Test("a response timeout fails the outstanding request as timed out and ends all other operations")
    func requestTimeOut() {
        let bearer = busyBearer()
        bearer.engine.timeOut()
        #expect(bearer.endings.list == ["read 1: timed out", "indication 1: closed"] + waiting)
        checkEnded(bearer)
    }

    @Test("a confirmation timeout fails the outstanding indication as timed out and ends all other operations")
    func indicationTimeOut() {
        let bearer = busyBearer(indicationFirst: true)
        bearer.engine.timeOut()
        #expect(bearer.endings.list == ["indication 1: timed out", "read 1: closed"] + waiting)
        checkEnded(bearer)
    }

    @Test("a single indication can time out too")
    func indicationAlone() {
        let bearer = Bearer()
        bearer.indicate("01", "indication")
        bearer.read(0x0003, "read")
        _ = bearer.send()
        bearer.receive("0B")
        bearer.engine.timeOut()
        #expect(bearer.endings.list == ["read: value ", "indication: timed out"])
    }

    @Test("an abandoned request counts too: its timeout ends the bearer")
    func abandonedTimeOut() {
        let bearer = Bearer()
        let first = bearer.read(0x0003, "first")
        bearer.read(0x0005, "second")
        _ = bearer.send()
        first.isAbandoned = true
        bearer.engine.timeOut()
        #expect(bearer.endings.list == ["second: closed"])
        checkEnded(bearer)
    }

    @Test("a request that a congested channel never accepted does not time out, it ends with the bearer")
    func offeredTimeOut() {
        let bearer = Bearer()
        bearer.read(0x0003, "read")
        bearer.indicate("01", "indication")
        #expect(bearer.offer() == "0A0300")
        bearer.engine.timeOut()
        #expect(bearer.endings.list == ["read: closed", "indication: closed"])
        checkEnded(bearer)
    }

    @Test("a PDU accepted at the moment of the end changes nothing")
    func closedWhileSending() {
        let update = TestMessage("01", "sent", "", Endings())
        let kinds: [TransactionEngine.Outgoing] = [
            .confirmation, .response, .request, .serviceChanged, .indication(update), .notification(update), .command,
        ]
        for kind in kinds {
            let bearer = busyBearer()
            bearer.engine.close()
            bearer.engine.didSend(kind)
            checkEnded(bearer)
        }
    }

    @Test("an idle bearer ends without results")
    func idle() {
        let bearer = Bearer()
        bearer.engine.close()
        #expect(bearer.endings.list == [])
        checkEnded(bearer)
    }

    @Test("failures have descriptions")
    func descriptions() {
        let refusal = ATTError(requestOpcode: .readRequest, handle: 0x0003, code: .readNotPermitted)
        let texts: [(TransactionFailure, String)] = [
            (.refused(refusal), "\(refusal)"),
            (.violation("it did this"), "the peer violated the protocol: it did this"),
            (.invalid("no such thing"), "no such thing"),
            (.timedOut, "no response within 30.0 seconds"),
            (.closed, "the bearer is closed"),
            (.tooManyWaiting(7), "7 calls are already waiting"),
        ]
        for (failure, text) in texts { #expect(failure.description == text) }
    }
}
