import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

@Suite struct AdapterTests {
    @Test func allAdaptersAreListedByIndexWithoutPrivileges() async throws {
        try await Fixture.run([.fresh, SimulatedController(family: .legacy, isDualMode: false)]) { fixture in
            fixture.kernel.hasNetAdmin = false
            fixture.kernel.hasNetRaw = false
            let all = try await Adapter.all(on: fixture.kernel)
            #expect(all.map(\.name) == ["hci0", "hci1"])
            #expect(all.map(\.isPowered) == [false, true])
            #expect(all.map(\.isDualMode) == [true, false])
            #expect(all.map(\.isLowEnergyEnabled) == [false, true])
        }
    }

    @Test func anAdapterThatIsOffIsOnlySwitchedOnWhenAllowed() async throws {
        try await Fixture.run([.fresh]) { fixture in
            let error = await failure { _ = try await Adapter.open(on: fixture.kernel) }
            #expect(error?.code == .adapterOff)
            #expect(error?.remedy?.contains("ble power on") == true)
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            #expect(adapter.information.isPowered && adapter.information.isLowEnergyEnabled)
        }
    }

    @Test func lowEnergyIsSwitchedOnAtADualModeAdapterThatIsOn() async throws {
        try await Fixture.withAdapter([SimulatedController(isLEEnabled: false)]) { _, adapter in
            #expect(adapter.information.isLowEnergyEnabled)
        }
    }

    @Test func theFirstAdapterIsOneThatIsOnAndHasLowEnergy() async throws {
        try await Fixture.run([SimulatedController(hasLE: false), .fresh, SimulatedController()]) { fixture in
            let first = try await Adapter.open(on: fixture.kernel)
            #expect(first.information.index == 2)
            #expect(await failure { _ = try await Adapter.open(.index(0), on: fixture.kernel) }?.code == .unsupported)
            let missing = await failure { _ = try await Adapter.open(.index(7), on: fixture.kernel) }
            #expect(missing?.code == .noAdapter)
            #expect(missing?.message.contains("hci1") == true)
        }
    }

