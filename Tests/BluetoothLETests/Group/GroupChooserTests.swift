import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// The choice of an adapter, by tables.
@Suite struct GroupChooserTests {
    private typealias Candidate = GroupChooser.Candidate
    private typealias Decision = GroupChooser.Decision

    private static func next(
        _ candidates: [Candidate], after outcomes: [(GroupChooser.AttemptOutcome, Int)] = [], waits: Bool = false
    ) -> Decision {
        var chooser = GroupChooser(waitsForAdapter: waits, waitsForRoom: waits)
        for (outcome, id) in outcomes { chooser.record(outcome, of: id) }
        return chooser.next(candidates)
    }

    @Test func theBestSignalWithRoomConnects() {
        let table: [([Candidate], Decision)] = [
            ([Candidate(id: 1, rssi: -80), Candidate(id: 2, rssi: -50)], .connect(2)),
            ([Candidate(id: 1, rssi: -50), Candidate(id: 2, rssi: -80)], .connect(1)),
            // About the same signal: the fewest links, then the better signal, then the first.
            ([Candidate(id: 1, rssi: -50, linkCount: 3), Candidate(id: 2, rssi: -54)], .connect(2)),
            ([Candidate(id: 1, rssi: -50, linkCount: 3), Candidate(id: 2, rssi: -56)], .connect(1)),
            ([Candidate(id: 1, rssi: -53), Candidate(id: 2, rssi: -50)], .connect(2)),
            ([Candidate(id: 1, rssi: -50), Candidate(id: 2, rssi: -50)], .connect(1)),
            // A full one is tried only if there is no other.
            ([Candidate(id: 1, rssi: -50, isFull: true), Candidate(id: 2, rssi: -90)], .connect(2)),
            ([Candidate(id: 1, rssi: -50, isFull: true), Candidate(id: 2)], .race([2])),
            ([Candidate(id: 1, rssi: -50, isFull: true), Candidate(id: 2, rssi: -90, isFull: true)], .connect(1)),
            // One that does not receive the device comes after one that does.
            ([Candidate(id: 1), Candidate(id: 2, rssi: -99)], .connect(2)),
            // Nothing is known of the device.
            ([Candidate(id: 1), Candidate(id: 2), Candidate(id: 3, isReady: false)], .race([1, 2])),
            // There is no choice.
            ([Candidate(id: 1, rssi: -50), Candidate(id: 2, isReady: false, rssi: -40)], .race([1])),
            ([], .fail),
            ([Candidate(id: 1, isReady: false)], .fail),
        ]
        for (candidates, step) in table { #expect(Self.next(candidates) == step, "\(candidates)") }
    }

    @Test func aBondDecides() {
        let table: [([Candidate], Bool, Decision)] = [
            ([Candidate(id: 1, rssi: -50), Candidate(id: 2, hasBond: true, rssi: -90)], false, .race([2])),
            ([Candidate(id: 1, rssi: -50), Candidate(id: 2, isReady: false, hasBond: true)], false, .fail),
            ([Candidate(id: 1, rssi: -50), Candidate(id: 2, isReady: false, hasBond: true)], true, .waitForAdapter),
            (
                [Candidate(id: 1, hasBond: true, rssi: -70), Candidate(id: 2, hasBond: true, rssi: -50)], false,
                .connect(2)
            ),
        ]
        for (candidates, waits, step) in table { #expect(Self.next(candidates, waits: waits) == step, "\(candidates)") }
        let full = [Candidate(id: 1), Candidate(id: 2, hasBond: true, isFull: true)]
        #expect(Self.next(full, after: [(.full, 2)]) == .fail)
        #expect(Self.next(full, after: [(.full, 2)], waits: true) == .waitForRoom([2]))
    }

    @Test func anAdapterWithALinkHasIt() {
        let linked = [Candidate(id: 1, rssi: -50), Candidate(id: 2, hasLink: true, rssi: -90, isFull: true)]
        #expect(Self.next(linked) == .race([2]))
        #expect(Self.next(linked + [Candidate(id: 3, hasBond: true)]) == .race([2]))
    }

    @Test func aSliceIsAThirdAndAtMostTenSeconds() {
        #expect(GroupChooser.slice(of: .seconds(6)) == .seconds(2))
        #expect(GroupChooser.slice(of: .seconds(60)) == .seconds(10))
        #expect(GroupChooser.slice(of: nil) == .seconds(10))
    }

    @Test func aFailureGoesToTheNext() {
        let both = [Candidate(id: 1, rssi: -50), Candidate(id: 2, rssi: -80)]
        #expect(Self.next(both, after: [(.unreachable, 1)]) == .connect(2))
        // After that, all wait for the device.
        #expect(Self.next(both, after: [(.unreachable, 1), (.unreachable, 2)]) == .race([1, 2]))
        #expect(Self.next(both, after: [(.full, 1)]) == .connect(2))
        #expect(Self.next(both, after: [(.full, 1), (.unreachable, 2)]) == .race([2]))
        #expect(Self.next(both, after: [(.full, 1), (.full, 2)]) == .fail)
        #expect(Self.next(both, after: [(.full, 1), (.full, 2)], waits: true) == .waitForRoom([1, 2]))
        #expect(Self.next(both, after: [(.left, 1)]) == .race([2]))
        #expect(Self.next(both, after: [(.left, 1), (.left, 2)]) == .fail)
        #expect(Self.next(both, after: [(.left, 1), (.left, 2)], waits: true) == .waitForAdapter)
        #expect(Self.next(both, after: [(.left, 1), (.full, 2)], waits: true) == .waitForRoom([2]))
    }

    @Test func changesMakeAdaptersCandidatesAgain() {
        let both = [Candidate(id: 1, rssi: -50), Candidate(id: 2, rssi: -80)]
        var chooser = GroupChooser(waitsForAdapter: false, waitsForRoom: false)
        chooser.record(.left, of: 1)
        chooser.record(.full, of: 2)
        #expect(chooser.next(both) == .fail)
        chooser.adaptersChanged()
        #expect(chooser.next(both) == .connect(1))
        chooser.record(.unreachable, of: 1)
        chooser.roomChanged(at: 2)
        #expect(chooser.next(both) == .connect(2))
    }

    /// Every combination of two adapters and of outcomes ends within a few steps, unless it waits.
    @Test func everyInputInEveryStateLeadsToAnEnd() {
        let signals: [Int?] = [nil, -50, -80]
        let outcomes: [GroupChooser.AttemptOutcome] = [.full, .unreachable, .left]
        var count = 0
        for bits in 0..<64 {
            for (first, second) in signals.flatMap({ one in signals.map { (one, $0) } }) {
                for outcome in outcomes {
                    let candidates = [
                        Candidate(
                            id: 1, isReady: bits & 1 == 0, hasBond: bits & 2 != 0, rssi: first, isFull: bits & 4 != 0),
                        Candidate(
                            id: 2, isReady: bits & 8 == 0, hasBond: bits & 16 != 0, rssi: second, isFull: bits & 32 != 0
                        ),
                    ]
                    var chooser = GroupChooser(waitsForAdapter: false, waitsForRoom: false)
                    var steps = 0
                    var isOver = false
                    while !isOver, steps < 10 {
                        steps += 1
                        switch chooser.next(candidates) {
                        case .connect(let id):
                            #expect(candidates[id - 1].isReady)
                            chooser.record(outcome, of: id)
                        case .race(let ids):
                            #expect(!ids.isEmpty && ids.allSatisfy { candidates[$0 - 1].isReady })
                            for id in ids { chooser.record(outcome, of: id) }
                            // An adapter that does not reach the device has had all the time.
                            isOver = outcome == .unreachable
                        case .fail: isOver = true
                        case .waitForRoom, .waitForAdapter: Issue.record("waits")
                        }
                    }
                    #expect(isOver)
                    count += 1
                }
            }
        }
        #expect(count == 64 * 9 * 3)
    }
}
