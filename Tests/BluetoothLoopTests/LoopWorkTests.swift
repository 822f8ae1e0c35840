import BluetoothLoop
import Testing

/// Work of the loop besides jobs of its actors.
@Suite(.timeLimit(.minutes(1)))
struct LoopWorkTests {
    private let loop = EventLoop(driver: StepDriver())

    @Test func aTaskThatPrefersTheLoopStaysThere() async {
        let counter = Counter(loop)
        await withTaskExecutorPreference(loop) {
            #expect(loop.isCurrent)
            await nowhere()
            #expect(loop.isCurrent)
            await counter.add(1)
            #expect(loop.isCurrent)
            await Task.yield()
            #expect(loop.isCurrent)
        }
        #expect(!loop.isCurrent)
        loop.stop()
    }

    @Test func actorsOfALoopCallEachOtherWithoutAHop() async {
        let (first, second) = (Counter(loop), Counter(loop))
        await first.pass(5, to: second)
        #expect(await second.sum == 5)
        loop.stop()
    }

    @Test func eventsOnTheLoopReachTheirActorWithoutAHop() async {
        let counter = Counter(loop)
        let sum = await loop.run {
            counter.assumeIsolated { $0.add(10) }
            return counter.assumeIsolated { $0.sum }
        }
        #expect(sum == 10)
        loop.stop()
    }

    @Test func aDeliveryRunsAfterWhatIsGoingOn() async {
        let log = Log()
        let delivery = Delivery { log.add(2) }
        await loop.run {
            loop.deliverSoon(delivery)
            log.add(1)
        }
        await loop.run { log.add(3) }
        #expect(log.numbers == [1, 2, 3])
        loop.stop()
    }

    private func nowhere() async {
        await Task.yield()
    }
}

private actor Counter: LoopActor {
    nonisolated let loop: EventLoop
    private(set) var sum = 0

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func add(_ number: Int) { sum += number }

    func pass(_ number: Int, to other: Counter) async {
        await other.add(number)
        #expect(loop.isCurrent)
    }
}

private final class Delivery: LoopDelivery {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    func deliver() { body() }
}
