import BluetoothSimulation
import Glibc
import TestSupport
import Testing

import BluetoothLE

/// A site for a long time in virtual time, with every fault that the simulation has.
@Suite struct EnduranceTests {
    /// The same week each time, unless the environment has a seed.
    @Test func aSiteRunsForAWeek() async throws {
        try await run(days: 7, seed: getenv(SeededGenerator.variable) == nil ? 1 : SeededGenerator.runSeed)
    }

    @Test(.enabled(if: getenv("BLUETOOTH_HEAVY") != nil, "takes minutes"), .seeded)
    func aSiteRunsForAMonth() async throws { try await run(days: 30, seed: SeededGenerator.runSeed) }

    private func run(days: Int, seed: UInt64) async throws {
        let limit = Duration.seconds(86_400 * (2 * days + 2))
        try await Fixture.run((0..<3).map { Site.controller($0) }, seed: seed, limit: limit) { fixture in
            let (ledger, heap) = try await spend(days: days, in: fixture, seed)
            check(ledger)
            // A shorter run shares the process with other tests.
            if days > 7 { #expect(heap.suffix(days / 2).max() ?? 0 < heap[days / 2] + 128 << 10, "\(heap)") }
            #if DEBUG || COUNTS_COMPONENTS
                try await fixture.settle { fixture.radio.loop.components.alive.isEmpty }
                #expect(fixture.radio.loop.components.alive == [:])
            #endif
            print(ledger.report, "# live bytes at the end of each day: \(heap)", separator: "\n")
        }
    }

    /// Each day has twenty hours of faults, and ends when everything has worked again.
    private func spend(days: Int, in fixture: Fixture, _ seed: UInt64) async throws -> (Ledger, heap: [Int]) {
        let site = try await Site(fixture, seed)
        var (random, heap) = (SeededGenerator(seed: seed), [Int]())
        site.begin()
        for day in 0..<days {
            let seeds = (0..<3).map { _ in random.next() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<3 {
                    group.addTask { try await causeFaults(on: site, lane, SeededGenerator(seed: seeds[lane])) }
                }
                try await group.waitForAll()
            }
            let missing = try await site.recovered()
            let states = site.adapters.map { "\($0.information.name) \($0.state)" }
            #expect(missing == [], "day \(day) of seed \(seed): \(states)")
            heap.append(liveByteCount())
        }
        try await site.close()
        return (site.ledger, heap)
    }

    /// Lets faults begin and end for twenty hours. A fault is in one of three lanes: it ends before it begins again.
    private func causeFaults(on site: Site, _ lane: Int, _ random: SeededGenerator) async throws {
        let faults = site.faults.enumerated().filter { $0.offset % 3 == lane }.map(\.element)
        let end = site.radio.now.advanced(by: .seconds(72_000))
        var random = random
        while site.radio.now < end {
            try await site.radio.sleep(for: random.seconds(in: 60...3600))
            let fault = faults[random.number(in: 0...faults.count - 1)]
            let number = random.number(in: 0...9999)
            // A transaction that a device ignores must fail: it takes 30 s.
            let duration = random.seconds(in: 60...(random.oneIn(4) ? 7200 : 600))
            await site.ledger.attempt("fault: \(fault.name)") {
                try await fault.set(number, true)
                try await site.radio.sleep(for: duration)
                try await fault.set(number, false)
            }
        }
    }

    private func check(_ ledger: Ledger) {
        for (name, operations) in ledger.operations {
            let ended = operations.values + operations.failures.values.reduce(0, +)
            #expect(operations.begun == ended, "\(name)")
            #expect(operations.failures[.overflow] == nil, "\(name)")
        }
        for (name, flow) in ledger.flows {
            let counts = flow.close()
            #expect(Int(counts.sent) == counts.received + counts.lost && counts.received > 0, "\(name)")
        }
        let statistics = ledger.radio.statistics
        #expect(statistics.receiveOverflows == 0 && statistics.eventOverflows == 0)
    }
}
