import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import Testing

/// Adapters that go and come back.
@Suite struct AdapterLifeTests {
    @Test func powerOffAndOn() async throws {
        try await Fixture.withDevice { fixture, device, program in
            await program.perform { manager, _ in
                manager.scanForPeripherals(withServices: nil)
                #expect(manager.isScanning)
            }
            program.then["state 4"] = { program, _ in
                #expect(program.manager?.isScanning == false)
                #expect(program.peripherals.first?.state == .disconnected)
            }
            _ = program.take()
            fixture.kernel.setPowered(false, adapter: 0)
            await program.wait(for: "disconnected CBError 3")
            let told = program.take().filter { !$0.hasPrefix("discovered") }
            #expect(told == ["state 4", "disconnected CBError 3"])
            await program.perform { manager, program in
                #expect(program.peripherals.first?.services == nil)
                // All of these are logged, and have no effect.
                manager.scanForPeripherals(withServices: nil)
                #expect(!manager.isScanning)
                if let peripheral = program.peripherals.first { manager.connect(peripheral) }
                #expect(program.peripherals.first?.state == .disconnected)
                #expect(manager.retrievePeripherals(withIdentifiers: [UUID()]).isEmpty)
            }
            fixture.kernel.setPowered(true, adapter: 0)
            await program.wait(for: "state 5", count: 2)
            #expect(program.take() == ["state 5"])
            withExtendedLifetime(device) {}
            _ = try #require(await program.reachAgain())
        }
    }

    /// The last manager is released while the adapter is being opened for it, and another is created.
    @Test func aManagerThatComesWhileTheAdapterIsOpenedForAnother() async throws {
        for step in 0..<60 {
            try await Fixture.run(SimulatedController()) { fixture in
                let device = try Device(on: fixture.radio)
                let first = Recorder(fixture)
                first.manager = CBCentralManager(delegate: first, queue: fixture.queue)
                try await fixture.radio.sleep(for: .microseconds(100 * step))
                let second = Recorder(fixture)
                second.then["state 5"] = { program, _ in program.manager?.scanForPeripherals(withServices: nil) }
                let hold = fixture.radio
                hold.pauseTime()
                first.manager = nil
                second.manager = CBCentralManager(delegate: second, queue: fixture.queue)
                hold.resumeTime()
                await second.wait(for: "discovered \(Device.name)")
                withExtendedLifetime(device) {}
            }
        }
    }

    @Test(arguments: [true, false]) func aBlockedOrMissingAdapter(isPlugged: Bool) async throws {
        let radio = SimulatedRadio(time: .virtual)
        let kernel = radio.makeKernel(adapters: isPlugged ? [.fresh] : [])
        if isPlugged { kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true) }
        let fixture = Fixture(radio: radio, kernel: kernel)
        try await CBLinux.withKernel(kernel) {
            try await radio.run {
                let recorder = Recorder(fixture)
                recorder.manager = CBCentralManager(delegate: recorder, queue: fixture.queue)
                #expect(recorder.manager?.state == .unknown)
                let state = isPlugged ? "state 4" : "state 2"
                await recorder.wait(for: state)
                if isPlugged { kernel.setRadioSwitch(adapter: 0) } else { kernel.plug() }
                await recorder.wait(for: "state 5")
                #expect(recorder.take() == [state, "state 5"])
                let address = try #require(kernel.adapters().first?.address)
                kernel.unplug(0)
                await recorder.wait(for: "state 1")
                // The adapter is recognised by its address when it is back; after a long absence there is none.
                try await radio.sleep(for: .seconds(11))
                var same = SimulatedController.fresh
                same.address = address
                kernel.plug(same)
                await recorder.wait(for: "state 5", count: 2)
                // It comes back powered off, and is powered on before it is used again.
                #expect(recorder.take() == ["state 1", "state 2", "state 5"])
            }
        }
        radio.close()
    }

    @Test func anotherAdapterTakesOver() async throws {
        try await Fixture.withDevice { fixture, _, program in
            await fixture.settle { CBCentralManager.supports(.extendedScanAndConnect) }
            fixture.kernel.unplug(0)
            await program.wait(for: "disconnected CBError 3")
            fixture.kernel.plug(SimulatedController(family: .legacy))
            await program.wait(for: "state 5", count: 2)
            #expect(program.take() == ["state 1", "disconnected CBError 3", "state 2", "state 5"])
            await fixture.settle { !CBCentralManager.supports(.extendedScanAndConnect) }
            #expect(CBCentralManager.supports([]))
            _ = try #require(await program.reachAgain())
        }
    }

    @Test func whatWasWantedWhenItWentOff() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            device.peripheral.setHidden(true)
            let program = await Recorder.start(fixture)
            _ = program.take()
            await program.beginConnecting()
            try await fixture.radio.sleep(for: .seconds(5))
            program.then["state 4"] = { program, _ in #expect(program.peripherals[0].state == .disconnected) }
            fixture.kernel.setPowered(false, adapter: 0)
            await program.wait(for: "failed CBError 3")
            #expect(program.take() == ["state 4", "failed CBError 3"])
            // A program that still needs the connection requests it as soon as the adapter is on.
            program.then["state 5"] = { program, _ in program.manager?.connect(program.peripherals[0]) }
            fixture.kernel.setPowered(true, adapter: 0)
            device.peripheral.setHidden(false)
            await program.wait(for: "connected")
            #expect(program.take() == ["state 5", "connected"])
        }
    }

    @Test func withoutCapabilities() async throws {
        try await Fixture.run { fixture in
            fixture.kernel.hasNetRaw = false
            fixture.kernel.hasNetAdmin = false
            let recorder = Recorder(fixture)
            recorder.manager = CBCentralManager(delegate: recorder, queue: fixture.queue)
            await recorder.wait(for: "state 3")
            #expect(recorder.manager?.authorization == .denied)
            #expect(recorder.take() == ["state 3"])
        }
    }
}
