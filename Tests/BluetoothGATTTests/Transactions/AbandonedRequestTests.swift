import BluetoothATT
import BluetoothPrimitives
import Testing

@testable import BluetoothGATT

/// A caller that gives up leaves the bearer consistent: the request keeps its place until the response, no late
/// response reaches the next caller, and the peer's prepared writes are cancelled (Core Vol 3 Part F §3.4.6.3).
@Suite struct AbandonedRequestTests {
    /// Twenty bytes: two parts at an ATT_MTU of 23.
    private let longWrite = ReliableWrite([UInt8](0..<20), to: 0x0003)
    static let firstPart = "160300" + "0000" + "000102030405060708090A0B0C0D0E0F1011"
    static let firstEcho = "170300" + "0000" + "000102030405060708090A0B0C0D0E0F1011"
    static let secondPart = "160300" + "1200" + "1213"
    static let secondEcho = "170300" + "1200" + "1213"

    @Test("a waiting request that is abandoned is never sent")
    func whileQueued() {
        let bearer = Bearer()
        bearer.read(0x0003)
        let second = bearer.read(0x0005)
        let third = bearer.request(longWrite)
        bearer.read(0x0007)
        #expect(bearer.send() == ["0A0300"])
        second.isAbandoned = true
        third.isAbandoned = true
        bearer.receive("0B")
        #expect(bearer.send() == ["0A0700"])
        #expect([second.ending, third.ending] == [nil, nil])
    }

    @Test("a request that the congested channel refused is never sent once it is abandoned")
    func whileOffered() {
        let bearer = Bearer()
        let first = bearer.request(longWrite)
        bearer.read(0x0005)
        #expect(bearer.offer() == Self.firstPart)
        first.isAbandoned = true
        #expect(bearer.send() == ["0A0500"])
    }

    @Test(
        "an abandoned outstanding request keeps its place, and its late response reaches no caller",
        arguments: ["0B01", "010A030002"])
    func inFlight(lateAnswer: String) {
        let bearer = Bearer()
        let first = bearer.read(0x0003)
        let second = bearer.read(0x0005)
        #expect(bearer.send() == ["0A0300"])
        first.isAbandoned = true
        #expect(bearer.send() == [])
        #expect(bearer.engine.requestInFlight != nil, "the time limit goes on")
        #expect(bearer.receive(lateAnswer))
        #expect(second.ending == nil)
        #expect(bearer.send() == ["0A0500"])
        bearer.receive("0B 02")
        #expect([first.ending, second.ending] == [nil, "value 02"])
        #expect(bearer.engine.strayResponseCount == 0)
    }

    @Test("an abandoned procedure sends no further request")
    func discovery() {
        let bearer = Bearer()
        let discovery = bearer.request(DatabaseDiscovery())
        bearer.read(0x0005)
        #expect(bearer.send() == ["100100FFFF0028"])
        discovery.isAbandoned = true
        bearer.receive("11 06 0100 0500 0018")
        #expect(bearer.send() == ["0A0500"])
    }

    @Test("prepared writes of an abandoned long write are cancelled before the next request")
    func longWriteInFlight() {
        let bearer = Bearer()
        let write = bearer.request(longWrite)
        let read = bearer.read(0x0005)
        #expect(bearer.send() == [Self.firstPart])
        write.isAbandoned = true
        bearer.receive(Self.firstEcho)
        #expect(bearer.send() == ["1800"])
        #expect(bearer.engine.requestInFlight != nil, "the cancellation has its time limit, too")
        bearer.receive("19")
        #expect(bearer.send() == ["0A0500"])
        bearer.receive("0B 02")
        #expect([write.ending, read.ending] == [nil, "value 02"])
    }

    /// A long write whose first requests were echoed, and a read behind it.
    private func begun(_ echoes: [String]) -> (Bearer, TestRequest<ReliableWrite>) {
        let bearer = Bearer()
        let write = bearer.request(longWrite)
        bearer.read(0x0005)
        for echo in echoes {
            _ = bearer.send()
            bearer.receive(echo)
        }
        return (bearer, write)
    }

    @Test(
        "an abandoned long write cancels its parts, unless the first is refused or they are being executed",
        arguments: [
            ([], firstPart, "01 16 0300 03", "0A0500"), ([firstEcho], secondPart, secondEcho, "1800"),
            ([firstEcho, secondEcho], "1801", "19", "0A0500"),
        ] as [([String], String, String, String)])
    func longWriteOutstanding(_ echoes: [String], _ request: String, _ answer: String, _ next: String) {
        let (bearer, write) = begun(echoes)
        #expect(bearer.send() == [request])
        write.isAbandoned = true
        bearer.receive(answer)
        #expect(bearer.send() == [next])
    }

