import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem
import Glibc
import BluetoothLinux
import Synchronization
import TestSupport
import Testing

/// An actor that lives on a loop and counts its calls.
private actor Counter: LoopActor {
    nonisolated let loop: EventLoop
    private(set) var count = 0

    init(_ loop: EventLoop) { self.loop = loop }

    func add() { count += 1 }

    /// Whether a call of another actor on the loop comes before what is queued.
    func isCallDirect(to other: Counter) async -> Bool {
        let queued = Journal<Int>()
        loop.execute { queued.add(1) }
        await other.add()
        return queued.entries.isEmpty
    }
}

@Suite(.timeLimit(.minutes(1)))
struct LoopTests {
    @Test func actorsRunOnTheLoop() async throws {
        let kernel = try LinuxKernel()
        defer { kernel.loop.stop() }
        #expect(!kernel.loop.isCurrent)
        await kernel.onLoop {
            #expect(kernel.loop.isCurrent)
            kernel.loop.preconditionIsolated()
        }
        let loop = try LinuxKernel.shared.loop
        #expect(!loop.isCurrent)
    }

    @Test func aHandlerMayAssumeThatItIsOnItsActor() async throws {
        let kernel = try LinuxKernel.shared
        let counter = Counter(kernel.loop)
        let done = Journal<Bool>()
        let ends = try await kernel.onLoop {
            try kernel.unixPair(
                { _ in },
                { event in
                    counter.assumeIsolated { $0.add() }
                    done.add(true)
                })
        }
        await kernel.onLoop { #expect(ends.first.send([1]) == .sent) }
        await done.wait(on: kernel.loop) { !$0.isEmpty }
        #expect(await counter.count > 0)
        await kernel.onLoop { ends.second.close() }
    }

    @Test func aTaskMayPreferTheLoop() async throws {
        let kernel = try LinuxKernel()
        defer { kernel.loop.stop() }
        let counter = Counter(kernel.loop)
        let isAlwaysThere = await Task(executorPreference: kernel.loop) {
            let before = kernel.loop.isCurrent
            await counter.add()
            let afterActor = kernel.loop.isCurrent
            await Task.yield()
            return before && afterActor && kernel.loop.isCurrent
        }.value
        #expect(isAlwaysThere)
        #expect(!kernel.loop.isCurrent)
    }

    @Test func theMainActorsLoopRunsOnTheThreadThatCallsIt() async throws {
        let kernel = try LinuxKernel()
        let threads = Journal<UInt>()
        try startThread(named: "main") {
            kernel.runMainActor { threads.add(kernel.loop.isCurrent ? currentThread() : 0) }
            threads.add(0)
        }
        let other = try LinuxKernel.shared.loop
        let first = await threads.wait(on: other) { !$0.isEmpty }?.first
        #expect(await kernel.onLoop { currentThread() } == first)
        let pair = try await Pair.open(on: kernel)
        #expect(await pair.send([1]) == [.sent])
        #expect(await pair.secondEntries(1) == [.packet([1])])
        await pair.close()
        // Its tasks prefer no executor, and go from actor to actor without a turn of the queue.
        #expect(await Counter(kernel.loop).isCallDirect(to: Counter(kernel.loop)))
        kernel.loop.stop()
        #expect(await threads.wait(on: other) { $0.last == 0 }?.count == 2)
    }

    @Test func manyThreadsMayWakeIt() async throws {
        let kernel = try LinuxKernel()
        defer { kernel.loop.stop() }
        let counter = Counter(kernel.loop)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<200 { await counter.add() } }
            }
        }
        #expect(await counter.count == 1600)
    }

    @Test func timersComeInTheirOrderAndNeverEarly() async throws {
        let kernel = try LinuxKernel()
        let loop = kernel.loop
        defer { loop.stop() }
        let fired = Journal<(number: Int, at: KernelInstant)>()
        let timers = (0..<4).map { number in loop.makeTimer { fired.add((number, loop.now)) } }
        let start = loop.now
        let delays: [Duration] = [.milliseconds(30), .microseconds(10_100), .milliseconds(20), .microseconds(100)]
        // On the loop, so that none can fire before all are set.
        await loop.run {
            for (timer, delay) in zip(timers, delays) { timer.set(at: start.advanced(by: delay)) }
        }
        let entries = await fired.wait(on: loop) { $0.count == 4 }
        withExtendedLifetime(timers) {}
        #expect(entries?.map(\.number) == [3, 1, 2, 0])
        for entry in entries ?? [] { #expect(entry.at >= start.advanced(by: delays[entry.number])) }
    }

    @Test func aCancelledTimerDoesNotFire() async throws {
        let kernel = try LinuxKernel()
        let loop = kernel.loop
        defer { loop.stop() }
        let fired = Journal<String>()
        let cancelled = loop.makeTimer { fired.add("cancelled") }
        let moved = loop.makeTimer { fired.add("moved") }
        let last = loop.makeTimer { fired.add("last") }
        await loop.run {
            let start = loop.now
            cancelled.set(at: start.advanced(by: .milliseconds(5)))
            moved.set(at: start.advanced(by: .milliseconds(5)))
            last.set(at: start.advanced(by: .milliseconds(20)))
            cancelled.cancel()
            moved.set(at: start.advanced(by: .milliseconds(10)))
            loop.makeTimer { fired.add("dropped") }.set(at: start.advanced(by: .milliseconds(5)))
        }
        let entries = await fired.wait(on: loop) { $0.contains("last") }
        withExtendedLifetime((cancelled, moved, last)) {}
        #expect(entries == ["moved", "last"])
    }

    @Test func aTimerSetFromElsewhereEndsALongWait() async throws {
        let kernel = try LinuxKernel()
        let loop = kernel.loop
        defer { loop.stop() }
        let fired = Journal<Int>()
        let long = loop.makeTimer { fired.add(1) }
        let short = loop.makeTimer { fired.add(2) }
        long.set(after: .seconds(3600))
        await loop.run {}
        short.set(after: .milliseconds(1))
        #expect(await fired.wait(on: loop) { !$0.isEmpty } == [2])
        withExtendedLifetime((long, short)) {}
    }

    @Test func deadlinesBeyondEveryClockAreNoHarm() async throws {
        let kernel = try LinuxKernel()
        let loop = kernel.loop
        defer { loop.stop() }
        let fired = Journal<Int>()
        let never = loop.makeTimer { fired.add(1) }
        let past = loop.makeTimer { fired.add(2) }
        never.set(at: KernelInstant(nanoseconds: .max))
        await loop.run {}
        past.set(at: .distantPast)
        #expect(await fired.wait(on: loop) { !$0.isEmpty } == [2])
        never.set(after: .seconds(Int64.max))
        await loop.run {}
        #expect(fired.entries == [2])
        withExtendedLifetime((never, past)) {}
    }

    @Test func anIdleLoopDoesNotWakeUp() async throws {
        let kernel = try LinuxKernel()
        let loop = kernel.loop
        defer { loop.stop() }
        // As with connections: sockets that wait for packets, and a distant timer.
        let pair = try await Pair.open(on: kernel)
        let far = loop.makeTimer {}
        far.set(after: .seconds(3600))
        let path = await loop.run { currentThreadFolder() } + "/status"
        // The loop is back in its wait once its thread sleeps; the system reports the state of threads.
        var before = try switches(path)
        while before.state != "S" { before = try switches(path) }
        // A bounded wait for an event that must not happen.
        var quiet = pollfd(fd: -1, events: 0, revents: 0)
        #expect(poll(&quiet, 1, 500) == 0)
        let after = try switches(path)
        #expect(after.count == before.count)
        withExtendedLifetime(far) {}
        await pair.close()
    }

    private func switches(_ path: String) throws -> (state: Character, count: Int) {
        guard let file = fopen(path, "r") else { throw KernelError("fopen", ErrorNumber(rawValue: errno)) }
        defer { fclose(file) }
        var (state, count): (Character, Int) = ("?", 0)
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let words = text.split { $0.isWhitespace }
            guard words.count > 1 else { continue }
            if words[0] == "State:" { state = words[1].first ?? "?" }
            if words[0].hasSuffix("voluntary_ctxt_switches:"), !words[0].hasPrefix("non") {
                count = Int(words[1]) ?? 0
            }
        }
        return (state, count)
    }

    @Test func aSocketDroppedAfterTheLoopHasStoppedIsClosed() async throws {
        let kernel = try LinuxKernel()
        let numbers = Mutex<(any L2CAPSocket, any L2CAPSocket)?>(nil)
        try await kernel.onLoop {
            let pair = try kernel.unixPair({ _ in }, { _ in })
            numbers.withLock { $0 = (pair.first, pair.second) }
        }
        kernel.loop.stop()
        numbers.withLock { $0 = nil }
    }
}

/// The calling thread's folder below `/proc`.
private func currentThreadFolder() -> String {
    var target = [CChar](repeating: 0, count: 256)
    let count = max(0, readlink("/proc/thread-self", &target, 255))
    return "/proc/" + String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}
