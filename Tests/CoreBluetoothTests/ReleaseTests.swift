import CoreBluetooth
import TestSupport
import Testing

/// Peripherals that a program releases, and those that it connects to twice.
@Suite struct ReleaseTests {
    /// The end of a cancelled connection is reported with the program's own object, although the program has released
    /// it.
    @Test(arguments: [true, false]) func aCancelledPeripheralNeedNotBeKept(isConnected: Bool) async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            let watch = try await program.begin(fixture, device, isConnected: isConnected)
            await program.perform { manager, program in
                guard let peripheral = program.peripherals.first else { return }
                manager.cancelPeripheralConnection(peripheral)
                program.peripherals = []
                #expect(
                    manager.retrievePeripherals(withIdentifiers: [peripheral.identifier]).first === peripheral)
            }
            await program.wait(for: "disconnected")
            #expect(program.take() == ["disconnected"])
            #expect(watch.ends.entries == [watch.identity])
            // Nothing else retains it or the link.
            await fixture.settle { watch.peripheral == nil && device.peripheral.links.isEmpty }
            #expect(fixture.misuse.entries == [])
        }
    }

    /// The same if the program connects again before the end of the first attempt: a release is misuse then.
    @Test func cancelledAndBegunAnew() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            let watch = try await program.begin(fixture, device)
            await program.perform { manager, program in
                guard let peripheral = program.peripherals.first else { return }
                manager.cancelPeripheralConnection(peripheral)
                manager.connect(peripheral)
                manager.cancelPeripheralConnection(peripheral)
                manager.connect(peripheral)
                program.peripherals = []
            }
            await program.wait(for: "disconnected connecting")
            await fixture.settle { watch.peripheral == nil && device.peripheral.links.isEmpty }
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(program.take() == ["disconnected connecting"])
            #expect(watch.ends.entries == [watch.identity])
            #expect(fixture.misuse.entries.count == 1)
        }
    }

    /// A released manager reports nothing more, and its cancelled peripherals are released.
    @Test func cancelledAndTheManagerDropped() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            let watch = try await program.begin(fixture, device)
            await program.perform { manager, program in
                guard let peripheral = program.peripherals.first else { return }
                manager.cancelPeripheralConnection(peripheral)
                program.peripherals = []
                program.manager = nil
            }
            await fixture.settle { watch.peripheral == nil && device.peripheral.links.isEmpty }
            #expect(program.take() == [])
            #expect(fixture.misuse.entries == [])
        }
    }

    /// A peripheral released without cancelling is cancelled as on Apple's systems: with a line in the log, and no
    /// callback.
    @Test(arguments: [true, false]) func aDroppedPeripheralIsLogged(isConnected: Bool) async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            let watch = try await program.begin(fixture, device, isConnected: isConnected)
            await program.perform { _, program in program.peripherals = [] }
            await fixture.settle { watch.peripheral == nil && device.peripheral.links.isEmpty }
            device.peripheral.setHidden(false)
            try await fixture.radio.sleep(for: .seconds(10))
            #expect(program.take() == [])
            #expect(device.peripheral.links.isEmpty)
            let (name, state) = isConnected ? ("Pulse", "connected") : ("(null)", "connecting")
            let peripheral = "<CBPeripheral: identifier = \(Device.identifier), name = \(name), state = \(state)>"
            #expect(
                fixture.misuse.entries == [
                    "Cancelling connection for unused peripheral \(peripheral), Did you forget to keep a reference to it?"
                ])
        }
    }

    /// No misuse: a peripheral that is not connected, and one released after its manager.
    @Test func whatIsDroppedWithoutALine() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            let watch = try await program.begin(fixture, device)
            device.peripheral.disconnect()
            await program.wait(for: "disconnected CBError 7")
            await program.perform { _, program in program.peripherals = [] }
            #expect(watch.peripheral == nil)
            let other = await Recorder.start(fixture)
            let second = try await other.begin(fixture, device)
            await fixture.onQueue { (other.manager, other.peripherals) = (nil, []) }
            await fixture.settle { second.peripheral == nil && device.peripheral.links.isEmpty }
            #expect(fixture.misuse.entries == [])
        }
    }

    /// Libraries connect to any peripheral they are given, and wait for the callback.
    @Test func connectingToWhatIsConnected() async throws {
        try await Fixture.withDevice { _, device, program in
            await program.perform { manager, program in
                let count = program.journal.entries.count
                manager.connect(program.peripherals[0])
                #expect(program.peripherals[0].state == .connected)
                #expect(program.peripherals[0].services != nil)
                #expect(program.journal.entries.count == count)
            }
            await program.wait(for: "connected", count: 2)
            #expect(program.take() == ["connected"])
            #expect(device.peripheral.links.count == 1)
            // Not one that is about to end, and not more often than there is room for.
            await program.perform { manager, program in
                manager.connect(program.peripherals[0])
                manager.cancelPeripheralConnection(program.peripherals[0])
            }
            await program.wait(for: "disconnected")
            #expect(program.take() == ["disconnected"])
            _ = try #require(await program.reachAgain())
            await program.perform { manager, program in
                for _ in 0..<1030 { manager.connect(program.peripherals[0]) }
            }
            await program.perform(with: { $0.readRSSI() })
            await program.wait(for: "rssi -55")
            #expect(program.take().count { $0 == "connected" } == 1 + 1024)
        }
    }
}

/// Observes a peripheral that its program may have released.
private final class Watch: @unchecked Sendable {
    /// Nil when it was released.
    weak let peripheral: CBPeripheral?
    let identity: ObjectIdentifier
    /// The objects with which ends were reported.
    let ends = Journal<ObjectIdentifier>()

    init(_ peripheral: CBPeripheral) {
        self.peripheral = peripheral
        identity = ObjectIdentifier(peripheral)
    }
}

extension Recorder {
    /// Connects to the device, or starts to while it is out of range.
    fileprivate func begin(_ fixture: Fixture, _ device: Device, isConnected: Bool = true) async throws -> Watch {
        device.peripheral.setHidden(!isConnected)
        let found = Journal<Watch>()
        await perform { manager, program in
            program.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.identifier])
            found.add(Watch(program.peripherals[0]))
            manager.connect(program.peripherals[0])
        }
        let watch = try #require(found.entries.first)
        for entry in ["disconnected", "disconnected connecting"] {
            then[entry] = { _, peripheral in
                if let peripheral = peripheral as? CBPeripheral { watch.ends.add(ObjectIdentifier(peripheral)) }
            }
        }
        if isConnected {
            await wait(for: "connected")
            await waitForName()
        } else {
            try await fixture.radio.sleep(for: .seconds(5))
        }
        _ = take()
        return watch
    }
}
