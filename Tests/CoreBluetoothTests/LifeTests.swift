import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import TestSupport
import Testing

/// Links and objects that go and come back.
@Suite struct LifeTests {
    /// A manager knows what others have learnt of a device, also when no object for it is left.
    @Test func aRetrievedPeripheralHasItsNameAndIsAmongTheConnected() async throws {
        try await Fixture.withDevice { fixture, _, first in
            await first.disconnect()
            await first.wait(for: "disconnected")
            await first.perform { _, program in program.peripherals = [] }
            let second = await Recorder.start(fixture)
            await second.perform { manager, program in
                program.then["connected"] = { program, _ in
                    let services = [CBUUID(string: "180F")]
                    let found = program.manager?.retrieveConnectedPeripherals(withServices: services)
                    #expect(found?.first === program.peripherals.first && found?.count == 1)
                }
                program.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.identifier])
                #expect(program.peripherals.first?.name == Device.name)
                manager.connect(program.peripherals[0])
            }
            await second.wait(for: "connected")
            await second.discoverServices()
            await second.perform { manager, program in
                let found = manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180F")])
                #expect(found == program.peripherals)
                #expect(manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "1805")]) == [])
            }
            #expect(second.take() == ["state 5", "connected", "services"])
        }
    }

    @Test func disconnectionWithRequestsPending() async throws {
        try await Fixture.withDevice { fixture, device, program in
            device.peripheral.setMute(true)
            await program.perform(with: "2A19", in: "180F") { peripheral, level in
                for _ in 0..<10 { peripheral.readValue(for: level) }
                peripheral.setNotifyValue(true, for: level)
                peripheral.discoverServices(nil)
            }
            try await fixture.radio.sleep(for: .seconds(1))
            device.peripheral.disconnect()
            await program.wait(for: "disconnected CBError 7")
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(program.take() == ["disconnected CBError 7"])
            await program.perform(with: { peripheral in
                #expect(peripheral.state == .disconnected)
                #expect(!peripheral.canSendWriteWithoutResponse)
                // Logged, and without effect.
                peripheral.discoverServices(nil)
                peripheral.readRSSI()
            })
            #expect(program.take() == [])
        }
    }

    @Test func aDeviceThatVanishes() async throws {
        try await Fixture.withDevice { _, device, program in
            device.peripheral.setHidden(true)
            await program.wait(for: "disconnected CBError 6")
            #expect(program.take() == ["disconnected CBError 6"])
        }
    }

    @Test func connectingWaitsForEverAndIsCancelled() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            device.peripheral.setHidden(true)
            let program = await Recorder.start(fixture)
            _ = program.take()
            await program.perform { manager, program in
                program.peripherals = manager.retrievePeripherals(withIdentifiers: [
                    Device.identifier, UUID(), Device.identifier,
                ])
                #expect(program.peripherals.count == 2)
                #expect(program.peripherals.first === program.peripherals.last)
                manager.connect(program.peripherals[0])
                manager.connect(program.peripherals[0])
            }
            try await fixture.radio.sleep(for: .seconds(600))
            #expect(program.take() == [])
            await program.perform { manager, program in
                #expect(program.peripherals[0].state == .connecting)
                manager.cancelPeripheralConnection(program.peripherals[0])
                manager.cancelPeripheralConnection(program.peripherals[0])
                #expect(program.peripherals[0].state == .disconnecting)
            }
            await program.wait(for: "disconnected")
            #expect(program.take() == ["disconnected"])
            await program.perform { manager, program in
                // Without effect.
                manager.cancelPeripheralConnection(program.peripherals[0])
                manager.connect(program.peripherals[0])
                manager.cancelPeripheralConnection(program.peripherals[0])
                manager.connect(program.peripherals[0])
            }
            device.peripheral.setHidden(false)
            await program.wait(for: "connected")
            #expect(program.take() == ["disconnected connecting", "connected"])
        }
    }

    @Test func nothingIsToldFromWithinACall() async throws {
        try await Fixture.withDevice { _, _, program in
            await program.perform { manager, program in
                guard let peripheral = program.peripherals.first,
                    let level = peripheral.characteristic("2A19", in: "180F")
                else { return }
                // As long as this block is on the queue, no other runs.
                let count = program.journal.entries.count
                manager.scanForPeripherals(withServices: nil)
                peripheral.setNotifyValue(false, for: level)
                peripheral.readValue(for: level)
                peripheral.discoverServices(nil)
                manager.cancelPeripheralConnection(peripheral)
                Thread.sleep(forTimeInterval: 0.05)
                #expect(program.journal.entries.count == count)
            }
            await program.wait(for: "disconnected")
        }
    }

    @Test func aDroppedManagerDisconnects() async throws {
        try await Fixture.withDevice { fixture, device, program in
            await program.fixture.onQueue { program.manager = nil }
            await fixture.settle { device.peripheral.links.isEmpty }
            #expect(program.take() == [])
        }
    }

    @Test func reconnectsWhenAskedTo() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            _ = program.take()
            await program.perform { manager, program in
                program.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.identifier])
                manager.registerForConnectionEvents(options: [.peripheralUUIDs: [Device.identifier]])
                manager.connect(
                    program.peripherals[0],
                    options: [
                        CBConnectPeripheralOptionEnableAutoReconnect: true,
                        CBConnectPeripheralOptionStartDelayKey: NSNumber(value: 5),
                    ])
            }
            let waited = fixture.radio.now
            await program.wait(for: "connected")
            #expect(waited.duration(to: fixture.radio.now) >= .seconds(5))
            device.peripheral.disconnect()
            await program.wait(for: "connected", count: 2)
            await program.perform { manager, program in manager.cancelPeripheralConnection(program.peripherals[0]) }
            await program.wait(for: "event 0", count: 2)
            #expect(
                program.take() == [
                    "connected", "event 1", "disconnected CBError 7 connecting", "event 0", "connected", "event 1",
                    "disconnected", "event 0",
                ])
        }
    }

    /// The end is reported once, also when the program cancels while the link's own end is being reported.
    @Test(arguments: [false, true]) func cancelledWhileALostLinkIsReported(isBegunAnew: Bool) async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let posts = Journal<String>()
            let hold = JournalHold(hold: fixture.radio, posts: posts)
            let program = Recorder(fixture)
            await CBLinux.withKernel(fixture.kernel, hold: hold) {
                program.manager = CBCentralManager(delegate: program, queue: fixture.queue)
            }
            await program.wait(for: "state 5")
            await program.perform { manager, program in
                program.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.identifier])
                manager.connect(program.peripherals[0], options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
            }
            await program.wait(for: "name \(Device.name)")
            device.peripheral.disconnect()
            await program.wait(for: "connected", count: 2)
            try await fixture.radio.sleep(for: .seconds(5))
            _ = program.take()
            let manager = try #require(program.manager)
            let peripheral = try #require(program.peripherals.first)
            let count = posts.entries.count
            fixture.queue.suspend()
            device.peripheral.disconnect()
            device.peripheral.setHidden(true)
            _ = await posts.wait(on: fixture.radio.loop, limit: .seconds(120)) { $0.count > count }
            manager.cancelPeripheralConnection(peripheral)
            if isBegunAnew { manager.connect(peripheral) }
            // The loop has processed the cancellation before the program is called back.
            await withCheckedContinuation { continuation in
                fixture.radio.loop.execute { fixture.radio.loop.execute { continuation.resume() } }
            }
            fixture.queue.resume()
            let end = isBegunAnew ? "disconnected CBError 6 connecting" : "disconnected"
            await program.wait(for: end)
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(program.take() == [end])
            await program.perform { _, program in (program.manager, program.peripherals) = (nil, []) }
        }
    }

    @Test func objectsStayTheSame() async throws {
        try await Fixture.withDevice { _, _, program in
            let peripheral = try #require(program.peripherals.first)
            let before = peripheral.services ?? []
            let characteristics = before.flatMap { $0.characteristics ?? [] }
            #expect(before.count == 3)
            await program.perform(with: { peripheral in
                peripheral.discoverServices([CBUUID(string: "180F")])
                for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
            })
            await program.wait(for: "characteristics \(Device.own)", count: 2)
            let after = peripheral.services ?? []
            #expect(zip(before, after).allSatisfy { $0 === $1 })
            #expect(before.count == after.count)
            #expect(zip(characteristics, after.flatMap { $0.characteristics ?? [] }).allSatisfy { $0 === $1 })
            let manager = try #require(program.manager)
            #expect(manager.retrievePeripherals(withIdentifiers: [peripheral.identifier]).first === peripheral)
            #expect(manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180F")]).first === peripheral)
            #expect(manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "1805")]).isEmpty)
            #expect(manager.retrieveConnectedPeripherals(withServices: []).isEmpty)
            let copy = peripheral.copy() as? CBPeripheral
            #expect(copy === peripheral)
        }
    }

    @Test func changedServices() async throws {
        try await Fixture.withDevice { fixture, device, program in
            let peripheral = try #require(program.peripherals.first)
            // The subscription to Service Changed has to have reached the device.
            try await fixture.radio.sleep(for: .seconds(2))
            let before = peripheral.services ?? []
            let battery = try #require(before.first { $0.uuid == CBUUID(string: "180F") })
            let level = try #require(battery.characteristics?.first)
            await program.perform(with: { $0.setNotifyValue(true, for: level) })
            await program.wait(for: "notifying 2A19 true")
            _ = program.take()
            // From the declaration of the service to the presentation format.
            let value = device.handle("2A19", in: "180F").rawValue
            try device.server.change(
                removing: AttributeHandleRange(start: AttributeHandle(value - 2), end: AttributeHandle(value + 2)))
            await program.wait(for: "modified 180F")
            #expect(!level.isNotifying)
            #expect(peripheral.services?.contains { $0 === battery } == false)
            #expect(peripheral.services?.count == before.count - 1)
            await program.perform(with: { peripheral in
                peripheral.readValue(for: level)
                peripheral.discoverCharacteristics(nil, for: battery)
                peripheral.discoverServices(nil)
            })
            await program.wait(for: "services", count: 2)
            #expect(
                program.take() == [
                    "modified 180F", "value 2A19 CBError 2", "characteristics 180F CBError 2", "services",
                ])
            // Unchanged services keep their objects.
            for service in peripheral.services ?? [] where service.uuid != CBUUID(string: "180D") {
                #expect(before.contains { $0 === service })
            }
        }
    }
}

extension Recorder {
    /// Connects once more to the known peripheral.
    func reachAgain() async -> CBPeripheral? {
        let count = journal.entries.count { $0 == "connected" }
        await perform { manager, program in
            if let peripheral = program.peripherals.first { manager.connect(peripheral) }
        }
        await wait(for: "connected", count: count + 1)
        return peripherals.first { $0.state == .connected }
    }
}

/// Records that callbacks are queued.
private struct JournalHold: SimulationHold {
    let hold: SimulatedRadio
    let posts: Journal<String>

    func pauseTime() {
        hold.pauseTime()
        posts.add("post")
    }

    func resumeTime() { hold.resumeTime() }
}