    @Test func aControllerWithoutAnAddressGetsAStaticOne() async throws {
        let bare = SimulatedController(address: .zero, isDualMode: false, isPowered: false)
        try await Fixture.run([bare]) { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio)
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            #expect(adapter.information.address.kind == .random)
            #expect(!adapter.information.address.isZero)
            #expect(adapter.information.activeFeatures.contains(.staticAddress))
            let seen = try await adapter.firstAdvertisement(timeout: .seconds(5)) { _ in true }
            #expect(seen.address == peripheral.address)
            // A second program finds it powered on, and does not know the address.
            let again = try await Adapter.open(on: fixture.kernel)
            _ = try await again.firstAdvertisement(timeout: .seconds(5)) { _ in true }
        }
    }

    @Test func noUsableAdapterIsReportedWithTheFix() async throws {
        try await Fixture.run([]) { fixture in
            let all = try await Adapter.all(on: fixture.kernel)
            #expect(all.isEmpty)
            let error = await failure { _ = try await Adapter.open(on: fixture.kernel) }
            #expect(error?.code == .noAdapter)
            #expect(error?.remedy?.contains("ble doctor") == true)
            fixture.kernel.socketError = KernelError("socket", .addressFamilyNotSupported)
            let none = await failure { _ = try await Adapter.all(on: fixture.kernel) }
            #expect(none?.code == .noBluetooth)
            #expect(none?.remedy?.contains("sudo modprobe btusb\n") == true)
            #expect(await failure { _ = try await Adapter.open(on: fixture.kernel) }?.code == .noBluetooth)
        }
    }

    @Test(arguments: [true, false]) func aRadioSwitchIsReportedWithTheFix(_ isHard: Bool) async throws {
        try await Fixture.run([.fresh]) { fixture in
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: !isHard, isHardBlocked: isHard)
            let error = await failure { _ = try await Adapter.open(power: .powerOn, on: fixture.kernel) }
            #expect(error?.code == .adapterBlocked)
            #expect(error?.remedy?.contains(isHard ? "radio switch" : "rfkill unblock bluetooth") == true)
        }
    }

    @Test func aMissingCapabilityNamesTheProgram() async throws {
        try await Fixture.run([.fresh, SimulatedController()]) { fixture in
            fixture.kernel.hasNetAdmin = false
            fixture.kernel.hasNetRaw = false
            fixture.kernel.executablePath = "/opt/my program"
            let off = await failure { _ = try await Adapter.open(.index(0), power: .powerOn, on: fixture.kernel) }
            #expect(off?.code == .notPermitted)
            #expect(off?.remedy?.contains("setcap 'cap_net_raw,cap_net_admin+eip' \"/opt/my program\"") == true)
            // A powered adapter without permissions can be opened, but not scanned with.
            let adapter = try await Adapter.open(.index(1), on: fixture.kernel)
            let scan = await failure { _ = try await adapter.scan() }
            #expect(scan?.code == .notPermitted)
            #expect(scan?.remedy?.contains("/opt/my program") == true)
            // Connecting needs no privilege.
            let peripheral = try fixture.makePeripheral()
            let connection = try await adapter.connect(to: peripheral.address)
            await connection.disconnect()
        }
    }

    @Test func powerOnIsRepeatedWhileTheKernelIsBusy() async throws {
        try await Fixture.run([.fresh]) { fixture in
            fixture.kernel.setRefusal(.busy, of: .setPowered)
            let opening = fixture.begin { try await Adapter.open(power: .powerOn, on: fixture.kernel) }
            try await fixture.radio.sleep(for: .milliseconds(550))
            fixture.kernel.setRefusal(nil, of: .setPowered)
            let adapter = try await opening.value
            #expect(adapter.information.isPowered)

            fixture.kernel.setPowered(false, adapter: 0)
            fixture.kernel.setRefusal(.busy, of: .setPowered)
            fixture.kernel.isBluetoothDaemonRunning = true
            let error = await failure { _ = try await Adapter.open(power: .powerOn, on: fixture.kernel) }
            #expect(error?.code == .busy)
            #expect(error?.remedy?.contains("systemctl stop bluetooth") == true)
        }
    }

    @Test func openingEndsWhenItIsCancelledOrTheKernelIsSilent() async throws {
        try await Fixture.run([.fresh]) { fixture in
            fixture.kernel.setSilent(true, for: .setPowered)
            let opening = fixture.begin { try await Adapter.open(power: .powerOn, on: fixture.kernel) }
            try await fixture.radio.sleep(for: .seconds(1))
            opening.cancel()
            #expect(await failure { _ = try await opening.value }?.code == .cancelled)
            #expect(
                await failure { _ = try await Adapter.open(power: .powerOn, on: fixture.kernel) }?.code == .timedOut)
        }
    }

    @Test func aClosedOrPoweredOffAdapterRefusesEverything() async throws {
        try await Fixture.run { fixture in
            let closed = try await Adapter.open(on: fixture.kernel)
            await closed.close()
            #expect(await failure { _ = try await closed.scan() }?.code == .cancelled)
            #expect(await failure { _ = try await closed.connect(to: .zero) }?.code == .cancelled)
            let adapter = try await Adapter.open(on: fixture.kernel)
            fixture.kernel.setPowered(false, adapter: 0)
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(await failure { _ = try await adapter.scan() }?.code == .adapterOff)
            #expect(await failure { _ = try await adapter.connect(to: .zero) }?.code == .adapterOff)
        }
    }

    @Test func theDiagnosisNamesEachProblemOnce() async throws {
        try await Fixture.run([.fresh]) { fixture in
            fixture.kernel.hasNetAdmin = false
            fixture.kernel.isBluetoothDaemonRunning = true
            fixture.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            let diagnosis = await Diagnosis.run(on: fixture.kernel)
            #expect(!diagnosis.isUsable)
            let failures = diagnosis.findings.filter { $0.verdict == .failure }
            #expect(failures.map(\.subject) == ["hci0"])
            #expect(diagnosis.findings.filter { $0.verdict != .good }.allSatisfy { $0.remedy != nil })
            fixture.kernel.setSilent(true, for: .readControllerIndexList)
            let silent = await Diagnosis.run(on: fixture.kernel)
            #expect(silent.findings.filter { $0.subject == "adapters" }.count == 1)
        }
    }
}
