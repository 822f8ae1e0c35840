import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Controllers that lose their public address, as some do in a reset, and answer with another one.
@Suite struct AddressChangeTests {
    private static let other = BluetoothAddress(0xAABB_CCDD_EEFF, kind: .public)

    private static func lose(until cure: ControllerFault.Cure) -> ControllerFault {
        ControllerFault(.answersAs(other), until: cure)
    }

    /// Waits for the notice; returns both addresses.
    private static func notice(_ events: BoundedStream<HealthEvent>) async throws -> [BluetoothAddress] {
        for try await event in events {
            if case .addressChanged(let own, let other)? = event.problem?.kind { return [own, other] }
        }
        return []
    }

    @Test(
        arguments: [
            (ControllerFault.Cure.reset, [.powerCycle, .reset]), (.takingDown, [.powerCycle, .reset, .restart]),
            (.unbinding, [.powerCycle, .reset, .restart, .rebind]),
        ] as [(ControllerFault.Cure, [RecoveryStep])], [AdapterUnavailablePolicy.end, .resume])
    func aControllerThatAnswersWithAnotherAddressComesBack(
        _ recovery: (cure: ControllerFault.Cure, steps: [RecoveryStep]), _ policy: AdapterUnavailablePolicy
    ) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            var listening = try await ListeningAdapter(fixture, policy)
            let adapter = listening.adapter
            let own = adapter.information.address
            let events = await adapter.healthEvents()
            fixture.kernel.setFault(Self.lose(until: recovery.cure), adapter: 0)
            // The kernel closes and opens the adapter for it.
            fixture.kernel.reportHardwareError(1, adapter: 0)
            #expect(try await Self.notice(listening.events) == [own, Self.other])
            #expect(adapter.state == .absent)
            // It is not used under the other address.
            let error = await failure { _ = try await adapter.connect(to: Self.other) }
            #expect(error?.code == .noAdapter)
            #expect(error?.message == "hci0 reports the address \(Self.other.digits) instead of \(own.digits).")
            let outcome = try await events.steps()
            #expect(outcome.tried == recovery.steps)
            #expect(outcome.helped == recovery.steps.last)
            #expect(adapter.information.address == own)
            #expect(try await listening.nextReport(fixture) != nil)
            #expect("\(await adapter.health)" == "good")
            await adapter.close()
        }
    }

    @Test func theRecoveryGivesUpAndReplugThenHelps() async throws {
        try await Fixture.run(limit: .seconds(36_000)) { fixture in
            var listening = try await ListeningAdapter(fixture, .resume)
            let adapter = listening.adapter
            let own = adapter.information.address
            fixture.kernel.setFault(Self.lose(until: .losingPower), adapter: 0)
            fixture.kernel.reportHardwareError(1, adapter: 0)
            var steps: [RecoveryStep] = []
            var end: BluetoothError?
            for try await event in listening.events {
                if let step = event.began { steps.append(step) }
                guard let (error, _) = event.gaveUp else { continue }
                end = error
                break
            }
            #expect(steps == [.powerCycle, .reset, .restart, .rebind])
            #expect(end?.message.contains("\(Self.other.digits) instead of \(own.digits)") == true)
            #expect(end?.remedy?.hasPrefix("Unplug it") == true)
            fixture.kernel.unplug(0)
            try await fixture.radio.sleep(for: .seconds(10))
            fixture.kernel.plug(SimulatedController(address: own))
            try await adapter.ready(timeout: .seconds(60))
            #expect(try await listening.nextReport(fixture) != nil)
            #expect("\(await adapter.health)" == "good")
            await adapter.close()
        }
    }

    /// Also if nothing is done about it, and if another program has opened the controller.
    @Test func theChangeIsNoticedWithoutRecovery() async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let listening = try await ListeningAdapter(
                fixture, recovery: RecoveryOptions(mode: .reportOnly), .resume)
            let adapter = listening.adapter
            let events = await adapter.healthEvents()
            fixture.kernel.setFault(Self.lose(until: .unbinding), adapter: 0)
            fixture.kernel.setPowered(false, adapter: 0)
            fixture.kernel.setPowered(true, adapter: 0)
            #expect(try await Self.notice(listening.events).last == Self.other)
            fixture.kernel.setFault(nil, adapter: 0)
            fixture.kernel.setPowered(false, adapter: 0)
            fixture.kernel.setPowered(true, adapter: 0)
            let outcome = try await events.steps()
            #expect(outcome.tried.isEmpty)
            #expect(adapter.state == .poweredOn)
            await adapter.close()
        }
    }

    @Test func anotherAdapterInItsPlaceIsNoFault() async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let own = adapter.information.address
            let events = await adapter.healthEvents()
            fixture.kernel.unplug(0)
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(fixture.kernel.plug(SimulatedController(address: Self.other)) == 0)
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(adapter.state == .absent)
            fixture.kernel.unplug(0)
            fixture.kernel.plug(SimulatedController(address: own))
            try await adapter.ready(timeout: .seconds(60))
            await adapter.close()
            for try await event in events { Issue.record("\(event)") }
        }
    }

    @Test func anAdapterThatPowersOnWithAnotherAddressIsNotOpened() async throws {
        try await Fixture.run { fixture in
            let own = try #require(try await Adapter.all(on: fixture.kernel).first?.address)
            fixture.kernel.setPowered(false, adapter: 0)
            fixture.kernel.setFault(Self.lose(until: .unbinding), adapter: 0)
            let error = await failure {
                _ = try await Adapter.open(.address(own), power: .powerOn, on: fixture.kernel)
            }
            #expect(error?.code == .noAdapter)
            #expect(
                error?.message.contains("reports the address \(Self.other.digits) instead of \(own.digits)") == true)
        }
    }
}
