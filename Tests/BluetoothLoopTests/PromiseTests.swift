import BluetoothLoop
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PromiseTests {
    private enum Failure: Error, Equatable { case refused, late, cancelled }

    @Test func theFirstResultCountsWhetherATaskWaitsOrNot() async {
        let early = Promise<Int, Never>()
        #expect(!early.isResolved)
        #expect(early.succeed(1))
        #expect(early.isResolved)
        #expect(!early.succeed(2))
        #expect(await early.value(ifCancelled: 0) == 1)
        #expect(early.isResolved)
        let late = Promise<Int, Never>()
        async let value = late.value(ifCancelled: 0)
        late.succeed(3)
        #expect(await value == 3)
        #expect(!late.succeed(4))
    }

    @Test func anErrorIsThrown() async {
        let promise = Promise<Int, Failure>()
        #expect(promise.fail(.refused))
        #expect(!promise.succeed(1))
        await #expect(throws: Failure.refused) { try await promise.value(ifCancelled: .cancelled) }
    }

    @Test func aCancelledTaskIsResumed() async {
        let value = Promise<Int, Never>()
        let waiting = Task { await value.value(ifCancelled: -1) }
        waiting.cancel()
        #expect(await waiting.value == -1)
        #expect(!value.succeed(1))

        let failing = Promise<Int, Failure>()
        let task = Task { try await failing.value(ifCancelled: .cancelled) }
        task.cancel()
        await #expect(throws: Failure.cancelled) { try await task.value }
    }

    /// Of several threads that resolve it concurrently, one is the first, and the task receives its value.
    @Test func oneOfSeveralConcurrentResultsIsTheFirst() async {
        for _ in 0..<100 {
            let promise = Promise<Int, Never>()
            async let value = promise.value(ifCancelled: -1)
            let first = await withTaskGroup(of: Int?.self) { group in
                for number in 0..<8 { group.addTask { promise.succeed(number) ? number : nil } }
                return await group.reduce(into: [Int]()) { first, number in first += number.map { [$0] } ?? [] }
            }
            #expect(await [value] == first)
        }
    }

    // MARK: Sleeping

    @Test func theLoopsClockEndsASleep() async {
        let loop = EventLoop(driver: StepDriver())
        let start = loop.now
        #expect(await loop.sleep(for: .seconds(3)))
        #expect(start.duration(to: loop.now) >= .seconds(3))
        #expect(await loop.sleep(until: start))
        loop.stop()
    }

    @Test func aCancelledSleepEnds() async {
        let loop = EventLoop(driver: StepDriver())
        // On the loop, so that its clock cannot advance before the sleep has begun.
        let task = Task(executorPreference: loop) {
            withUnsafeCurrentTask { $0?.cancel() }
            return await loop.sleep(for: .seconds(1))
        }
        #expect(await !task.value)
        loop.stop()
    }
}
