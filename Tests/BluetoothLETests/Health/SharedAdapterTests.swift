import BluetoothSimulation
import Testing

@testable import BluetoothLE

/// Two sessions of one program on one adapter, which do not take each other's doing for another program's.
@Suite struct SharedAdapterTests {
    @Test(arguments: [ControllerFault.Cure.powerOff, .takingDown, .unbinding])
    func aStepOfOneSessionIsNoPowerOffForTheOther(_ cure: ControllerFault.Cure) async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            var watched = try await ListeningAdapter(fixture, recovery: RecoveryOptions(mode: .reportOnly))
            let recovering = try await ListeningAdapter(fixture)
            fixture.kernel.setFault(ControllerFault(.hearsNothing, until: cure), adapter: 0)
            #expect(try await recovering.events.steps().helped != nil)
            // Its scan, which would end with the adapter, goes on.
            #expect(try await watched.nextReport(fixture) != nil)
            #expect(watched.adapter.state == .poweredOn)
            await recovering.adapter.close()
            await watched.adapter.close()
            for try await event in watched.events {
                if event.problem == .poweredOff { Issue.record("taken for another program's") }
            }
        }
    }

    @Test func whatOneSessionSwitchesOffTheOtherDoesNotSwitchOn() async throws {
        try await Fixture.run(limit: .seconds(36_000)) { fixture in
            let one = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let other = try await Adapter.open(power: .keepOn, on: fixture.kernel)
            let events = await other.healthEvents()
            try await one.setPowered(false)
            try await fixture.radio.sleep(for: .seconds(7200))
            #expect(other.state == .poweredOff)
            try await one.setPowered(true)
            try await other.ready(timeout: .seconds(1))
            // Another program does.
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(other.state == .poweredOn)
            await one.close()
            await other.close()
            var count = 0
            for try await event in events { if event.problem == .poweredOff { count += 1 } }
            #expect(count == 1)
        }
    }

    /// Opening it with another privacy mode powers it off and on.
    @Test func openingASecondTimeIsNoPowerOff() async throws {
        try await Fixture.run { fixture in
            var listening = try await ListeningAdapter(fixture)
            let second = try await Adapter.open(power: .powerOn, configuration: .init(privacy: .on), on: fixture.kernel)
            #expect(try await listening.nextReport(fixture) != nil)
            await second.close()
            await listening.adapter.close()
            for try await event in listening.events { Issue.record("\(event)") }
        }
    }
}
