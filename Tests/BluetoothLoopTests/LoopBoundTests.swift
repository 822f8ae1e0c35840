import BluetoothLoop
import Testing

/// Counts its calls.
private final class Counter {
    var count = 0
}

/// An actor on a loop with state that is not Sendable.
private actor Resident: LoopActor {
    nonisolated let loop: EventLoop
    private let counter = Counter()
    private var timer: LoopTimer?
    private var fired: CheckedContinuation<Void, Never>?

    init(on loop: EventLoop) {
        self.loop = loop
    }

    var count: Int { counter.count }

    func add(_ number: Int) { counter.count = counter.count * 10 + number }

    /// Returns when a timer of the actor has expired.
    func waitForTimer() async {
        let timer = loop.makeLocalTimer {
            self.counter.count += 1
            self.fired?.resume()
            self.fired = nil
            self.timer = nil
        }
        self.timer = timer
        timer.set(at: .distantPast)
        await withCheckedContinuation { fired = $0 }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct LoopBoundTests {
    private let loop = EventLoop(driver: StepDriver())

    @Test func aValueThatWasGivenAwayIsReachedOnTheLoop() async {
        let counter = Counter()
        counter.count = 41
        let bound = LoopBound(sending: counter, to: loop)
        await loop.run { bound.value.count += 1 }
        #expect(await loop.run { bound.value.count } == 42)
        loop.stop()
    }

    @Test func aValueMadeOnTheLoopMayBeCarriedAnywhere() async {
        let bound = await loop.run { LoopBound(Counter(), on: loop) }
        await loop.run { bound.value.count += 1 }
        #expect(await loop.run { bound.value.count } == 1)
        loop.stop()
    }

    @Test func accessOnAnotherThreadTraps() async {
        await #expect(processExitsWith: .failure) {
            let loop = EventLoop(driver: StepDriver())
            _ = LoopBound(sending: 1, to: loop).value
        }
        await #expect(processExitsWith: .failure) {
            _ = LoopBound(1, on: EventLoop(driver: StepDriver()))
        }
    }

    @Test func aTimersHandlerIsTheActorsThatMadeIt() async {
        let resident = Resident(on: loop)
        await resident.waitForTimer()
        #expect(await resident.count == 1)
        loop.stop()
    }

    @Test func soonCallsRunInOrder() async {
        let resident = Resident(on: loop)
        for number in 1...5 { resident.soon { $0.add(number) } }
        #expect(await resident.count == 12345)
        loop.stop()
    }
}
