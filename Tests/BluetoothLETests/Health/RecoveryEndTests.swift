import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Programs that end during a recovery, and radios that work again without one.
@Suite struct RecoveryEndTests {
    /// At each moment of a step that takes the adapter away, also in a task that a signal has cancelled.
    @Test(arguments: [RecoveryStep.powerCycle, .restart], [false, true])
    func closingDuringAStepLeavesTheAdapterOn(_ last: RecoveryStep, isCancelled: Bool) async throws {
        for delay in [0, 1, 2, 5, 20] {
            // A silent room.
            try await Fixture.run(limit: .seconds(36_000)) { fixture in
                let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
                let events = await adapter.healthEvents()
                let scan = try await adapter.scan(ScanOptions(duplicates: .all))
                for try await event in events { if event.began == last { break } }
                try await fixture.radio.sleep(for: .milliseconds(delay))
                let close = fixture.begin {
                    if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
                    await adapter.close()
                }
                try await close.value
                #expect(try await Adapter.all(on: fixture.kernel).first?.state == .poweredOn, "after \(delay) ms")
                withExtendedLifetime(scan) {}
            }
        }
    }

    /// Without the privilege to recover it, or without the order to.
    @Test(arguments: [RecoveryOptions.Mode.recover, .reportOnly], [false, true])
    func aControllerThatAnswersAgainIsGood(_ mode: RecoveryOptions.Mode, isAsked: Bool) async throws {
        try await Fixture.run(limit: .seconds(36_000)) { fixture in
            fixture.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(
                configuration: .init(recovery: RecoveryOptions(mode: mode)), on: fixture.kernel)
            let events = await adapter.healthEvents(bufferCapacity: 1000)
            fixture.kernel.setFault(ControllerFault(.hangs, until: .unbinding), adapter: 0)
            _ = try? await adapter.hasExtendedAdvertising()
            try await fixture.settle { await adapter.health.hasFailed }
            fixture.kernel.setFault(nil, adapter: 0)
            if isAsked {
                #expect("\(try await adapter.checkHealth())" == "good")
            }
            try await fixture.radio.sleep(for: .seconds(3700))
            #expect("\(await adapter.health)" == "good")
            await adapter.close()
            var steps = 0
            var hasRecovered = false
            for try await event in events {
                if event.began != nil { steps += 1 }
                if event.isRecovered, event.helpfulStep == nil { hasRecovered = true }
            }
            #expect(hasRecovered)
            // Nothing was done to a controller that answers.
            #expect(steps <= (mode == .recover ? 4 : 0), "\(steps)")
        }
    }

    /// A controller that answers again is not powered off for an earlier problem, when the links of others have ended.
    @Test func aControllerThatAnswersAgainIsLeftAlone() async throws {
        try await Fixture.run(limit: .seconds(36_000)) { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: try SimulatedGATTServer([]))
            let other = try await Adapter.open(
                power: .powerOn, configuration: .init(recovery: RecoveryOptions(mode: .off)), on: fixture.kernel)
            let link = try await other.connect(to: peripheral.address)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let events = await adapter.healthEvents(bufferCapacity: 1000)
            fixture.kernel.setFault(ControllerFault(.hangs, until: .unbinding), adapter: 0)
            _ = try? await adapter.hasExtendedAdvertising()
            for try await event in events { if event.waitingForLinks != nil { break } }
            fixture.kernel.setFault(nil, adapter: 0)
            await link.disconnect()
            let own = try await adapter.connect(to: peripheral.address)
            try await fixture.radio.sleep(for: .seconds(3600))
            #expect(await own.isConnected)
            await own.disconnect()
            await adapter.close()
            await other.close()
        }
    }

    @Test func withoutAWatchNothingIsReported() async throws {
        try await Fixture.run { fixture in
            let adapter = try await Adapter.open(
                power: .powerOn, configuration: .init(recovery: RecoveryOptions(mode: .off)), on: fixture.kernel)
            let events = await adapter.healthEvents()
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(adapter.state == .poweredOff)
            await adapter.close()
            for try await event in events { Issue.record("\(event)") }
        }
    }

    @Test func aClosedAdapterHasNoEvents() async throws {
        try await Fixture.run { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            await adapter.close()
            for try await event in await adapter.healthEvents() { Issue.record("\(event)") }
        }
    }

    @Test(arguments: [
        Duration.zero...(.zero), .seconds(-5)...(.seconds(30)), .milliseconds(999)...(.seconds(60)),
    ])
    func aTimeOfSilenceThatIsTooShortIsRefused(_ silence: ClosedRange<Duration>) async throws {
        try await Fixture.run { fixture in
            let error = await failure {
                _ = try await Adapter.open(
                    configuration: .init(recovery: RecoveryOptions(silence: silence)), on: fixture.kernel)
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func aTimeOfSilenceMayBeLongerThanTheClock() async throws {
        try await Fixture.run(limit: .seconds(36_000)) { fixture in
            let silence = Duration.seconds(1)...(.seconds(Int64.max))
            let adapter = try await Adapter.open(
                power: .powerOn, configuration: .init(recovery: RecoveryOptions(silence: silence)), on: fixture.kernel)
            let scan = try await adapter.scan()
            try await fixture.radio.sleep(for: .seconds(3600))
            withExtendedLifetime(scan) {}
            await adapter.close()
        }
    }

    /// Two programs, or two parts of one, that notice the same.
    @Test(arguments: [ControllerFault.Symptom.hearsNothing, .hangs])
    func twoRecoveriesOfAnAdapterLeaveItOn(_ symptom: ControllerFault.Symptom) async throws {
        try await Fixture.run(limit: .seconds(36_000)) { fixture in
            SimulatedPeripheral(on: fixture.radio, advertisements: [.beacon([2, 0x01, 0x06], interval: .seconds(2))])
            let adapters = [
                try await Adapter.open(power: .powerOn, on: fixture.kernel),
                try await Adapter.open(on: fixture.kernel),
            ]
            var scans: [BoundedStream<Advertisement>.AsyncIterator] = []
            for adapter in adapters {
                let scan = try await adapter.scan(ScanOptions(duplicates: .all, whenAdapterUnavailable: .resume))
                scans.append(scan.makeAsyncIterator())
            }
            for index in scans.indices { _ = try await scans[index].next() }
            fixture.kernel.setFault(ControllerFault(symptom, until: .reset), adapter: 0)
            try await fixture.radio.sleep(for: .seconds(900))
            for adapter in adapters { #expect(adapter.state == .poweredOn) }
            let now = fixture.radio.now
            for index in scans.indices { while let report = try await scans[index].next(), report.time < now {} }
            for adapter in adapters { await adapter.close() }
        }
    }
}
