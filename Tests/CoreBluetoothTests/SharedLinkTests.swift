import BluetoothLE
import CoreBluetooth
import Testing

/// Several managers of one program with one device.
@Suite struct SharedLinkTests {
    /// Runs a test with two programs that are connected to the device, each through a manager of its own.
    private func run(
        _ story: @escaping @Sendable (Fixture, Device, Recorder, Recorder) async throws -> Void
    ) async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, first in
            let second = await Recorder.start(fixture)
            let one = try #require(await first.reachDevice())
            let other = try #require(await second.reachDevice())
            #expect(one !== other)
            #expect(one.identifier == other.identifier)
            #expect(device.peripheral.links.count == 1)
            try await story(fixture, device, first, second)
        }
    }

    @Test func theLinkEndsWithTheLastWhoHoldsIt() async throws {
        try await run { fixture, device, first, second in
            await first.disconnect()
            await first.wait(for: "disconnected")
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(device.peripheral.links.count == 1)
            #expect(first.take() == ["disconnected"])
            #expect(second.take() == [])
            await second.perform(with: { peripheral in
                #expect(peripheral.state == .connected)
                if let level = peripheral.characteristic("2A19", in: "180F") { peripheral.readValue(for: level) }
            })
            await second.wait(for: "value 2A19 = 97")
            // A link that is still up is reported at once.
            _ = try #require(await first.reachAgain())
            await second.disconnect()
            await second.wait(for: "disconnected")
            await first.disconnect()
            await first.wait(for: "disconnected", count: 2)
            await fixture.settle { device.peripheral.links.isEmpty }
        }
    }

    @Test func everybodyIsToldOfTheEnd() async throws {
        try await run { _, device, first, second in
            device.peripheral.disconnect()
            await first.wait(for: "disconnected CBError 7")
            await second.wait(for: "disconnected CBError 7")
            _ = try #require(await second.reachAgain())
            #expect(first.peripherals.first?.state == .disconnected)
        }
    }

    @Test func eachHasItsOwnSubscriptions() async throws {
        try await run { fixture, device, first, second in
            let handle = device.handle("2A19", in: "180F")
            func notify(_ value: UInt8) async { await device.server.notify([value], of: handle) }
            await first.setNotify(true, "2A19", in: "180F")
            await first.wait(for: "notifying 2A19 true")
            await notify(1)
            await first.wait(for: "value 2A19 = 1")
            await second.setNotify(true, "2A19", in: "180F")
            await second.wait(for: "notifying 2A19 true")
            await notify(2)
            await first.wait(for: "value 2A19 = 2")
            await second.wait(for: "value 2A19 = 2")
            // Unsubscribing or disconnecting one manager does not affect the other.
            await first.setNotify(false, "2A19", in: "180F")
            await first.wait(for: "notifying 2A19 false")
            await notify(3)
            await second.wait(for: "value 2A19 = 3")
            await first.setNotify(true, "2A19", in: "180F")
            await first.wait(for: "notifying 2A19 true", count: 2)
            await second.disconnect()
            await second.wait(for: "disconnected")
            await notify(4)
            await first.wait(for: "value 2A19 = 4")
            #expect(device.server.subscribers(of: handle).count == 1)
            #expect(
                first.take() == [
                    "notifying 2A19 true", "value 2A19 = 1", "value 2A19 = 2", "notifying 2A19 false",
                    "notifying 2A19 true", "value 2A19 = 4",
                ])
            #expect(second.take() == ["notifying 2A19 true", "value 2A19 = 2", "value 2A19 = 3", "disconnected"])
            // Values that only the disconnected manager subscribed to are unsubscribed at the device.
            _ = try #require(await second.reachAgain())
            await first.disconnect()
            await first.wait(for: "disconnected")
            await fixture.settle { device.server.subscribers(of: handle).isEmpty }
            #expect(device.peripheral.links.count == 1)
        }
    }

    @Test func oneCancelsWhileBothConnect() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            device.peripheral.setHidden(true)
            let first = await Recorder.start(fixture)
            let second = await Recorder.start(fixture)
            for program in [first, second] {
                _ = program.take()
                await program.beginConnecting()
            }
            try await fixture.radio.sleep(for: .seconds(60))
            await first.disconnect()
            await first.wait(for: "disconnected")
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(second.take() == [])
            device.peripheral.setHidden(false)
            await second.wait(for: "connected")
            #expect(first.peripherals.first?.state == .disconnected)
        }
    }

    @Test func aCentralThatIsConnectedIsConnectedToAtOnce() async throws {
        try await Fixture.run { fixture in
            let server = await Server.start(fixture)
            let other = fixture.radio.makeKernel(adapters: [.fresh])
            let back = await Recorder.start(fixture)
            try await CBLinux.withKernel(other) {
                let client = await Recorder.start(fixture)
                await client.reach(Server.service, named: "Server")
                await client.setNotify(true, Server.stream.uuidString, in: Server.service.uuidString)
                await fixture.wait(for: "subscribed true 1", in: server.journal)
                let identifier = try #require(server.central?.identifier)
                await back.perform { manager, program in
                    program.peripherals = manager.retrievePeripherals(withIdentifiers: [identifier])
                    if let peripheral = program.peripherals.first { manager.connect(peripheral) }
                }
                await back.wait(for: "connected")
                await back.discoverServices()
                await back.disconnect()
                await back.wait(for: "disconnected")
                // The central created the link, so it stays.
                try await fixture.radio.sleep(for: .seconds(10))
                #expect(client.peripherals.first?.state == .connected)
                #expect(!server.journal.entries.contains { $0.hasPrefix("unsubscribed") })
            }
        }
    }
}

extension Recorder {
    /// Ends the connection to the program's one peripheral.
    func disconnect() async {
        await perform { manager, program in
            if let peripheral = program.peripherals.first { manager.cancelPeripheralConnection(peripheral) }
        }
    }

    func setNotify(_ isOn: Bool, _ characteristic: String, in service: String) async {
        await perform(with: characteristic, in: service) { $0.setNotifyValue(isOn, for: $1) }
    }

    /// Discovers a device by its advertised service, connects to it and discovers that service.
    func reach(_ service: CBUUID, named name: String) async {
        let id = service.uuidString
        await perform { manager, _ in manager.scanForPeripherals(withServices: [CBUUID(string: id)]) }
        await wait(for: "discovered \(name)")
        await perform { manager, program in
            manager.stopScan()
            if let peripheral = program.peripherals.first { manager.connect(peripheral) }
        }
        await wait(for: "connected")
        await discoverServices(id)
        await discoverCharacteristics(upTo: id)
        _ = take()
    }
}