    @Test(
        "a long write abandoned between two parts, or before its execution, cancels its parts",
        arguments: [([firstEcho], secondPart), ([firstEcho, secondEcho], "1801")])
    func longWriteOffered(_ echoes: [String], _ request: String) {
        let (bearer, write) = begun(echoes)
        #expect(bearer.offer() == request)
        write.isAbandoned = true
        #expect(bearer.offer() == "1800")
        #expect(bearer.send() == ["1800"])
        bearer.receive("01 18 0000 0E")
        #expect(bearer.send() == ["0A0500"], "whatever it answers")
    }

    @Test("a long write abandoned after a wrong echo cancels its parts once", arguments: [true, false])
    func longWriteCancelling(isSent: Bool) {
        let bearer = Bearer()
        let write = bearer.request(longWrite)
        bearer.read(0x0005)
        _ = bearer.send()
        bearer.receive("17 0300 0000 00")
        #expect(write.ending == nil, "the failure is reported after the cancellation")
        if isSent { #expect(bearer.send() == ["1800"]) }
        write.isAbandoned = true
        #expect(bearer.send() == (isSent ? [] : ["1800"]))
        bearer.receive("19")
        #expect(bearer.send() == ["0A0500"])
    }

    @Test("a caller may give up while the response is received")
    func whileReceiving() {
        let bearer = Bearer()
        let write = bearer.request(longWrite)
        write.givesUpWhileReceiving = true
        bearer.read(0x0005)
        #expect(bearer.send() == [Self.firstPart])
        bearer.receive(Self.firstEcho)
        #expect(bearer.send() == ["1800"])
        bearer.receive("19")
        #expect(bearer.send() == ["0A0500"])
        #expect(write.ending == nil)
    }

    @Test("the cancellation keeps its place in a congested channel, even if its caller gives up")
    func cancellationInFullSocket() {
        let bearer = Bearer()
        let write = bearer.request(longWrite)
        _ = bearer.send()
        write.isAbandoned = true
        bearer.receive(Self.firstEcho)
        #expect(bearer.offer() == "1800")
        #expect(bearer.offer() == "1800")
        bearer.command("01")
        #expect(bearer.send() == ["1800", "52030001"])
        bearer.receive("19")
        #expect(bearer.send() == [])
    }

    @Test("a transaction is stopped once and has one last request, whatever it returns", arguments: [true, false])
    func endlessTransaction(isGivenUp: Bool) {
        let bearer = Bearer()
        let endless = EndlessTransaction()
        bearer.engine.submit(endless)
        bearer.read(0x0005)
        #expect(bearer.sendOne() == "0A0300")
        bearer.receive("0B")
        #expect(bearer.sendOne() == "0A0300")
        if isGivenUp {
            endless.isAbandoned = true
            bearer.receive("0B")
        } else {
            bearer.receive("01 0A")
        }
        #expect(bearer.offer() == "0A0300")
        #expect(bearer.send() == ["0A0300"])
        bearer.receive("0B")
        #expect(bearer.send() == ["0A0500"])
        #expect(endless.stopCount == 1)
    }

    @Test("a transaction that fails at its last request has reported its failure before")
    func failureWhileStopping() {
        let bearer = Bearer()
        let transaction = SpeechlessTransaction()
        bearer.engine.submit(transaction)
        bearer.read(0x0005)
        #expect(bearer.sendOne() == "0A0300")
        bearer.receive("01 0A")
        #expect(transaction.endCount == 1)
        #expect(bearer.send() == ["0A0500"])
        #expect(transaction.endCount == 1)
    }

    @Test("abandoned commands and indications that wait are never sent")
    func messages() {
        let bearer = Bearer()
        let messages = [
            bearer.indicate("01"), bearer.indicate("02"), bearer.command("03"), bearer.command("04"),
            bearer.command("05"),
        ]
        #expect(bearer.offer() == "1D030001")
        messages[0].isAbandoned = true
        messages[2].isAbandoned = true
        messages[4].isAbandoned = true
        #expect(bearer.send() == ["1D030002", "52030004"])
        #expect(messages.map(\.ending) == [nil, nil, nil, "sent", nil])
    }
}

/// Always has another request, even after it was stopped, and ignores failures.
private final class EndlessTransaction: ClientTransaction {
    var isAbandoned = false
    private(set) var stopCount = 0

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.readRequest(0x0003), into: &writer)
    }

    func receive(_ answer: ATTServerPDU) -> TransactionStep { .next }

    func stop() -> TransactionStep {
        stopCount += 1
        return .next
    }

    func end(_ failure: TransactionFailure?) {}
}

/// Announces a last request, and has none.
private final class SpeechlessTransaction: ClientTransaction {
    let isAbandoned = false
    private var isStopped = false
    private(set) var endCount = 0

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        if isStopped { throw .invalid("nothing to say") }
        try encode(.readRequest(0x0003), into: &writer)
    }

    func receive(_ answer: ATTServerPDU) -> TransactionStep { .next }

    func stop() -> TransactionStep {
        isStopped = true
        return .next
    }

    func end(_ failure: TransactionFailure?) { endCount += 1 }
}
