import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import Synchronization
import Testing

/// Holds time while callbacks are queued, except while the program's queue is kept busy by other work.
private final class StarvingHold: SimulationHold {
    private struct State {
        var count = 0
        var isStarving = false
        var isHeld = false
    }

    private let state = Mutex(State())
    private let hold: SimulatedRadio
    private let queue: DispatchQueue

    init(_ fixture: Fixture) { (hold, queue) = (fixture.radio, fixture.queue) }

    func pauseTime() { change { $0.count += 1 } }
    func resumeTime() { change { $0.count -= 1 } }

    /// Blocks the program's queue while time goes on, or ends that.
    func setStarving(_ isStarving: Bool) {
        if isStarving { queue.suspend() }
        change { $0.isStarving = isStarving }
        if !isStarving { queue.resume() }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            let isHeld = state.count > 0 && !state.isStarving
            guard isHeld != state.isHeld else { return }
            state.isHeld = isHeld
            if isHeld { hold.pauseTime() } else { hold.resumeTime() }
        }
    }
}

/// Programs whose queue is kept busy by other work.
@Suite struct StarvationTests {
    /// Runs a test with a program that has discovered the device, and whose queue time does not wait for.
    private static func run(
        _ story: @escaping @Sendable (Fixture, Device, Recorder, StarvingHold) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let hold = StarvingHold(fixture)
            try await CBLinux.withKernel(fixture.kernel, hold: hold) {
                let program = await Recorder.start(fixture)
                _ = try #require(await program.reachDevice())
                await program.setNotify(true, "2A19", in: "180F")
                await program.wait(for: "notifying 2A19 true")
                _ = program.take()
                try await story(fixture, device, program, hold)
            }
        }
    }

    @Test func nothingIsLostAndTheOrderKept() async throws {
        try await Self.run { fixture, device, program, hold in
            let handle = device.handle("2A19", in: "180F")
            let note = Device.uuid(1)
            // Requested before, answered while the queue is blocked.
            await program.perform(with: note, in: Device.own) { peripheral, note in
                for number in 0..<50 as Range<UInt8> {
                    peripheral.writeValue(Data([number]), for: note, type: .withResponse)
                    peripheral.readValue(for: note)
                }
                hold.setStarving(true)
            }
            try await fixture.radio.sleep(for: .seconds(60))
            for number in 0..<5000 {
                await device.server.notify([UInt8(truncatingIfNeeded: number), UInt8(number >> 8)], of: handle)
            }
            try await fixture.radio.sleep(for: .seconds(60))
            device.peripheral.disconnect()
            try await fixture.radio.sleep(for: .seconds(60))
            #expect(program.take() == [])
            hold.setStarving(false)
            await program.wait(for: "disconnected CBError 7")
            let told = program.take()
            #expect(told.prefix(100) == (0..<50).flatMap { ["wrote \(note)", "value \(note) = \($0)"] }[...])
            #expect(
                told.dropFirst(100).dropLast()
                    == (0..<5000).map { "value 2A19 = \($0 & 0xFF) \($0 >> 8)" }[...])
            #expect(told.last == "disconnected CBError 7")
        }
    }

    /// A device that sends much delays no other: their values take turns.
    @Test func devicesTakeTurns() async throws {
        try await Self.run { fixture, device, program, hold in
            let other = try Device(on: fixture.radio, at: Device.otherAddress)
            await program.perform { manager, program in
                program.peripherals += manager.retrievePeripherals(withIdentifiers: [Device.otherIdentifier])
                manager.connect(program.peripherals[1])
            }
            await program.wait(for: "connected", count: 2)
            await program.perform { _, program in program.peripherals[1].discoverServices(nil) }
            await program.wait(for: "services", count: 2)
            await program.perform { _, program in
                let peripheral = program.peripherals[1]
                program.then["characteristics 180F"] = { _, _ in
                    peripheral.characteristic("2A19", in: "180F").map { peripheral.setNotifyValue(true, for: $0) }
                }
                peripheral.services?.forEach { peripheral.discoverCharacteristics(nil, for: $0) }
            }
            await program.wait(for: "notifying 2A19 true", count: 2)
            _ = program.take()
            await fixture.onQueue { hold.setStarving(true) }
            for _ in 0..<5000 { await device.server.notify([1], of: device.handle("2A19", in: "180F")) }
            await other.server.notify([2], of: other.handle("2A19", in: "180F"))
            try await fixture.radio.sleep(for: .seconds(1))
            hold.setStarving(false)
            await program.wait(for: "value 2A19 = 1", count: 5000)
            #expect(program.take().prefix(3) == ["value 2A19 = 1", "value 2A19 = 2", "value 2A19 = 1"])
        }
    }

    /// Of a device that changes without end, one discovery answers all that the program has asked for meanwhile, so that
    /// they do not pile up.
    @Test func discoveriesThatWaitAreOne() async throws {
        try await Self.run { fixture, device, program, hold in
            await program.perform { _, program in
                for entry in ["modified ", "modified 180D 180F \(Device.own)"] {
                    program.then[entry] = { program, _ in program.peripherals.first?.discoverServices(nil) }
                }
            }
            let changed = device.handle("2A05", in: "1801")
            for _ in 0..<2000 { await device.server.indicate([1, 0, 0xFF, 0xFF], of: changed) }
            try await fixture.radio.sleep(for: .seconds(60))
            await fixture.onQueue {}
            let told = program.take()
            let changes = told.count { $0.hasPrefix("modified") }
            #expect(changes > 1500)
            #expect(told.count { $0 == "services" } == changes)
        }
    }

    /// A program that never processes values costs a bounded amount of memory, and is notified of that.
    @Test func whatIsTooMuchIsToldAndEnds() async throws {
        try await Self.run { fixture, device, program, hold in
            let handle = device.handle("2A19", in: "180F")
            await fixture.onQueue { hold.setStarving(true) }
            for number in 0..<9000 {
                await device.server.notify([UInt8(truncatingIfNeeded: number), UInt8(number >> 8)], of: handle)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            // The device was unsubscribed from.
            let subscribers = await device.server.notify([1], of: handle)
            #expect(subscribers == 0)
            hold.setStarving(false)
            await program.wait(for: "notifying 2A19 false CBError 4")
            #expect(
                program.take()
                    == (0..<8192).map { "value 2A19 = \($0 & 0xFF) \($0 >> 8)" } + ["notifying 2A19 false CBError 4"])
            // The program can subscribe again.
            await program.setNotify(true, "2A19", in: "180F")
            await program.wait(for: "notifying 2A19 true", count: 2)
            await device.server.notify([3], of: handle)
            await program.wait(for: "value 2A19 = 3")
        }
    }

    /// A scan continues without accumulating reports.
    @Test func aScanWaits() async throws {
        try await Self.run { fixture, device, program, hold in
            await program.disconnect()
            await program.wait(for: "disconnected")
            await program.perform { manager, _ in
                manager.scanForPeripherals(
                    withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
            }
            await program.wait(for: "discovered \(Device.name)", count: 10)
            await fixture.onQueue { hold.setStarving(true) }
            _ = program.take()
            // Ten reports a second and more.
            try await fixture.radio.sleep(for: .seconds(300))
            #expect(program.take() == [])
            hold.setStarving(false)
            try await fixture.radio.sleep(for: .seconds(1))
            await program.perform { manager, _ in manager.stopScan() }
            let told = program.take().count
            #expect(told > 0 && told < 5000, "\(told)")
        }
    }

    /// A device that changes continuously: the program is notified, with a bounded number of reports.
    @Test func aDeviceThatChangesAllTheTime() async throws {
        try await Self.run { fixture, device, program, hold in
            await fixture.onQueue { hold.setStarving(true) }
            var added: AttributeHandleRange?
            for _ in 0..<2000 {
                let service = GATTService(
                    "1815", characteristics: [GATTCharacteristic("2A56", properties: .read, value: .stored([1]))])
                added = try device.server.change(removing: added, adding: [service])
                try await fixture.radio.sleep(for: .milliseconds(200))
            }
            hold.setStarving(false)
            try await fixture.radio.sleep(for: .seconds(30))
            let told = program.take()
            #expect(told.count >= 64 && told.count < 700, "\(told.count)")
            #expect(told.allSatisfy { $0.hasPrefix("modified") })
            // In the end the program discovers the present services.
            await program.discoverServices()
            #expect(program.peripherals.first?.services?.contains { $0.uuid == CBUUID(string: "1815") } == true)
        }
    }

    /// A central that subscribes and unsubscribes continuously: in the end the program knows its state.
    @Test func aCentralThatChangesItsMind() async throws {
        try await Fixture.run { fixture in
            let (hold, server, far) = try await Self.serve(in: fixture)
            for isSubscribedInTheEnd in [true, false] {
                let (link, configuration) = try await Self.connect(far, in: fixture)
                await fixture.onQueue { hold.setStarving(true) }
                for _ in 0..<1000 {
                    try await link.write([1, 0], to: configuration)
                    try await link.write([0, 0], to: configuration)
                }
                if isSubscribedInTheEnd { try await link.write([1, 0], to: configuration) }
                let before = server.journal.entries.count
                hold.setStarving(false)
                try await fixture.radio.sleep(for: .seconds(30))
                await fixture.onQueue {}
                let told = server.journal.entries.dropFirst(before)
                #expect(told.count < 1000, "\(told.count)")
                #expect(server.stream.subscribedCentrals?.count == (isSubscribedInTheEnd ? 1 : 0))
                await link.disconnect()
                await fixture.settle {
                    (server.stream.subscribedCentrals ?? []).isEmpty && fixture.kernel.links(adapter: 0).isEmpty
                }
            }
            await far.close()
        }
    }

    /// Runs a test with a program that publishes, the hold on its queue, and another machine.
    private static func serve(
        in fixture: Fixture
    ) async throws -> (hold: StarvingHold, server: Server, far: Adapter) {
        let hold = StarvingHold(fixture)
        let server = await CBLinux.withKernel(fixture.kernel, hold: hold) { Server(fixture) }
        await fixture.wait(for: "advertising true 0", in: server.journal)
        return (hold, server, try await Adapter.open(power: .powerOn, on: fixture.radio.makeKernel(adapters: [.fresh])))
    }

    private static func address(of fixture: Fixture) throws -> BluetoothAddress {
        try #require(fixture.kernel.adapters().first?.address)
    }

    /// Creates a link to the program, with the other machine's client characteristic configuration.
    private static func connect(
        _ far: Adapter, in fixture: Fixture
    ) async throws -> (link: Connection, configuration: RemoteDescriptor) {
        let link = try await far.connect(to: try address(of: fixture))
        let stream = try #require(
            try await link.discover().characteristic(Server.stream.bluetoothUUID, in: Server.service.bluetoothUUID))
        return (link, try #require(stream.descriptor(.clientCharacteristicConfiguration)))
    }

    /// The subscription of a central on an ended link does not apply to its next link.
    @Test func aCentralThatConnectsAnew() async throws {
        try await Fixture.run { fixture in
            let (hold, server, far) = try await Self.serve(in: fixture)
            let (link, configuration) = try await Self.connect(far, in: fixture)
            await fixture.onQueue { hold.setStarving(true) }
            // More than are reported to the program at once, and not more than can be queued.
            for _ in 0..<100 {
                try await link.write([1, 0], to: configuration)
                try await link.write([0, 0], to: configuration)
            }
            try await link.write([1, 0], to: configuration)
            await link.disconnect()
            await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
            let next = try await far.connect(to: try Self.address(of: fixture))
            try await fixture.radio.sleep(for: .seconds(1))
            hold.setStarving(false)
            try await fixture.radio.sleep(for: .seconds(30))
            await fixture.onQueue {}
            #expect(server.stream.subscribedCentrals ?? [] == [])
            let entries = server.journal.entries
            #expect(
                entries.count { $0.hasPrefix("subscribed") } == entries.count { $0.hasPrefix("unsubscribed") },
                "\(entries)")
            #expect(entries.contains { $0.hasPrefix("subscribed") })
            await next.disconnect()
            await far.close()
        }
    }
}

extension CBUUID {
    /// The UUID in the library's type.
    fileprivate var bluetoothUUID: BluetoothUUID { BluetoothUUID(uuidString) ?? 0 }
}
