import BluetoothSimulation
import Glibc
import TestSupport
import Testing

@testable import BluetoothLE

/// Everything that a program has declared comes back by itself when its radio has failed, in virtual time.
@Suite struct ComingBackTests {
    @Test(arguments: [
        (ControllerFault(.hangs, until: .powerOff), RecoveryStep.powerCycle),
        // Powering off fails, but takes the adapter down; what is down cannot be reset.
        (ControllerFault(.hangs, until: .reset), .restart), (ControllerFault(.hangs, until: .takingDown), .restart),
        (ControllerFault(.hangs, until: .unbinding), .rebind),
    ])
    func everythingComesBack(_ fault: ControllerFault, _ step: RecoveryStep) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let events = await adapter.healthEvents()
            let station = try await Station(fixture, serving: adapter, central: adapter, pace: .seconds(1))
            #expect(try await station.waitUntilAlive(within: .seconds(10), limit: .seconds(60)))
            #expect(try await station.visit() == [7])

            fixture.kernel.setFault(fault, adapter: 0)
            for try await event in events {
                guard event.isRecovered else { continue }
                #expect(event.helpfulStep == step)
                break
            }
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(station.isAlive(within: .seconds(10)))
            #expect(try await station.visit() == [7])
            await station.close()
        }
    }

    @Test func everythingComesBackThatTheControllerForgot() async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let events = await adapter.healthEvents()
            let station = try await Station(fixture, serving: adapter, central: adapter, pace: .seconds(1))
            #expect(try await station.waitUntilAlive(within: .seconds(10), limit: .seconds(60)))
            fixture.kernel.forgetState(adapter: 0)
            for try await event in events {
                guard event.isRecovered else { continue }
                #expect(event.helpfulStep == .restartScan)
                break
            }
            try await fixture.radio.sleep(for: .seconds(120))
            #expect(station.isAlive(within: .seconds(10)))
            #expect(try await station.visit() == [7])
            await station.close()
        }
    }

    /// The failures of a long time, each of which is over within a day, and nothing that grows.
    ///
    /// A week with one each three hours; a year by hand.
    @Test func aStationRunsForAWeek() async throws { try await run(days: 7) }

    @Test(.enabled(if: getenv("BLUETOOTH_HEAVY") != nil, "takes minutes")) func aStationRunsForAYear() async throws {
        try await run(days: 365)
    }

    private enum Failure: CaseIterable {
        case silent, hanging, forgetful, hardwareError, sensorAway, linkLost, late, poweredOff
    }

    private func run(days: Int) async throws {
        try await Fixture.run(
            [SimulatedController(), SimulatedController()], limit: .seconds(86_400 * (days + 2))
        ) { fixture in
            var random = SystemOfFailures(seed: UInt64(days))
            let serving = try await Adapter.open(.index(0), power: .keepOn, on: fixture.kernel)
            let central = try await Adapter.open(.index(1), power: .keepOn, on: fixture.kernel)
            let station = try await Station(
                fixture, serving: serving, central: central, pace: .seconds(10), policy: .resume)
            #expect(try await station.waitUntilAlive(within: .seconds(120), limit: .seconds(600)))
            let before = Self.components(fixture)
            var (failures, slowest, memory) = (0, Duration.zero, 0)
            let end = fixture.radio.now.advanced(by: .seconds(86_400 * days))
            while fixture.radio.now < end {
                try await fixture.radio.sleep(for: .seconds(random.next(in: 3600..<18_000)))
                failures += 1
                if failures == days / 3 { memory = residentMemory() }
                let start = fixture.radio.now
                let failure = Failure.allCases[random.next(in: 0..<Failure.allCases.count)]
                try await cause(failure, on: station, &random)
                try await fixture.radio.sleep(for: .seconds(200))
                let isBack = try await station.waitUntilAlive(within: .seconds(120), limit: .seconds(86_400))
                if !isBack { Issue.record("\(failures). \(failure): \(await station.state)") }
                let time = start.duration(to: fixture.radio.now)
                slowest = max(slowest, time)
            }
            let visit = await failure { _ = try await station.visit() }
            #expect(visit == nil)
            try await fixture.radio.sleep(for: .seconds(600))
            #expect(Self.components(fixture) == before)
            let (counts, grown) = (station.counts, residentMemory() - memory)
            print(
                "# \(days) days, \(failures) failures, the slowest over after \(slowest): \(counts), \(grown) bytes more"
            )
            // A shorter run shares the process with other tests.
            if days > 300 { #expect(grown < 16 << 20) }
            await station.close()
        }
    }

    /// The live components by kind; none in release builds, which do not count them.
    private static func components(_ fixture: Fixture) -> [String: Int] {
        #if DEBUG
            fixture.radio.loop.components.alive
        #else
            [:]
        #endif
    }

    private func cause(_ failure: Failure, on station: Station, _ random: inout SystemOfFailures) async throws {
        let kernel = station.fixture.kernel
        let cures: [ControllerFault.Cure] = [.scanRestart, .powerOff, .reset, .takingDown, .unbinding]
        let index = UInt16(random.next(in: 0..<2))
        switch failure {
        case .silent:
            kernel.setFault(ControllerFault(.hearsNothing, until: cures[random.next(in: 0..<5)]), adapter: 0)
        case .hanging:
            kernel.setFault(ControllerFault(.hangs, until: cures[random.next(in: 1..<5)]), adapter: index)
        case .forgetful: kernel.forgetState(adapter: index)
        case .hardwareError: kernel.reportHardwareError(UInt8(random.next(in: 0..<256)), adapter: index)
        case .sensorAway:
            station.sensor.setHidden(true)
            try await station.fixture.radio.sleep(for: .seconds(random.next(in: 1..<3600)))
            station.sensor.setHidden(false)
        case .linkLost: station.sensor.breakLinks()
        case .late:
            kernel.setFault(ControllerFault(.connectsTooLate, until: .unbinding), adapter: 1)
            station.sensor.breakLinks()
        case .poweredOff: kernel.setPowered(false, adapter: index)
        }
    }
}

/// A sequence of random numbers that a seed determines.
private struct SystemOfFailures {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next(in range: Range<Int>) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return range.lowerBound + Int(state >> 11) % range.count
    }
}

/// The resident memory of this process, in bytes.
private func residentMemory() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, CInt(line.count), file) != nil else { return 0 }
    let fields = line.prefix { $0 != 0 }.split(separator: 0x20).map {
        String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(CInt(_SC_PAGESIZE)) : 0
}
