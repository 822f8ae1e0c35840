import BluetoothAdvertising
import BluetoothPrimitives
import TestSupport
import Testing

/// Passes reports to a joiner and frees their bytes when the call returns.
final class Scanner {
    var joiner: AdvertisementJoiner

    init(deviceLimit: Int = 1024) {
        joiner = AdvertisementJoiner(deviceLimit: deviceLimit)
    }

    func hear(
        _ address: BluetoothAddress?, _ properties: ReceivedReport.Properties, _ data: [UInt8],
        _ status: ReceivedReport.DataStatus = .complete, set: UInt8? = nil
    ) -> JoinedAdvertisement? {
        let report = ReceivedReport(
            address: address, properties: properties, dataStatus: status, advertisingSetID: set, data: data.span.bytes)
        return joiner.receive(report)
    }
}

@Suite struct JoinerTests {
    let one = BluetoothAddress(1, kind: .random)
    let two = BluetoothAddress(2, kind: .random)
    let advertised = hex("020106 1107\(linbleServiceOnTheAir)")
    let answered = hex("0A094C494E424C452D5A31")
    let connectable: ReceivedReport.Properties = [.connectable, .scannable, .legacy]
    let response: ReceivedReport.Properties = [.connectable, .scannable, .scanResponse, .legacy]

    @Test func anAdvertisementIsReturnedImmediatelyAndAgainWithItsScanResponse() throws {
        let scanner = Scanner()
        let first = try #require(scanner.hear(one, connectable, advertised))
        #expect(first.address == one)
        #expect(first.data.services == [linbleService])
        #expect(first.data.localName == nil)
        #expect(first.hasAdvertising && !first.hasScanResponse)
        #expect(first.changes == [.device, .advertising])
        let changes: [JoinedAdvertisement.Changes] = [.device, .advertising, .scanResponse, .properties]
        #expect(changes.map(\.rawValue) == [1, 2, 4, 8])
        #expect(first.isConnectable)

        let second = try #require(scanner.hear(one, response, answered))
        #expect(second.data == AdvertisementData(advertising: advertised, scanResponse: answered))
        #expect(second.data.localName == "LINBLE-Z1")
        #expect(second.hasScanResponse)
        #expect(second.changes == [.scanResponse])
        #expect(second.properties == connectable)

        let third = try #require(scanner.hear(one, connectable, advertised))
        #expect(third.data == second.data)
        #expect(third.changes == [])
        #expect(scanner.hear(one, response, answered)?.changes == [])
        #expect(scanner.joiner.count == 1)
    }

    @Test func eachPayloadIsReplacedByItsNewestAndTheOtherStays() throws {
        let scanner = Scanner()
        _ = scanner.hear(one, connectable, advertised)
        _ = scanner.hear(one, response, answered)
        let changed = try #require(scanner.hear(one, connectable, hex("020105")))
        #expect(changed.changes == [.advertising])
        #expect(changed.data == AdvertisementData(advertising: hex("020105"), scanResponse: answered))
        let renamed = try #require(scanner.hear(one, response, hex("03095A32")))
        #expect(renamed.changes == [.scanResponse])
        #expect(renamed.data == AdvertisementData(advertising: hex("020105"), scanResponse: hex("03095A32")))
        let silenced = try #require(scanner.hear(one, response, []))
        #expect(silenced.changes == [.scanResponse])
        #expect(silenced.hasScanResponse)
        #expect(silenced.data.localName == nil)
    }

    @Test func aScanResponseMayComeFirst() throws {
        let scanner = Scanner()
        let first = try #require(scanner.hear(one, [.scanResponse, .legacy], answered))
        #expect(first.changes == [.device, .scanResponse])
        #expect(!first.hasAdvertising && first.hasScanResponse)
        #expect(!first.isConnectable)
        let second = try #require(scanner.hear(one, connectable, advertised))
        #expect(second.changes == [.advertising])
        #expect(second.isConnectable)
        #expect(second.data.localName == "LINBLE-Z1")
    }

