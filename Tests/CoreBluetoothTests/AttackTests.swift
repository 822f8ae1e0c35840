import BluetoothLE
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import CoreBluetooth

/// A fault that can be injected at any packet.
enum Blow: CaseIterable, Sendable {
    case cut, endedByPeer, cancelled, unplugged, poweredOff, dropped, changed
}

/// Faults at any moment, and long runs.
@Suite struct AttackTests {
    /// A program's complete use of a device, one request after the other, up to the answer of the last.
    private static func work(_ program: Recorder) {
        program.then = [
            "connected": { $1.peripheral?.discoverServices(nil) },
            "services": { _, peripheral in
                guard let peripheral = peripheral as? CBPeripheral else { return }
                for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
            },
            "characteristics \(Device.own)": { program, _ in
                guard let peripheral = program.peripherals.first,
                    let level = peripheral.characteristic("2A19", in: "180F"),
                    let note = peripheral.characteristic(Device.uuid(1), in: Device.own),
                    let commands = peripheral.characteristic(Device.uuid(2), in: Device.own)
                else { return }
                peripheral.discoverDescriptors(for: note)
                peripheral.setNotifyValue(true, for: level)
                peripheral.readValue(for: level)
                peripheral.writeValue(Data(count: 300), for: note, type: .withResponse)
                for number in 0..<10 {
                    peripheral.writeValue(Data([UInt8(number)]), for: commands, type: .withoutResponse)
                }
                peripheral.readValue(for: note)
                peripheral.setNotifyValue(false, for: level)
                peripheral.readRSSI()
            },
        ]
    }

    /// Runs the work with a fault at a packet; returns the number of packets.
    private static func run(_ blow: Blow?, at index: Int?) async throws -> Int {
        let count = Mutex(0)
        try await Fixture.run(.fresh) { fixture in
            let device = try Device(on: fixture.radio)
            let kernel = FaultingKernel(fixture.kernel)
            try await CBLinux.withKernel(kernel, hold: fixture.radio) {
                try await strike(fixture, device, kernel, blow, at: index)
            }
            count.withLock { $0 = kernel.count }
        }
        return count.withLock { $0 }
    }

    private static func strike(
        _ fixture: Fixture, _ device: Device, _ kernel: FaultingKernel, _ blow: Blow?, at index: Int?
    ) async throws {
        let program = await Recorder.start(fixture)
        let address = try #require(fixture.kernel.adapters().first?.address)
        work(program)
        let hasStruck = Mutex(false)
        // Whether the program has subscribed to the device's changes.
        let isFollowed = Mutex(false)
        kernel.arm(at: index) {
            hasStruck.withLock { $0 = true }
            switch blow {
            case .cut: device.peripheral.breakLinks()
            case .endedByPeer: device.peripheral.disconnect()
            case .cancelled:
                fixture.queue.async {
                    if let peripheral = program.peripherals.first {
                        program.manager?.cancelPeripheralConnection(peripheral)
                    }
                }
            case .unplugged: fixture.kernel.unplug(0)
            case .poweredOff: fixture.kernel.setPowered(false, adapter: 0)
            case .dropped:
                fixture.queue.async {
                    program.manager = nil
                    program.peripherals = []
                }
            case .changed:
                let changes = device.handle("2A05", in: "1801")
                isFollowed.withLock { $0 = !device.server.subscribers(of: changes, as: .indication).isEmpty }
                let value = device.handle("2A19", in: "180F").rawValue
                _ = try? device.server.change(
                    removing: AttributeHandleRange(start: AttributeHandle(value - 2), end: AttributeHandle(value + 2)))
            case nil: break
            }
        }
        await program.beginConnecting()
        let comment = Comment(rawValue: "\(String(describing: blow)) at \(String(describing: index))")
        if blow == nil {
            await program.wait(for: "rssi -55")
        } else {
            await fixture.settle { hasStruck.withLock { $0 } }
            try await fixture.radio.sleep(for: .seconds(8))
        }
        guard let blow else { return }
        await fixture.onQueue {}
        let entries = program.journal.entries
        let ends = entries.indices.filter { entries[$0].hasPrefix("disconnected") || entries[$0].hasPrefix("failed") }
        switch blow {
        case .dropped: #expect(ends.isEmpty, comment)
        case .changed:
            #expect(ends.isEmpty, comment)
            #expect(program.peripherals.first?.state == .connected, comment)
            if !isFollowed.withLock({ $0 }) {
                // The program was not notified, so the services it has discovered apply to this connection.
                #expect(!entries.contains { $0.hasPrefix("modified") }, comment)
                await program.disconnect()
                await program.wait(for: "disconnected")
                await fixture.settle { device.peripheral.links.isEmpty }
                program.then = [:]
                await program.perform { manager, program in manager.connect(program.peripherals[0]) }
                await program.wait(for: "connected", count: 2)
            } else if entries.contains("characteristics 180F") {
                #expect(entries.contains("modified 180F"), "\(comment): \(entries)")
            }
            try await rediscover(fixture, program, comment)
        default:
            #expect(ends.count == 1, "\(comment): \(entries)")
            #expect(program.peripherals.first?.state == .disconnected, comment)
            #expect(program.peripherals.first?.services == nil, comment)
            // No event of the device follows its end.
            if let end = ends.first {
                #expect(entries[(end + 1)...].allSatisfy { $0.hasPrefix("state") }, "\(comment): \(entries)")
            }
        }
        try await again(fixture, blow, program, address, comment)
    }

