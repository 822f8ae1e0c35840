import BluetoothSimulation
import Testing

@testable import BluetoothLE

/// Radios that fail, and come back by themselves, in virtual time.
@Suite struct HealthTests {
    @Test(
        arguments: [
            (ControllerFault.Cure.scanRestart, [.restartScan]), (.powerOff, [.restartScan, .powerCycle]),
            (.reset, [.restartScan, .powerCycle, .reset]),
            (.takingDown, [.restartScan, .powerCycle, .reset, .restart]),
            (.unbinding, [.restartScan, .powerCycle, .reset, .restart, .rebind]),
        ] as [(ControllerFault.Cure, [RecoveryStep])])
    func aSilentScanComesBack(_ cure: ControllerFault.Cure, _ steps: [RecoveryStep]) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            var listening = try await ListeningAdapter(fixture)
            let adapter = listening.adapter
            fixture.kernel.setFault(ControllerFault(.hearsNothing, until: cure), adapter: 0)
            let outcome = try await listening.events.steps()
            #expect(outcome.tried == steps)
            #expect(outcome.helped == steps.last)
            #expect(try await listening.reports.next() != nil)
            #expect("\(await adapter.health)" == "good")
            await adapter.close()
        }
    }

    @Test(arguments: [
        (ControllerFault.Cure.powerOff, RecoveryStep.powerCycle), (.takingDown, .restart), (.unbinding, .rebind),
    ])
    func aControllerThatHangsComesBack(_ cure: ControllerFault.Cure, _ step: RecoveryStep) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            // The recovery powers on what was on.
            var listening = try await ListeningAdapter(fixture, power: .leave)
            let adapter = listening.adapter
            fixture.kernel.setFault(ControllerFault(.hangs, until: cure), adapter: 0)
            // A command is not answered; the silence would be noticed later.
            _ = try? await adapter.hasExtendedAdvertising()
            let outcome = try await listening.events.steps()
            #expect(outcome.helped == step)
            #expect(!outcome.tried.contains(.restartScan))
            #expect(try await listening.reports.next() != nil)
            await adapter.close()
        }
    }

    /// Nobody sends a command: the silence is noticed, and then that the controller does not answer.
    @Test(arguments: [DuplicatePolicy.all, .merge]) func aScanOutlivesAControllerThatHangs(
        _ duplicates: DuplicatePolicy
    ) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            var listening = try await ListeningAdapter(fixture)
            let adapter = listening.adapter
            let other = try await adapter.scan(ScanOptions(duplicates: duplicates))
            fixture.kernel.setFault(ControllerFault(.hangs, until: .takingDown), adapter: 0)
            let outcome = try await listening.events.steps()
            #expect(outcome.helped == .restart)
            #expect(outcome.tried.first == .restartScan)
            let back = fixture.radio.now
            while let report = try await listening.reports.next(), report.time <= back {}
            var others = other.makeAsyncIterator()
            #expect(try await others.next() != nil)
            await adapter.close()
        }
    }

    @Test func aSilentRoomDoesNotKeepTheRadioBusy() async throws {
        try await Fixture.run(limit: .seconds(200_000)) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let events = await adapter.healthEvents(bufferCapacity: 1000)
            let scan = try await adapter.scan()
            try await fixture.radio.sleep(for: .seconds(100_000))
            withExtendedLifetime(scan) {}
            await adapter.close()
            var count = 0
            for try await event in events { if event.began != nil { count += 1 } }
            // Five steps: at the beginning, and after 1, 2, 4 and 8 hours.
            #expect((20...25).contains(count), "\(count)")
        }
    }

    @Test func aHardwareErrorIsTold() async throws {
        try await Fixture.run { fixture in
            var listening = try await ListeningAdapter(fixture)
            let adapter = listening.adapter
            fixture.kernel.reportHardwareError(0x42, adapter: 0)
            var iterator = listening.events.makeAsyncIterator()
            #expect(try await iterator.next()?.problem?.hardwareErrorCode == 0x42)
            #expect(try await listening.reports.next() != nil)
            await adapter.close()
        }
    }

    @Test func aProgramThatActsItselfEndsTheRecovery() async throws {
        try await Fixture.run { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let events = await adapter.healthEvents()
            fixture.kernel.setFault(ControllerFault(.hangs, until: .unbinding), adapter: 0)
            _ = try? await adapter.hasExtendedAdvertising()
            for try await event in events { if event.began == .powerCycle { break } }
            // It waits for the step, which waits for the controller.
            try await adapter.setPowered(false)
            #expect(adapter.state == .poweredOff)
            fixture.kernel.setFault(nil, adapter: 0)
            try await adapter.setPowered(true)
            #expect(adapter.state == .poweredOn)
            #expect("\(await adapter.health)" == "good")
            await adapter.close()
        }
    }

    /// Somebody powers the adapter off while its controller hangs, so that powering on is not answered either.
    @Test(arguments: [ControllerFault.Cure.powerOff, .reset, .takingDown, .unbinding])
    func anAdapterThatDoesNotPowerOnComesBack(_ cure: ControllerFault.Cure) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            let events = await adapter.healthEvents()
            fixture.kernel.setFault(ControllerFault(.hangs, until: .unbinding), adapter: 0)
            fixture.kernel.setPowered(false, adapter: 0)
            // What has taken the adapter down has not cured it.
            fixture.kernel.setFault(ControllerFault(.hangs, until: cure), adapter: 0)
            let outcome = try await events.steps()
            #expect(outcome.tried.first == .powerCycle)
            #expect(outcome.helped != nil)
            #expect(adapter.state == .poweredOn)
            await adapter.close()
        }
    }

    /// Also without the recovery: what `power: .keepOn` promises is tried again, at growing intervals.
    @Test(arguments: [RecoveryOptions.Mode.off, .reportOnly])
    func powerThatFailsToComeBackIsTriedAgain(_ mode: RecoveryOptions.Mode) async throws {
        try await Fixture.run(limit: .seconds(100_000)) { fixture in
            let adapter = try await Adapter.open(
                power: .keepOn, configuration: .init(recovery: RecoveryOptions(mode: mode)), on: fixture.kernel)
            fixture.kernel.setFault(ControllerFault(.hangs, until: .unbinding), adapter: 0)
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(2000))
            #expect(adapter.state == .poweredOff)
            fixture.kernel.setFault(nil, adapter: 0)
            let start = fixture.radio.now
            try await adapter.ready(timeout: .seconds(7200))
            #expect(start.duration(to: fixture.radio.now) < .seconds(3700))
            try await fixture.radio.sleep(for: .seconds(60))
            #expect("\(await adapter.health)" == "good")
            await adapter.close()
        }
    }

    @Test func aProgramThatPowersOffIsNotContradicted() async throws {
        try await Fixture.run(limit: .seconds(100_000)) { fixture in
            let adapter = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            fixture.kernel.setFault(ControllerFault(.hangs, until: .unbinding), adapter: 0)
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(15))
            _ = try? await adapter.setPowered(false)
            fixture.kernel.setFault(nil, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(20_000))
            #expect(adapter.state == .poweredOff)
            await adapter.close()
        }
    }

    /// The limit follows from the first advertisement on, not from the next time the scan is looked at.
    @Test func aScanThatFallsSilentAtItsBeginningIsNoticedSoon() async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let listening = try await ListeningAdapter(fixture)
            let adapter = listening.adapter
            fixture.kernel.setFault(ControllerFault(.hearsNothing, until: .scanRestart), adapter: 0)
            let start = fixture.radio.now
            for try await event in listening.events { if event.problem?.silence != nil { break } }
            #expect(start.duration(to: fixture.radio.now) < .seconds(40))
            await adapter.close()
        }
    }

    /// An adapter that is plugged in is off as well.
    @Test func onlyAnAdapterThatWasOnCountsAsPoweredOff() async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            let events = await adapter.healthEvents()
            fixture.kernel.unplug(0)
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.kernel.plug(SimulatedController(address: adapter.information.publicAddress))
            try await adapter.ready(timeout: .seconds(60))
            await adapter.close()
            for try await event in events { Issue.record("\(event)") }
        }
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            let events = await adapter.healthEvents()
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(1))
            try await adapter.ready(timeout: .seconds(60))
            await adapter.close()
            var count = 0
            for try await event in events { if event.problem == .poweredOff { count += 1 } }
            #expect(count == 1)
        }
    }

    @Test func nothingIsDoneIfItIsSwitchedOff() async throws {
        try await Fixture.run(limit: .seconds(100_000)) { fixture in
            let adapter = try await Adapter.open(
                power: .powerOn, configuration: .init(recovery: RecoveryOptions(mode: .off)), on: fixture.kernel)
            let events = await adapter.healthEvents()
            let scan = try await adapter.scan()
            try await fixture.radio.sleep(for: .seconds(50_000))
            withExtendedLifetime(scan) {}
            await adapter.close()
            for try await event in events { Issue.record("\(event)") }
        }
    }
}
