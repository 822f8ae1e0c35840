import BluetoothLoop
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    private let driver = StepDriver()
    private let loop: EventLoop

    init() {
        loop = EventLoop(driver: driver)
    }

    @Test func theThreadStartsWithTheFirstWork() async {
        #expect(driver.waits.load(ordering: .relaxed) == 0)
        await loop.run { #expect(loop.isCurrent) }
        #expect(!loop.isCurrent)
        loop.stop()
    }

    @Test func stoppingRunsWhatIsQueuedAndEndsTheThread() async {
        let log = Log()
        await loop.run {}
        for number in 0..<10 { loop.makeTask { log.add(number) } }
        loop.stop()
        driver.hasEnded.wait()
        #expect(log.numbers == Array(0..<10))
    }

    @Test func workFromTheLoopNeedsNoWake() async {
        await loop.run {}
        let log = Log()
        let timer = loop.makeTimer { log.add(1) }
        let wakes = await loop.run {
            let before = driver.wakes.load(ordering: .relaxed)
            timer.set(after: .milliseconds(1))
            loop.makeTask { log.add(2) }
            return driver.wakes.load(ordering: .relaxed) - before
        }
        #expect(wakes == 0)
        loop.stop()
    }

    @Test func timersOfOneMomentRunInTheirOrderUnlessCancelled() async {
        let log = Log()
        let done = Journal<Int>()
        let second = loop.makeTimer { log.add(2) }
        let first = loop.makeTimer {
            log.add(1)
            second.cancel()
        }
        let third = loop.makeTimer { log.add(3) }
        let last = loop.makeTimer { done.add(0) }
        await loop.run {
            for timer in [first, second, third] { timer.set(at: KernelInstant(nanoseconds: 10)) }
            last.set(at: KernelInstant(nanoseconds: 11))
        }
        await done.wait(on: loop) { !$0.isEmpty }
        #expect(log.numbers == [1, 3])
        loop.stop()
    }

    @Test func timersThatSetEachOtherLetTheSocketsBeRead() async {
        let done = Journal<Int>()
        let state = Mutex<(count: Int, timer: LoopTimer?)>((0, nil))
        let driver = driver
        let start = await loop.run { driver.waits.load(ordering: .relaxed) }
        let timer = loop.makeTimer {
            let (count, timer) = state.withLock { state -> (Int, LoopTimer?) in
                state.count += 1
                return (state.count, state.timer)
            }
            guard count < 100 else { return done.add(driver.waits.load(ordering: .relaxed)) }
            timer?.set(at: .distantPast)
        }
        state.withLock { $0.timer = timer }
        timer.set(at: .distantPast)
        let waits = await done.wait(on: loop) { !$0.isEmpty }?.first
        // The driver waited for events between any two of them.
        #expect((waits ?? 0) - start >= 99)
        state.withLock { $0.timer = nil }
        loop.stop()
    }

    @Test func aTimerReleasedByAnotherTimersHandlerIsCancelled() async {
        // The handler of the outer timer holds the last reference to the inner one.
        func makeNested() -> LoopTimer {
            let inner = loop.makeTimer {}
            inner.set(at: KernelInstant(nanoseconds: 1_000_000_000_000))
            return loop.makeTimer { inner.cancel() }
        }
        for _ in 0..<3 { _ = makeNested() }
        await loop.run {}
        loop.stop()
    }

    @Test func aTimerRunsOnceForEachTimeItIsSet() async {
        let log = Log()
        let done = Journal<Int>()
        let timer = loop.makeTimer { log.add(1) }
        let last = loop.makeTimer { done.add(0) }
        await loop.run {
            timer.set(after: .milliseconds(1))
            timer.set(after: .milliseconds(2))
            last.set(after: .milliseconds(3))
        }
        await done.wait(on: loop) { !$0.isEmpty }
        #expect(log.numbers == [1])
        loop.stop()
    }

    @Test func anActorOfTheLoopMayBeAssumed() async {
        let runner = LoopRunner(loop)
        await loop.run { runner.assumeIsolated { _ in } }
        loop.stop()
    }
}

extension EventLoop {
    /// Enqueues a task that prefers this loop.
    fileprivate func makeTask(_ body: @escaping @Sendable () -> Void) {
        Task(executorPreference: self) { body() }
    }
}

@Suite struct KernelInstantTests {
    @Test func momentsStayWithinTheClock() {
        let last = KernelInstant(nanoseconds: .max)
        #expect(last.advanced(by: .seconds(1)) == last)
        #expect(KernelInstant.distantPast.advanced(by: .seconds(-1)) == .distantPast)
        #expect(KernelInstant(nanoseconds: 5).advanced(by: .nanoseconds(-7)).nanoseconds == -2)
        #expect(KernelInstant(nanoseconds: 0).advanced(by: .seconds(Int64.max)) == last)
    }

    @Test func durationsBeyondAllClocksAreTheLongest() {
        #expect(Duration.seconds(1e19).clampedNanoseconds == .max)
        #expect(Duration.seconds(-1e19).clampedNanoseconds == .min)
        #expect((Duration.seconds(Int64.max) * 18).clampedNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).clampedNanoseconds == .min)
        #expect(KernelInstant(nanoseconds: 0).advanced(by: .seconds(-1e20)) == .distantPast)
    }

    @Test func durationsAreExactOverTheWholeClock() {
        let (first, last) = (KernelInstant.distantPast, KernelInstant(nanoseconds: .max))
        #expect(first.duration(to: last) == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
        #expect(first.duration(to: last).clampedNanoseconds == .max)
        #expect(last.duration(to: first).clampedNanoseconds == .min)
        #expect(Duration.milliseconds(-1500).clampedNanoseconds == -1_500_000_000)
    }

    @Test func instantsConvertAsFarFromNowAsTheyAre() {
        let loop = EventLoop(driver: StepDriver())
        let distance = Duration.seconds(-90)
        let (instant, time) = (ContinuousClock.now + distance, SystemClock.microsecondsSince1970)
        let past = loop.now.advanced(by: distance)
        let (converted, seconds) = (past.continuousInstant(on: loop), past.secondsSince1970(on: loop))
        #expect(converted >= instant && converted <= ContinuousClock.now + distance)
        // A Double of this size is exact to a microsecond.
        let (earliest, latest) = (time - 90_000_001, SystemClock.microsecondsSince1970 - 89_999_999)
        #expect(seconds * 1e6 >= Double(earliest) && seconds * 1e6 <= Double(latest))
        #expect(KernelInstant.distantPast.continuousInstant(on: loop) < instant)
        #expect(KernelInstant.distantPast.secondsSince1970(on: loop) < -7e9)
    }
}
