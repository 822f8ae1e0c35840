import BluetoothLE
import BluetoothSimulation
import ExampleSupport
import Synchronization

/// The tests of `ble selftest`, on one adapter or between two.
struct SelfTest: Sendable {
    let common: CommonOptions
    let kernel: (any AdapterSource)?
    let console: Console
    let trace: PacketTrace?
    var clock = BenchmarkClock()

    /// Runs the tests on the adapters. When this returns, or throws, everything is as before.
    nonisolated(nonsending) func run(
        _ run: SelfTestRun, on own: AdapterInformation, with other: AdapterInformation?
    ) async throws -> [TestedAdapter] {
        let base = try common.bondStore()
        let subjects = [own] + (other.map { [$0] } ?? [])
        let openings = subjects.map { SelfTestOpening(before: $0, bonds: EphemeralBondStore(over: base)) }
        onSecondSignal { [self] in
            console.message("restoring everything at once; a third signal ends this program")
            let left = await restore(openings, within: .seconds(2))
            for leftover in left { console.message("could not restore \(leftover)") }
        }
        try await finishing {
            try await test(openings, run)
        } then: {
            // In a task of its own, which Ctrl-C does not cancel.
            let left = await Task(executorPreference: clock.loop) {
                await restore(openings, within: .seconds(20))
            }.value
            onSecondSignal(nil)
            if !left.isEmpty {
                let reasons = left.map(\.text).joined(separator: "; ")
                let remedy = left.map(\.remedy).joined(separator: "\n")
                run.record(
                    SelfTestResult(
                        "restore", "restoring everything",
                        .failure(SelfTestObstacle.failed("could not restore \(reasons)", remedy: remedy)), in: .zero))
            }
        }
        return openings.compactMap(\.tested)
    }

    /// Puts everything back; returns what could not be.
    private func restore(_ openings: [SelfTestOpening], within limit: Duration) async -> [Leftover] {
        var left: [Leftover] = []
        // The central first, so that its link ends regularly.
        for opening in openings {
            left += await AdapterRestoration(
                before: opening.before, bonds: opening.bonds, kernel: kernel, limit: limit, clock: clock
            ).run(opening.tested?.adapter)
        }
        return left
    }

    /// A name to advertise that no other device has.
    static func newName() -> String { "Test-" + String(UInt16.random(in: 0x1000...0xFFFF), radix: 16, uppercase: true) }

    private nonisolated(nonsending) func test(_ openings: [SelfTestOpening], _ run: SelfTestRun) async throws {
        for (index, opening) in openings.enumerated() {
            try await open(opening, as: index == 0 ? "open" : "other.open", run)
        }
        guard let own = openings[0].tested else {
            return run.skip(
                AdapterTests.titles + (openings.count > 1 ? LinkTests.titles : []), "the adapter is not open")
        }
        let other = openings.count > 1 ? openings[1].tested : nil
        try await withThrowingTaskGroup(of: Void.self) { group in
            for tested in [own, other].compactMap(\.self) { group.addTask { await tested.watch() } }
            let tests = AdapterTests(tested: own, isHeardFor: other != nil, clock: clock)
            try await tests.runController(run, as: "controller")
            if let other {
                let others = AdapterTests(tested: other, isHeardFor: true, clock: clock)
                try await others.runController(run, as: "other.controller")
                try await testTogether(own, other, tests, run)
            } else {
                try await tests.runRadio(run)
                if openings.count > 1 { run.skip(LinkTests.titles, "the other adapter is not open") }
                try await tests.runPower(run)
            }
            group.cancelAll()
        }
        for tested in [own, other].compactMap(\.self) where !tested.problems.isEmpty {
            run.record(
                SelfTestResult(
                    "health", "health of \(tested.name)",
                    .failure(SelfTestObstacle.failed(tested.problems.joined(separator: "; "))), in: .zero))
        }
    }

    /// Tests the first adapter and the link to the other, which serves meanwhile.
    private nonisolated(nonsending) func testTogether(
        _ own: TestedAdapter, _ other: TestedAdapter, _ tests: AdapterTests, _ run: SelfTestRun
    ) async throws {
        let name = Self.newName()
        let linkTests = LinkTests(own, to: other, named: name, clock: clock)
        let failure = try await withThrowingTaskGroup(of: (any Error)?.self) { group in
            group.addTask {
                do {
                    try await BenchServer(named: name, on: other.adapter, nil).run(once: false)
                    return nil
                } catch {
                    return Task.isCancelled ? nil : error
                }
            }
            try await tests.runRadio(run)
            try await linkTests.run(run)
            group.cancelAll()
            return try await group.next() ?? nil
        }
        if let error = failure {
            run.record(SelfTestResult("serve", "serving by \(other.name)", .failure(error), in: .zero))
        }
        try await linkTests.runUART(run)
        try await tests.runPower(run)
    }

    /// Opens an adapter.
    /// - Throws: what prevents every test, such as a missing permission.
    private nonisolated(nonsending) func open(
        _ opening: SelfTestOpening, as test: String, _ run: SelfTestRun
    ) async throws {
        let fatal = Mutex<BluetoothError?>(nil)
        try await run.test(test, "opening \(opening.before.name)", limit: .seconds(60)) {
            do throws(BluetoothError) {
                let start = clock.now()
                let adapter = try await Adapter.open(
                    .id(opening.before.id), power: common.powerOn ? .powerOn : .leave,
                    configuration: .init(
                        bonds: .store(opening.bonds), recovery: RecoveryOptions(mode: .reportOnly),
                        log: common.makeLog(quietly: true), trace: trace), on: kernel)
                opening.finish(adapter)
                return SelfTestFigure(
                    "was \(opening.before.state), on after \(formatMilliseconds(clock.now() - start))")
            } catch {
                if [.notPermitted, .noAdapter, .adapterOff, .adapterBlocked].contains(error.code) {
                    fatal.withLock { $0 = error }
                }
                throw error
            }
        }
        if let error = fatal.withLock({ $0 }) { throw error }
    }
}

/// An adapter to be opened, and what becomes of it.
private final class SelfTestOpening: Sendable {
    let before: AdapterInformation
    let bonds: EphemeralBondStore
    private let state = Mutex<TestedAdapter?>(nil)

    init(before: AdapterInformation, bonds: EphemeralBondStore) { (self.before, self.bonds) = (before, bonds) }

    var tested: TestedAdapter? { state.withLock { $0 } }

    func finish(_ adapter: Adapter) {
        state.withLock { $0 = TestedAdapter(adapter, before: before) }
    }
}