    @Test func devicesAreNotMixed() throws {
        let scanner = Scanner()
        let publicOne = BluetoothAddress(1, kind: .public)
        _ = scanner.hear(one, connectable, advertised)
        #expect(scanner.hear(two, response, answered)?.data.services == [])
        #expect(scanner.hear(publicOne, response, answered)?.data.services == [])
        #expect(scanner.hear(one, response, [], set: 0)?.data.services == [])
        #expect(scanner.joiner.count == 4)
        #expect(scanner.hear(one, response, answered)?.data.services == [linbleService])
    }

    @Test func fragmentsAreJoinedDespiteInterleaving() throws {
        let scanner = Scanner()
        let whole = hex("05FFA6070102 05FFA6070304 05FFA6070506")
        #expect(scanner.hear(one, .connectable, Array(whole[..<7]), .more, set: 3) == nil)
        #expect(scanner.hear(two, .connectable, hex("0201"), .more, set: 3) == nil)
        #expect(scanner.hear(one, .connectable, hex("020106"), set: 4)?.data.flags != nil)
        #expect(scanner.hear(one, .connectable, Array(whole[7..<11]), .more, set: 3) == nil)
        #expect(scanner.hear(one, connectable, advertised)?.changes == [.device, .advertising])
        #expect(scanner.hear(one, [.connectable, .scanResponse], hex("0309"), .more, set: 3) == nil)
        let joined = try #require(scanner.hear(one, .connectable, Array(whole[11...]), set: 3))
        #expect(joined.data.advertising == whole)
        #expect(joined.advertisingSetID == 3)
        #expect(!joined.isTruncated)
        #expect(joined.changes == [.device, .advertising])
        #expect(scanner.hear(two, .connectable, hex("06"), set: 3)?.data.advertising == hex("020106"))
        let answer = try #require(scanner.hear(one, [.connectable, .scanResponse], hex("4142"), set: 3))
        #expect(answer.data == AdvertisementData(advertising: whole, scanResponse: hex("03094142")))
        // The same payload in one report is no change.
        #expect(scanner.hear(one, .connectable, whole, set: 3)?.changes == [])
    }

    @Test func aTruncatedPayloadIsReturnedAndMarked() throws {
        let scanner = Scanner()
        #expect(scanner.hear(one, .connectable, hex("020106 0A09"), .more, set: 0) == nil)
        let cut = try #require(scanner.hear(one, .connectable, hex("4142"), .truncated, set: 0))
        #expect(cut.isTruncated)
        #expect(cut.data.flags != nil)
        #expect(cut.data.problems.count == 1)
        #expect(cut.description.contains("truncated"))
        let whole = try #require(scanner.hear(one, .connectable, hex("020106"), set: 0))
        #expect(!whole.isTruncated)
        #expect(whole.changes == [.advertising])
        let other = try #require(scanner.hear(one, .connectable, hex("020105"), .truncated, set: 0))
        #expect(other.changes == [.advertising])
        #expect(other.isTruncated)
    }

    @Test func aTruncatedRepetitionIsNoChange() throws {
        let scanner = Scanner()
        let whole = hex("020106 03094142")
        _ = scanner.hear(one, .connectable, whole, set: 0)
        for count in 0...whole.count {
            let cut = try #require(scanner.hear(one, .connectable, Array(whole.prefix(count)), .truncated, set: 0))
            #expect(cut.changes == [])
            #expect(cut.data.advertising == whole)
            #expect(!cut.isTruncated)
        }
        #expect(scanner.hear(one, .connectable, hex("020106"), set: 0)?.changes == [.advertising])
    }

