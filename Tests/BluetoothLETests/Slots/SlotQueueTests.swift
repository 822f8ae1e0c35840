import BluetoothLoop
import Testing

@testable import BluetoothLE

/// The decisions about room for links, without a radio.
@Suite struct SlotQueueTests {
    private static func instant(_ seconds: Int64) -> KernelInstant {
        KernelInstant(nanoseconds: seconds * 1_000_000_000)
    }

    /// A queue of connects that were all refused, and wait.
    private static func refused(
        _ count: Int
    ) -> (queue: SlotQueue, places: [UInt64], calls: [Promise<Void, BluetoothError>]) {
        var queue = SlotQueue()
        let places = (0..<count).map { _ in queue.enter() }
        for place in places { queue.refused(place) }
        let calls = places.compactMap { queue.wait($0) }
        return (queue, places, calls)
    }

    @Test func theFirstConnectTriesAtOnceAndOnesBehindAWaitingOneDoNot() {
        var queue = SlotQueue()
        let first = queue.enter()
        #expect(queue.wait(first) == nil)
        let second = queue.enter()
        #expect(queue.wait(second) == nil)
        queue.refused(first)
        let third = queue.enter()
        #expect(queue.wait(third) != nil)
        #expect(queue.waitingCount == 2)
    }

    /// The room of the only end belongs to the one that was admitted; another that came later finds out when that has it.
    @Test func oneThatComesLaterWaitsForTheOneThatWasAdmitted() {
        var (queue, places, _) = Self.refused(1)
        queue.linkEnded(at: Self.instant(0))
        #expect(queue.isClaimed)
        let late = queue.enter()
        let call = queue.wait(late)
        #expect(call?.isResolved == false)
        queue.leave(places[0], hasLink: true, at: Self.instant(1))
        #expect(call?.isResolved == true)
        queue.refused(late)
        #expect(queue.wait(late)?.isResolved == false)
        // One that was refused waits for the end of a link.
        let last = queue.enter()
        #expect(queue.wait(last)?.isResolved == false)
        queue.linkEnded(at: Self.instant(2))
        queue.leave(late, hasLink: true, at: Self.instant(3))
        queue.leave(last, hasLink: true, at: Self.instant(4))
        #expect(!queue.isClaimed)
    }

    @Test func eachEndOfALinkAdmitsTheOneThatHasWaitedLongest() {
        var (queue, places, calls) = Self.refused(3)
        #expect(calls.count == 3)
        queue.linkEnded(at: Self.instant(0))
        #expect(calls.map(\.isResolved) == [true, false, false])
        queue.leave(places[0], hasLink: true, at: Self.instant(1))
        #expect(calls.map(\.isResolved) == [true, false, false])
        queue.linkEnded(at: Self.instant(2))
        #expect(calls.map(\.isResolved) == [true, true, false])
    }

    @Test func oneThatFindsTheRoomGoneKeepsItsPlace() {
        var (queue, places, calls) = Self.refused(2)
        queue.linkEnded(at: Self.instant(0))
        queue.refused(places[0])
        let again = queue.wait(places[0])
        queue.linkEnded(at: Self.instant(1))
        #expect(again?.isResolved == true)
        #expect(!calls[1].isResolved)
    }

    @Test func anEndBeforeTheRefusalArrivesIsNotLost() {
        var queue = SlotQueue()
        let place = queue.enter()
        queue.linkEnded(at: Self.instant(0))
        queue.refused(place)
        #expect(queue.wait(place) == nil)
        // Once only.
        queue.refused(place)
        #expect(queue.wait(place) != nil)
    }

    @Test func roomThatIsNotUsedGoesToTheNext() {
        var (queue, places, calls) = Self.refused(3)
        queue.leave(places[1], hasLink: false, at: Self.instant(0))
        #expect(calls.map(\.isResolved) == [false, false, false])
        queue.linkEnded(at: Self.instant(0))
        queue.leave(places[0], hasLink: false, at: Self.instant(1))
        #expect(calls.map(\.isResolved) == [true, false, true])
    }

    @Test func aDeviceThatDoesNotAnswerHoldsTheRoomForASliceOnly() {
        var (queue, places, calls) = Self.refused(3)
        queue.linkEnded(at: Self.instant(0))
        #expect(queue.nextDeadline == Self.instant(8))
        queue.passOn(at: Self.instant(7))
        #expect(!calls[1].isResolved)
        queue.passOn(at: Self.instant(8))
        #expect(calls.map(\.isResolved) == [true, true, false])
        // It has passed its room on, so that its end admits no other.
        queue.leave(places[0], hasLink: false, at: Self.instant(9))
        #expect(!calls[2].isResolved)
        #expect(queue.nextDeadline == Self.instant(16))
    }

    /// Also if no other waits: those that come have no time limit to wait for.
    @Test func aDeviceThatDoesNotAnswerHasNoClaimAfterItsSlice() {
        var (queue, _, calls) = Self.refused(1)
        queue.linkEnded(at: Self.instant(0))
        #expect(calls[0].isResolved)
        #expect(queue.isClaimed)
        #expect(queue.nextDeadline == Self.instant(8))
        queue.passOn(at: Self.instant(8))
        #expect(!queue.isClaimed)
        #expect(queue.nextDeadline == nil)
    }

    @Test func anAdapterThatLeavesEndsTheWait() {
        var (queue, places, calls) = Self.refused(2)
        queue.fail(BluetoothError(.adapterOff, .init("connect"), "off"))
        #expect(calls.map(\.isResolved) == [true, true])
        #expect(queue.waitingCount == 0)
        // Whatever was refused before that, tries again.
        queue.refused(places[0])
        #expect(queue.wait(places[0]) != nil)
    }
}