    /// A changed device that is discovered anew has its current services: the removed one is absent, the others are
    /// present, with their objects, and usable; and every request was answered.
    private static func rediscover(_ fixture: Fixture, _ program: Recorder, _ comment: Comment) async throws {
        let battery = CBUUID(string: "180F")
        let entries = program.journal.entries
        // No request was left unanswered: the work was completed, or its prerequisite was missing from the beginning.
        if entries.contains("characteristics 180F"), entries.contains("descriptors \(Device.uuid(1))") {
            #expect(entries.contains("rssi -55"), "\(comment): \(entries)")
        }
        #expect(entries.count { $0.hasPrefix("modified") } <= 1, "\(comment): \(entries)")
        let before = Dictionary(
            uniqueKeysWithValues: (program.peripherals.first?.services ?? []).map { ($0.uuid, ObjectIdentifier($0)) })
        program.then = [:]
        await program.discoverServices()
        let services = program.peripherals.first?.services ?? []
        #expect(!services.contains { $0.uuid == battery }, comment)
        #expect(services.count == 2, "\(comment): \(services.map(\.uuid))")
        for service in services where service.uuid != CBUUID(string: "180D") {
            if let old = before[service.uuid] { #expect(old == ObjectIdentifier(service), comment) }
        }
        await program.discoverCharacteristics(upTo: Device.own)
        let written = program.journal.entries.count { $0 == "wrote \(Device.uuid(1))" }
        await program.perform(with: Device.uuid(1), in: Device.own) { peripheral, note in
            peripheral.writeValue(Data([7]), for: note, type: .withResponse)
            peripheral.readValue(for: note)
        }
        await program.wait(for: "wrote \(Device.uuid(1))", count: written + 1)
        await program.wait(for: "value \(Device.uuid(1)) = 7")
    }

    /// The next connection works, whatever has happened.
    private static func again(
        _ fixture: Fixture, _ blow: Blow, _ before: Recorder, _ address: BluetoothAddress, _ comment: Comment
    ) async throws {
        var program = before
        let states = program.journal.entries.count { $0 == "state 5" }
        switch blow {
        case .poweredOff: fixture.kernel.setPowered(true, adapter: 0)
        case .unplugged:
            var same = SimulatedController.fresh
            same.address = address
            fixture.kernel.plug(same)
        case .dropped: program = await Recorder.start(fixture)
        case .changed: return
        default: break
        }
        if [.poweredOff, .unplugged].contains(blow) { await program.wait(for: "state 5", count: states + 1) }
        work(program)
        let done = program.journal.entries.count { $0 == "rssi -55" }
        await program.beginConnecting()
        await program.wait(for: "rssi -55", count: done + 1)
    }

    @Test(arguments: Blow.allCases) func everyBlowAtEveryPacket(_ blow: Blow) async throws {
        let packets = try await Self.run(nil, at: nil)
        #expect(packets > 20)
        for index in 0..<packets { _ = try await Self.run(blow, at: index) }
    }

    @Test func aHundredPeripheralsAtOnce() async throws {
        try await Fixture.run { fixture in
            var devices: [SimulatedPeripheral] = []
            for number in 0..<100 {
                devices.append(
                    SimulatedPeripheral(
                        on: fixture.radio, address: BluetoothAddress(0xC000_0000_0000 + UInt64(number), kind: .random),
                        advertisements: [try SimulatedAdvertisement(fields: [.services(["180F"])])],
                        gatt: try SimulatedGATTServer([
                            GATTService(
                                "180F",
                                characteristics: [
                                    GATTCharacteristic("2A19", properties: .read, value: .stored([UInt8(number)]))
                                ])
                        ])))
            }
            let program = await Recorder.start(fixture)
            program.then = [
                "discovered ?": { program, peripheral in
                    guard let peripheral = peripheral as? CBPeripheral else { return }
                    program.manager?.connect(peripheral)
                },
                "connected": { $1.peripheral?.discoverServices(nil) },
                "services": { _, peripheral in
                    guard let peripheral = peripheral as? CBPeripheral, let service = peripheral.services?.first else {
                        return
                    }
                    peripheral.discoverCharacteristics(nil, for: service)
                },
                "characteristics 180F": { _, service in
                    guard let service = service as? CBService, let level = service.characteristics?.first else {
                        return
                    }
                    service.peripheral?.readValue(for: level)
                },
            ]
            await program.perform { manager, _ in
                manager.scanForPeripherals(withServices: [CBUUID(string: "180F")])
            }
            for number in 0..<100 { await program.wait(for: "value 2A19 = \(number)") }
            #expect(program.peripherals.allSatisfy { $0.state == .connected })
            #expect(program.manager?.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180F")]).count == 100)
            await program.perform { manager, program in
                for peripheral in program.peripherals { manager.cancelPeripheralConnection(peripheral) }
            }
            await program.wait(for: "disconnected", count: 100)
            await fixture.settle { [devices] in devices.allSatisfy { $0.links.isEmpty } }
        }
    }

    /// No object of a connection remains after its end, however many there were.
    @Test func nothingGrowsWithConnections() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            let gone = Gone()
            for round in 1...200 {
                program.peripherals = []
                guard let peripheral = await program.reachDevice(round: round) else { break }
                gone.keep(peripheral)
                for service in peripheral.services ?? [] {
                    gone.keep(service)
                    for characteristic in service.characteristics ?? [] { gone.keep(characteristic) }
                }
                await program.setNotify(true, "2A19", in: "180F")
                await program.perform(with: { $0.readRSSI() })
                await program.wait(for: "rssi -55", count: round)
                await program.disconnect()
                await program.wait(for: "disconnected", count: round)
            }
            program.peripherals = []
            program.manager = nil
            await fixture.settle { gone.living == 0 && device.peripheral.links.isEmpty }
            #expect(gone.count > 1000)
        }
    }

    /// A thousand connections leave no objects behind.
    @Test func aThousandConnections() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            let gone = Gone()
            for round in 1...1000 {
                // Now and then with another object for the same device.
                if round.isMultiple(of: 10) { program.peripherals = [] }
                await program.beginConnecting()
                let hasBegun = await program.journal.wait(on: fixture.radio.loop, limit: .seconds(60)) {
                    $0.count >= 2 * round
                }
                guard hasBegun != nil, let peripheral = program.peripherals.first else { break }
                let radio = peripheral.handle.radio
                await radio.keepLinks(in: gone)
                if round.isMultiple(of: 10) { gone.keep(peripheral) }
                // Ended by either side.
                if round.isMultiple(of: 2) { device.peripheral.disconnect() } else { await program.disconnect() }
                _ = await program.journal.wait(on: fixture.radio.loop, limit: .seconds(60)) {
                    $0.count >= 2 * round + 1
                }
            }
            // The rounds that ended otherwise, with their reasons, are more useful than their number.
            let rounds = program.journal.entries.drop { $0 != "connected" }
            #expect(rounds.count == 2000)
            let surprises = rounds.enumerated().compactMap { position, entry -> String? in
                let round = position / 2 + 1
                let end = round.isMultiple(of: 2) ? "disconnected CBError 7" : "disconnected"
                let expected = position.isMultiple(of: 2) ? "connected" : end
                return entry == expected ? nil : "round \(round): \(entry)"
            }
            #expect(surprises.isEmpty)
            program.peripherals = []
            program.manager = nil
            await fixture.settle { gone.living == 0 && device.peripheral.links.isEmpty }
            #expect(gone.count >= 1000)
        }
    }

    /// A program that blocks its queue loses no callback and does not delay others on the same queue.
    @Test func callbacksThatBlock() async throws {
        try await Fixture.withDevice { fixture, device, program in
            await program.setNotify(true, "2A19", in: "180F")
            await program.wait(for: "notifying 2A19 true")
            _ = program.take()
            for number in 0..<200 { program.then["value 2A19 = \(number)"] = { _, _ in usleep(500) } }
            let handle = device.handle("2A19", in: "180F")
            for number in UInt8(0)..<200 { await device.server.notify([number], of: handle) }
            let turn = await fixture.onQueue { program.journal.entries.count }
            await program.wait(for: "value 2A19 = 199")
            #expect(program.take() == (0..<200).map { "value 2A19 = \($0)" })
            // Other blocks had their turn in between.
            #expect(turn < program.journal.entries.count)
        }
    }
}

/// Observes which objects still exist.
private final class Gone: Sendable {
    private struct Weak: @unchecked Sendable {
        weak let object: AnyObject?
    }

    private let objects = Mutex<[Weak]>([])

    func keep(_ object: AnyObject) {
        let kept = Weak(object: object)
        objects.withLock { $0.append(kept) }
    }

    var count: Int { objects.withLock { $0.count } }
    var living: Int { objects.withLock { $0.count { $0.object != nil } } }
}

extension Radio {
    fileprivate func keepLinks(in gone: Gone) {
        for link in links.all { gone.keep(link) }
    }
}

extension Optional where Wrapped == Any {
    /// The peripheral of a callback, if there is one.
    fileprivate var peripheral: CBPeripheral? { self as? CBPeripheral }
}
