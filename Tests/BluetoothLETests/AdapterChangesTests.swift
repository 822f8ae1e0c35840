import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Adapters that are plugged in and removed, and the choice among several.
@Suite struct AdapterChangesTests {
    @Test func addedRemovedAndChangedAdaptersAreReported() async throws {
        try await Fixture.run([SimulatedController(), .fresh]) { fixture in
            fixture.kernel.hasNetAdmin = false
            fixture.kernel.hasNetRaw = false
            var changes = try await Adapter.changes(on: fixture.kernel).makeAsyncIterator()
            func next() async throws -> String? { try await changes.next().map { "\($0)" } }
            var told: [String?] = [try await next(), try await next()]
            fixture.kernel.setPowered(true, adapter: 1)
            told.append(try await next())
            fixture.kernel.setRadioSwitch(adapter: 1, isSoftBlocked: true)
            // The radio switch and the power state are independent.
            told.append(try await next())
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.kernel.unplug(0)
            told.append(try await next())
            fixture.kernel.plug()
            told.append(try await next())
            #expect(
                told == [
                    "hci0 (00:AA:01:00:00:01) added: on", "hci1 (00:AA:01:00:00:02) added: off",
                    "hci1 (00:AA:01:00:00:02) changed: LE off",
                    "hci1 (00:AA:01:00:00:02) changed: blocked by rfkill (soft)", "hci0 (00:AA:01:00:00:01) removed",
                    "hci0 (00:AA:01:00:00:03) added: on",
                ])
        }
    }

    @Test func leavingTheStreamClosesItsSocket() async throws {
        try await Fixture.run { fixture in
            let before = fixture.kernel.managementSocketCount
            for try await _ in try await Adapter.changes(on: fixture.kernel) { break }
            try await fixture.settle { fixture.kernel.managementSocketCount == before }
            _ = try await Adapter.changes(on: fixture.kernel)
            try await fixture.settle { fixture.kernel.managementSocketCount == before }
        }
    }

    @Test func withoutBluetoothThereIsNothingToFollow() async throws {
        try await Fixture.run { fixture in
            fixture.kernel.socketError = KernelError("socket", .addressFamilyNotSupported)
            #expect(await failure { _ = try await Adapter.changes(on: fixture.kernel) }?.code == .noBluetooth)
        }
    }

    @Test func theFirstUsableOfSeveralAdaptersIsOpened() async throws {
        try await Fixture.run([.fresh, .fresh, SimulatedController()]) { fixture in
            fixture.kernel.setRadioSwitch(adapter: 0, isHardBlocked: true)
            fixture.kernel.setPowered(false, adapter: 2)
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            #expect(adapter.information.index == 1)

            fixture.kernel.setRadioSwitch(adapter: 1, isSoftBlocked: true)
            try await fixture.settle { !adapter.state.isReady }
            let error = await failure { _ = try await Adapter.open(on: fixture.kernel) }
            #expect(error?.code == .adapterBlocked)
            #expect(
                error?.message
                    == "No adapter can be used. hci0 is blocked by rfkill (hard). hci1 is blocked by rfkill (soft). hci2 is off."
            )
            // One line for each adapter, and a second for the one that is off.
            #expect(error?.remedy?.split(separator: "\n").count == 4)
            // A requested adapter is not replaced by another.
            let own = await failure { _ = try await Adapter.open(.index(0), power: .powerOn, on: fixture.kernel) }
            #expect(own?.code == .adapterBlocked)
        }
    }

    @Test func openingWaitsForAnAdapterToAppear() async throws {
        try await Fixture.run([]) { fixture in
            let time = await fixture.duration {
                let error = await failure {
                    _ = try await Adapter.open(configuration: .init(timeout: .seconds(2)), on: fixture.kernel)
                }
                #expect(error?.code == .noAdapter)
                #expect(error?.remedy?.contains("ble doctor") == true)
            }
            #expect(time >= .seconds(2) && time < .seconds(3))
            let wanted = SimulatedController(address: BluetoothAddress(0x00AA_0100_0042, kind: .public))
            let opening = fixture.begin {
                try await Adapter.open(
                    .address(BluetoothAddress(0x00AA_0100_0042, kind: .public)), power: .powerOn,
                    configuration: .init(timeout: .seconds(60)), on: fixture.kernel)
            }
            try await fixture.radio.sleep(for: .seconds(10))
            fixture.kernel.plug()
            try await fixture.radio.sleep(for: .seconds(10))
            let index = fixture.kernel.plug(wanted)
            let adapter = try await opening.value
            #expect(adapter.information.index == index)
            #expect(adapter.state == .poweredOn)
        }
    }

    @Test func openingWaitsForPowerAndForARadioSwitch() async throws {
        try await Fixture.run([.fresh]) { fixture in
            let opening = fixture.begin {
                try await Adapter.open(configuration: .init(timeout: .seconds(60)), on: fixture.kernel)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            fixture.kernel.setPowered(true, adapter: 0)
            let adapter = try await opening.value
            #expect(adapter.information.isLowEnergyEnabled)
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            try await fixture.settle { !adapter.state.isReady }
            let blocked = fixture.begin {
                try await Adapter.open(power: .powerOn, configuration: .init(timeout: .seconds(60)), on: fixture.kernel)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            fixture.kernel.setRadioSwitch(adapter: 0)
            #expect(try await blocked.value.state == .poweredOn)
        }
    }

    @Test func aWaitingOpenCanBeCancelled() async throws {
        try await Fixture.run([]) { fixture in
            let opening = fixture.begin {
                try await Adapter.open(configuration: .init(timeout: .seconds(3600)), on: fixture.kernel)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            opening.cancel()
            #expect(await failure { _ = try await opening.value }?.code == .cancelled)
            try await fixture.settle { fixture.kernel.managementSocketCount == 0 }
        }
    }

    @Test func aControllerWithoutAnAddressIsRecognisedAgain() async throws {
        let bare = SimulatedController(address: .zero, isDualMode: false, isPowered: false)
        try await Fixture.run([bare]) { fixture in
            let peripheral = try fixture.makePeripheral()
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            let address = adapter.information.address
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            fixture.kernel.plug(bare)
            try await adapter.ready(timeout: .seconds(3))
            #expect(adapter.information.address == address)
            let connection = try await adapter.connect(to: peripheral.address)
            await connection.disconnect()
        }
    }
}
