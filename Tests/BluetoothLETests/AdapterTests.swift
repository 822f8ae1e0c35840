import SimulatedKernel
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct AdapterTests {
    @Test func allAdaptersAreListedByIndexWithoutPrivileges() async throws {
        try await Story.run([.fresh, SimulatedController(family: .legacy, isDualMode: false)]) { story in
            story.kernel.hasNetAdmin = false
            story.kernel.hasNetRaw = false
            let all = try await Adapter.all(on: story.kernel)
            #expect(all.map(\.name) == ["hci0", "hci1"])
            #expect(all.map(\.isPowered) == [false, true])
            #expect(all.map(\.isDualMode) == [true, false])
            #expect(all.map(\.isLowEnergyEnabled) == [false, true])
        }
    }

    @Test func anAdapterThatIsOffIsOnlySwitchedOnWhenAllowed() async throws {
        try await Story.run([.fresh]) { story in
            let error = await failure { _ = try await Adapter.open(on: story.kernel) }
            #expect(error?.code == .adapterOff)
            #expect(error?.remedy?.contains("ble power on") == true)
            let adapter = try await Adapter.open(power: .powerOn, on: story.kernel)
            #expect(adapter.information.isPowered && adapter.information.isLowEnergyEnabled)
        }
    }

    @Test func lowEnergyIsSwitchedOnAtADualModeAdapterThatIsOn() async throws {
        try await Story.run([SimulatedController(isLEEnabled: false)]) { story in
            let adapter = try await Adapter.open(on: story.kernel)
            #expect(adapter.information.isLowEnergyEnabled)
        }
    }

    @Test func theFirstAdapterIsOneThatIsOnAndHasLowEnergy() async throws {
        try await Story.run([SimulatedController(hasLE: false), .fresh, SimulatedController()]) { story in
            let first = try await Adapter.open(on: story.kernel)
            #expect(first.information.index == 2)
            #expect(await failure { _ = try await Adapter.open(.index(0), on: story.kernel) }?.code == .unsupported)
            let missing = await failure { _ = try await Adapter.open(.index(7), on: story.kernel) }
            #expect(missing?.code == .noAdapter)
            #expect(missing?.message.contains("hci1") == true)
        }
    }

    @Test func aControllerWithoutAnAddressGetsAStaticOne() async throws {
        let bare = SimulatedController(address: .zero, isDualMode: false, isPowered: false)
        try await Story.run([bare]) { story in
            let peripheral = SimulatedPeripheral(on: story.radio)
            let adapter = try await Adapter.open(power: .powerOn, on: story.kernel)
            #expect(adapter.information.address.kind == .random)
            #expect(!adapter.information.address.isZero)
            #expect(adapter.information.currentSettings.contains(.staticAddress))
            let seen = try await adapter.first(timeout: .seconds(5)) { _ in true }
            #expect(seen.address == peripheral.address)
            // A second program finds it switched on, and cannot know the address.
            let again = try await Adapter.open(on: story.kernel)
            _ = try await again.first(timeout: .seconds(5)) { _ in true }
        }
    }

    @Test func nothingToUseIsToldWithItsFix() async throws {
        try await Story.run([]) { story in
            let all = try await Adapter.all(on: story.kernel)
            #expect(all.isEmpty)
            let error = await failure { _ = try await Adapter.open(on: story.kernel) }
            #expect(error?.code == .noAdapter)
            #expect(error?.remedy?.contains("/sys/class/bluetooth") == true)
            story.kernel.socketError = KernelError("socket", .addressFamilyNotSupported)
            let none = await failure { _ = try await Adapter.all(on: story.kernel) }
            #expect(none?.code == .noBluetooth)
            #expect(none?.remedy?.contains("sudo modprobe btusb\n") == true)
            #expect(await failure { _ = try await Adapter.open(on: story.kernel) }?.code == .noBluetooth)
        }
    }

    @Test(arguments: [true, false]) func aRadioSwitchIsToldWithItsFix(_ isHard: Bool) async throws {
        try await Story.run([.fresh]) { story in
            story.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: !isHard, isHardBlocked: isHard)
            let error = await failure { _ = try await Adapter.open(power: .powerOn, on: story.kernel) }
            #expect(error?.code == .adapterBlocked)
            #expect(error?.remedy?.contains(isHard ? "switch of the machine" : "rfkill unblock bluetooth") == true)
        }
    }

    @Test func aMissingCapabilityNamesTheProgram() async throws {
        try await Story.run([.fresh, SimulatedController()]) { story in
            story.kernel.hasNetAdmin = false
            story.kernel.hasNetRaw = false
            story.kernel.executablePath = "/opt/my program"
            let off = await failure { _ = try await Adapter.open(.index(0), power: .powerOn, on: story.kernel) }
            #expect(off?.code == .notPermitted)
            #expect(off?.remedy?.contains("setcap 'cap_net_raw,cap_net_admin+eip' \"/opt/my program\"") == true)
            // One that is ready can be opened, but not scanned with.
            let adapter = try await Adapter.open(.index(1), on: story.kernel)
            let scan = await failure { _ = try await adapter.scan() }
            #expect(scan?.code == .notPermitted)
            #expect(scan?.remedy?.contains("/opt/my program") == true)
            // Connecting needs none.
            let peripheral = SimulatedPeripheral(on: story.radio, gatt: try SimulatedGATTServer([]))
            let connection = try await adapter.connect(to: peripheral.address)
            await connection.disconnect()
        }
    }

    @Test func powerOnIsAskedAgainWhileTheKernelIsBusy() async throws {
        try await Story.run([.fresh]) { story in
            story.kernel.setRefusal(.busy, of: .setPowered)
            let opening = story.begin { try await Adapter.open(power: .powerOn, on: story.kernel) }
            try await story.radio.sleep(for: .milliseconds(550))
            story.kernel.setRefusal(nil, of: .setPowered)
            let adapter = try await opening.value
            #expect(adapter.information.isPowered)

            story.kernel.setPowered(false, adapter: 0)
            story.kernel.setRefusal(.busy, of: .setPowered)
            story.kernel.isBluetoothDaemonRunning = true
            let error = await failure { _ = try await Adapter.open(power: .powerOn, on: story.kernel) }
            #expect(error?.code == .busy)
            #expect(error?.remedy?.contains("systemctl stop bluetooth") == true)
        }
    }

    @Test func openingEndsWhenItIsCancelledOrTheKernelIsSilent() async throws {
        try await Story.run([.fresh]) { story in
            story.kernel.setSilent(true, for: .setPowered)
            let opening = story.begin { try await Adapter.open(power: .powerOn, on: story.kernel) }
            try await story.radio.sleep(for: .seconds(1))
            opening.cancel()
            #expect(await failure { _ = try await opening.value }?.code == .cancelled)
            #expect(
                await failure { _ = try await Adapter.open(power: .powerOn, on: story.kernel) }?.code == .timedOut)
        }
    }

    @Test func anAdapterThatIsClosedOrOffRefusesEverything() async throws {
        try await Story.run { story in
            let closed = try await Adapter.open(on: story.kernel)
            await closed.close()
            #expect(await failure { _ = try await closed.scan() }?.code == .cancelled)
            #expect(await failure { _ = try await closed.connect(to: .zero) }?.code == .cancelled)
            let adapter = try await Adapter.open(on: story.kernel)
            story.kernel.setPowered(false, adapter: 0)
            try await story.radio.sleep(for: .seconds(1))
            #expect(await failure { _ = try await adapter.scan() }?.code == .adapterOff)
            #expect(await failure { _ = try await adapter.connect(to: .zero) }?.code == .adapterOff)
        }
    }

    @Test func theDiagnosisNamesEachProblemOnce() async throws {
        try await Story.run([.fresh]) { story in
            story.kernel.hasNetAdmin = false
            story.kernel.isBluetoothDaemonRunning = true
            story.kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
            let diagnosis = await Diagnosis.run(on: story.kernel)
            #expect(!diagnosis.isUsable)
            let failures = diagnosis.findings.filter { $0.verdict == .failure }
            #expect(failures.map(\.subject) == ["hci0"])
            #expect(diagnosis.findings.filter { $0.verdict != .good }.allSatisfy { $0.remedy != nil })
            story.kernel.setSilent(true, for: .readControllerIndexList)
            let silent = await Diagnosis.run(on: story.kernel)
            #expect(silent.findings.filter { $0.subject == "adapters" }.count == 1)
        }
    }
}