    @Test func partsFromBeforeAPauseAreNotCompletedAfterIt() throws {
        let scanner = Scanner()
        #expect(scanner.hear(one, [], hex("020106"), .more, set: 0) == nil)
        #expect(scanner.hear(two, [], hex("0A09"), .more, set: 0) == nil)
        scanner.joiner.removeFragments()
        let next = try #require(scanner.hear(one, [], hex("03094142"), set: 0))
        #expect(next.data.advertising == hex("03094142"))
        #expect(scanner.hear(two, [], hex("0309"), .more, set: 0) == nil)
        #expect(scanner.hear(two, [], hex("4142"), set: 0)?.data.advertising == hex("03094142"))
    }

    @Test func partsAreVoidHoweverManyPausesFollow() throws {
        let scanner = Scanner()
        #expect(scanner.hear(one, [], hex("020106"), .more, set: 0) == nil)
        for _ in 0..<256 { scanner.joiner.removeFragments() }
        #expect(scanner.hear(one, [], hex("03094142"), set: 0)?.data.advertising == hex("03094142"))
    }

    @Test func raisingTheLimitKeepsTheDevices() throws {
        let scanner = Scanner(deviceLimit: 1)
        _ = scanner.hear(one, connectable, advertised)
        scanner.joiner.raiseDeviceLimit(to: 2)
        scanner.joiner.raiseDeviceLimit(to: 1)
        #expect(scanner.joiner.deviceLimit == 2)
        _ = scanner.hear(two, connectable, advertised)
        #expect(scanner.hear(one, connectable, advertised)?.changes == [])
        #expect(scanner.joiner.evictedCount == 0)
    }

