import BluetoothLoop
import BluetoothHCI
import BluetoothSimulation
import Synchronization
import Testing

struct SimulationTests {
    @Test func anHourPassesAtOnce() async throws {
        let radio = SimulatedRadio()
        try await radio.run { try await radio.sleep(for: .seconds(3599)) }
        #expect(radio.now == KernelInstant(nanoseconds: 3_599_000_000_000))
    }

    @Test func timeStandsStillBetweenStories() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        SimulatedPeripheral(on: radio)
        let scanner = try await radio.run {
            let scanner = try kernel.hci()
            _ = try await scanner.perform(extendedScan)
            _ = try await scanner.perform(LESetExtendedScanEnable(isEnabled: true))
            _ = try await scanner.nextReportedData()
            return scanner
        }
        let moment = radio.now
        try await ContinuousClock().sleep(for: .milliseconds(20))
        #expect(radio.now == moment)
        scanner.socket.close()
    }

    /// Work that a thread adds to the loop while it pauses time happens at that moment, however soon time is resumed.
    @Test func timeWaitsForWhatWasAddedWhileItWasHeld() async {
        let driver = VirtualTimeDriver()
        let loop = EventLoop(driver: driver)
        // There is a next deadline at any time, and time is about to advance to it.
        let timers = Mutex<[LoopTimer]>([])
        let timer = loop.makeTimer { timers.withLock { $0.first }?.set(after: .milliseconds(1)) }
        timers.withLock { $0 = [timer] }
        timer.set(after: .milliseconds(1))
        driver.resumeTime()
        var lateCount = 0
        for _ in 0..<20_000 {
            driver.pauseTime()
            let held = loop.now
            let moment = await withCheckedContinuation { (continuation: CheckedContinuation<KernelInstant, Never>) in
                loop.execute { continuation.resume(returning: loop.now) }
                driver.resumeTime()
            }
            if moment != held { lateCount += 1 }
        }
        #expect(lateCount == 0)
        driver.pauseTime()
        timers.withLock { $0 = [] }
        loop.stop()
    }

    @Test func anAwaitThatNeverEndsIsNamed() async throws {
        let radio = SimulatedRadio()
        let error = await #expect(throws: SimulationStalled.self) {
            try await radio.run(stallGrace: .milliseconds(50)) {
                try await radio.sleep(for: .seconds(3))
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    forgotten.append(continuation)
                }
            }
        }
        #expect(error?.reason == .nothingScheduled)
        #expect(error?.moment == KernelInstant(nanoseconds: 3_000_000_000))
        for continuation in forgotten.take() { continuation.resume() }
    }

    @Test func aStoryThatTakesTooLongIsCancelled() async throws {
        let radio = SimulatedRadio()
        do {
            try await radio.run(limit: .seconds(10)) { try await radio.sleep(for: .seconds(3600)) }
            Issue.record("it ended")
        } catch let stalled as SimulationStalled {
            #expect(stalled.reason == .limitReached)
            #expect("\(stalled.reason)" == "the time limit was reached")
            #expect(stalled.moment == KernelInstant(nanoseconds: 10_000_000_000))
        }
    }

    @Test func theSameSeedTellsTheSameStory() async throws {
        func story(seed: UInt64) async throws -> [Int64] {
            let radio = SimulatedRadio(seed: seed)
            let kernel = radio.makeKernel()
            for _ in 0..<3 { SimulatedPeripheral(on: radio) }
            return try await radio.run {
                let scanner = try kernel.hci()
                _ = try await scanner.perform(extendedScan)
                _ = try await scanner.perform(LESetExtendedScanEnable(isEnabled: true))
                var moments: [Int64] = []
                for _ in 0..<50 {
                    _ = try await scanner.nextReportedData()
                    moments.append(radio.now.nanoseconds)
                }
                return moments
            }
        }
        let first = try await story(seed: 5)
        #expect(try await story(seed: 5) == first)
        #expect(try await story(seed: 6) != first)
    }

    @Test func realTimeTakesRealTime() async throws {
        let radio = SimulatedRadio(time: .real)
        let before = ContinuousClock.now
        try await radio.run { try await radio.sleep(for: .milliseconds(30)) }
        #expect(ContinuousClock.now - before >= .milliseconds(30))
    }
}

/// Continuations that are not resumed in time.
private let forgotten = Forgotten()

private final class Forgotten: Sendable {
    private let continuations = Mutex<[CheckedContinuation<Void, Never>]>([])

    func append(_ continuation: CheckedContinuation<Void, Never>) {
        continuations.withLock { $0.append(continuation) }
    }

    func take() -> [CheckedContinuation<Void, Never>] {
        continuations.withLock { all in
            defer { all = [] }
            return all
        }
    }
}