    @Test func morePartsThanAPayloadCanHaveAreCutAndTheNextPayloadIsWhole() throws {
        let scanner = Scanner()
        let part = [UInt8](repeating: 1, count: 229)
        for _ in 0..<1000 { #expect(scanner.hear(one, [], part, .more, set: 0) == nil) }
        let cut = try #require(scanner.hear(one, [], part, set: 0))
        #expect(cut.data.advertising.count == 1650)
        #expect(cut.isTruncated)
        let next = try #require(scanner.hear(one, [], hex("020106"), set: 0))
        #expect(next.data.advertising == hex("020106"))
        #expect(!next.isTruncated)
        let giant = try #require(scanner.hear(one, [], [UInt8](repeating: 1, count: 5000), set: 0))
        #expect(giant.data.advertising.count == 1650)
        #expect(giant.isTruncated)
        let fullest = try #require(scanner.hear(one, [], [UInt8](repeating: 1, count: 1650), set: 0))
        #expect(fullest.data.advertising.count == 1650)
        #expect(!fullest.isTruncated)
    }

    @Test func directedLegacyPacketsKeepThePayload() throws {
        let scanner = Scanner()
        _ = scanner.hear(one, connectable, advertised)
        let directed = try #require(scanner.hear(one, [.connectable, .directed, .legacy], []))
        #expect(directed.data.services == [linbleService])
        #expect(directed.changes == [.properties])
        #expect(scanner.hear(two, [.connectable, .directed, .legacy], [])?.changes == [.device, .advertising])
    }

    @Test func aDeviceThatStopsAcceptingConnectionsIsNews() {
        let scanner = Scanner()
        _ = scanner.hear(one, connectable, advertised)
        let changed = scanner.hear(one, [.scannable, .legacy], advertised)
        #expect(changed?.changes == [.properties])
        #expect(changed?.isConnectable == false)
    }

    @Test func anonymousAdvertisementsAreJoinedButNotStored() throws {
        let scanner = Scanner()
        #expect(scanner.hear(nil, [], hex("0201"), .more, set: 1) == nil)
        let first = try #require(scanner.hear(nil, [], hex("06"), set: 1))
        #expect(first.address == nil)
        #expect(first.data.advertising == hex("020106"))
        #expect(first.description.hasPrefix("anonymous set 1"))
        let again = try #require(scanner.hear(nil, [], hex("020106"), set: 1))
        #expect(again.changes == [.device, .advertising])
        #expect(scanner.hear(BluetoothAddress.zero, [], hex("020106"), set: 1)?.changes == [.device, .advertising])
    }

    @Test func theLeastRecentDeviceIsEvictedFirst() throws {
        let scanner = Scanner(deviceLimit: 3)
        func device(_ number: UInt64) -> BluetoothAddress { BluetoothAddress(number, kind: .random) }
        for number in 1...3 as ClosedRange<UInt64> { _ = scanner.hear(device(number), connectable, advertised) }
        _ = scanner.hear(device(1), response, answered)
        #expect(scanner.joiner.evictedCount == 0)
        #expect(scanner.hear(device(4), connectable, advertised)?.changes == [.device, .advertising])
        #expect(scanner.joiner.count == 3)
        #expect(scanner.joiner.evictedCount == 1)
        #expect(scanner.hear(device(1), connectable, advertised)?.data.localName == "LINBLE-Z1")
        #expect(scanner.hear(device(3), connectable, advertised)?.changes == [])
        #expect(scanner.hear(device(2), connectable, advertised)?.changes == [.device, .advertising])
        #expect(scanner.joiner.evictedCount == 2)
        #expect(scanner.hear(device(4), connectable, advertised)?.changes == [.device, .advertising])
        #expect(scanner.joiner.evictedCount == 3)
    }

    @Test(arguments: [-1, 0, 1]) func atLeastOneDeviceIsStored(_ limit: Int) {
        let scanner = Scanner(deviceLimit: limit)
        #expect(scanner.joiner.deviceLimit == 1)
        _ = scanner.hear(one, connectable, advertised)
        #expect(scanner.hear(one, connectable, advertised)?.changes == [])
        _ = scanner.hear(two, connectable, advertised)
        #expect(scanner.hear(one, connectable, advertised)?.changes == [.device, .advertising])
        #expect(scanner.joiner.count == 1)
        #expect(scanner.joiner.evictedCount == 2)
    }

    @Test(.seeded) func manyDevicesStayWithinTheBound() {
        let scanner = Scanner(deviceLimit: 16)
        var generator = SeededGenerator()
        var last: [UInt64] = []
        for _ in 0..<5000 {
            let number = UInt64.random(in: 0..<40, using: &generator)
            let joined = scanner.hear(BluetoothAddress(number, kind: .random), connectable, advertised)
            let wasRemembered = last.contains(number)
            #expect(joined?.changes == (wasRemembered ? [] : [.device, .advertising]))
            last.removeAll { $0 == number }
            last.append(number)
            if last.count > 16 { last.removeFirst() }
            guard scanner.joiner.count == last.count else {
                Issue.record("\(scanner.joiner.count) devices instead of \(last.count)")
                return
            }
        }
    }

    @Test func removingAllDropsFragments() throws {
        let scanner = Scanner()
        _ = scanner.hear(one, connectable, advertised)
        #expect(scanner.hear(two, [], hex("0201"), .more, set: 0) == nil)
        scanner.joiner.removeAll()
        #expect(scanner.joiner.count == 0)
        #expect(scanner.joiner.evictedCount == 0)
        let joined = try #require(scanner.hear(two, [], hex("020106"), set: 0))
        #expect(joined.data.advertising == hex("020106"))
        #expect(scanner.hear(one, connectable, advertised)?.changes == [.device, .advertising])
    }

    @Test func aCopyOfTheJoinerIsIndependent() {
        let scanner = Scanner()
        _ = scanner.hear(one, connectable, advertised)
        let copy = Scanner()
        copy.joiner = scanner.joiner
        _ = copy.hear(one, connectable, hex("020104"))
        #expect(scanner.hear(one, connectable, advertised)?.changes == [])
    }

    @Test func reportsHaveDescriptions() {
        let data = hex("020106")
        let report = ReceivedReport(
            address: one, properties: connectable, advertisingSetID: 2, data: data.span.bytes)
        let text = report.description
        #expect(text == "00:00:00:00:00:01 set 2 [connectable scannable legacy] complete: 020106")
        #expect(ReceivedReport.Properties(rawValue: 0xFFFF).rawValue == 0x1F)
    }
}
