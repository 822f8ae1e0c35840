import BluetoothLE
import CoreBluetooth
import TestSupport
import Testing

/// Behaviour that programs for Apple's systems rely on and that no other suite covers.
@Suite struct AcceptanceTests {
    @Test func whatIsAskedTwiceIsDoneOnce() async throws {
        try await Fixture.withDevice(isReached: false) { fixture, device, program in
            await program.perform { manager, program in
                program.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.identifier])
                for _ in 0..<3 { manager.connect(program.peripherals[0]) }
                #expect(program.peripherals[0].state == .connecting)
            }
            await program.wait(for: "connected")
            await program.perform { manager, program in
                manager.connect(program.peripherals[0])
                #expect(program.peripherals[0].state == .connected)
            }
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(device.peripheral.links.count == 1)
            await program.perform { manager, program in
                for _ in 0..<3 { manager.cancelPeripheralConnection(program.peripherals[0]) }
                #expect(program.peripherals[0].state == .disconnecting)
                manager.stopScan()
                manager.stopScan()
            }
            await program.wait(for: "disconnected")
            try await fixture.radio.sleep(for: .seconds(5))
            // An existing connection is reported for each call of connect.
            #expect(
                program.take().filter { !$0.hasPrefix("name") } == [
                    "state 5", "connected", "connected", "disconnected",
                ])
        }
    }

    @Test func knownPeripheralsInTheirOrder() async throws {
        try await Fixture.run { fixture in
            let program = await Recorder.start(fixture)
            await program.perform { manager, _ in
                let known = [Device.identifier, Device.otherIdentifier]
                let found = manager.retrievePeripherals(withIdentifiers: [known[1], UUID(), known[0], known[1]])
                #expect(found.map(\.identifier) == [known[1], known[0], known[1]])
                #expect(found[0] === found[2])
                // As dictionary keys.
                #expect(Set(found).count == 2)
                #expect([found[0]: 1, found[1]: 2][found[2]] == 1)
                #expect(found[0].name == nil && found[0].services == nil && found[0].rssi == nil)
                #expect(manager.retrievePeripherals(withIdentifiers: []).isEmpty)
            }
            fixture.kernel.setPowered(false, adapter: 0)
            await program.wait(for: "state 4")
            await program.perform { manager, _ in
                #expect(manager.retrievePeripherals(withIdentifiers: [Device.identifier]).isEmpty)
                #expect(manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")]).isEmpty)
            }
        }
    }

    /// Values for some of the subscribers, and values that are too long.
    @Test func valuesForSomeSubscribers() async throws {
        try await Fixture.run { fixture in
            let (server, first) = await Server.visited(fixture, subscribing: true)
            let central = try #require(server.central)
            let second = await fixture.elsewhere { await Recorder.start(fixture) }
            await second.reach(Server.service, named: "Server")
            let name = Server.stream.uuidString
            await second.setNotify(true, name, in: Server.service.uuidString)
            await fixture.wait(for: "subscribed true 2", in: server.journal)
            #expect(server.central !== central)
            let (one, other) = (central, server.central)
            #expect(Set([one, other].compactMap { $0?.identifier }).count == 2)
            #expect(server.stream.subscribedCentrals?.count == 2)
            await first.wait(for: "notifying \(name) true")
            await second.wait(for: "notifying \(name) true")
            _ = (first.take(), second.take())
            await fixture.onQueue {
                func update(_ value: [UInt8], _ centrals: [CBCentral]?) {
                    let isTaken = server.manager?.updateValue(
                        Data(value), for: server.stream, onSubscribedCentrals: centrals)
                    #expect(isTaken == true)
                }
                update([1], [one])
                update([2], other.map { [$0] })
                update([3], [])
                update([UInt8](repeating: 4, count: 1000), nil)
            }
            let length = central.maximumUpdateValueLength
            #expect(length == 512)
            let long = "value \(name) = " + Array(repeating: "4", count: length).joined(separator: " ")
            await first.wait(for: long)
            await second.wait(for: long)
            #expect(first.take() == ["value \(name) = 1", long])
            #expect(second.take() == ["value \(name) = 2", long])
            // One disconnects, the other stays.
            await first.disconnect()
            await fixture.wait(for: "unsubscribed false 1", in: server.journal)
            await fixture.onQueue {
                #expect(server.stream.subscribedCentrals?.first === other)
                _ = server.manager?.updateValue(Data([5]), for: server.stream, onSubscribedCentrals: nil)
            }
            await second.wait(for: "value \(name) = 5")
        }
    }

    /// A delegate without a method for requests, and no delegate at all.
    @Test(arguments: [true, false]) func requestsThatNobodyTakes(_ hasDelegate: Bool) async throws {
        try await Fixture.run { fixture in
            let (server, client) = await Server.visited(fixture)
            let silent = SilentDelegate()
            await fixture.onQueue { server.manager?.delegate = hasDelegate ? silent : nil }
            let dynamic = Server.dynamic.uuidString
            await client.perform(with: dynamic, in: Server.service.uuidString) { peripheral, subject in
                peripheral.readValue(for: subject)
                peripheral.writeValue(Data([1]), for: subject, type: .withResponse)
                peripheral.writeValue(Data([1]), for: subject, type: .withoutResponse)
                peripheral.readRSSI()
            }
            await client.wait(for: "rssi -50")
            #expect(
                client.take() == [
                    "value \(dynamic) CBATTError 6", "wrote \(dynamic) CBATTError 3", "rssi -50",
                ])
        }
    }

    /// In a class with the newer method only that one is called.
    @Test func theNewerWayToTellOfADisconnection() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            let program = Timekeeper(fixture)
            await fixture.wait(for: "connected", in: program.journal)
            let before = Date().timeIntervalSinceReferenceDate
            device.peripheral.breakLinks()
            await fixture.wait(for: "disconnected 6 false", in: program.journal)
            #expect(program.journal.entries == ["connected", "disconnected 6 false"])
            #expect(program.time.map { abs($0 - before) < 60 } == true)
            await fixture.onQueue { program.end() }
        }
    }

    /// A channel that requires encryption: a central that opens it pairs.
    @Test(arguments: [true, false]) func anEncryptedChannel(_ mayPair: Bool) async throws {
        try await Fixture.run(agent: mayPair ? JustWorksPairingAgent() : nil) { fixture in
            let (server, client) = await Server.visited(fixture)
            await fixture.onQueue { server.manager?.publishL2CAPChannel(withEncryption: true) }
            await fixture.wait(for: "published true", in: server.journal)
            let psm = server.psm
            await client.perform(with: { $0.openL2CAPChannel(psm) })
            if mayPair {
                await client.wait(for: "channel \(psm)")
                await fixture.wait(for: "opened true", in: server.journal)
            } else {
                await fixture.settle {
                    client.journal.entries.contains { $0.hasPrefix("channel 0 ") || $0.hasPrefix("disconnected") }
                }
                #expect(!server.journal.entries.contains("opened true"))
            }
        }
    }
}

/// Implements only the required methods.
private final class SilentDelegate: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
}

/// Implements both methods for a disconnection.
private final class Timekeeper: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    let journal = Journal<String>()
    private(set) var time: CFAbsoluteTime?
    private var manager: CBCentralManager?
    private var peripheral: CBPeripheral?

    init(_ fixture: Fixture) {
        super.init()
        manager = CBCentralManager(delegate: self, queue: fixture.queue)
    }

    func end() { (manager, peripheral) = (nil, nil) }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return }
        peripheral = central.retrievePeripherals(withIdentifiers: [Device.identifier]).first
        if let peripheral { central.connect(peripheral) }
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { journal.add("connected") }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        journal.add("told by the older method")
    }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: (any Error)?
    ) {
        time = timestamp
        journal.add("disconnected \((error as? CBError)?.errorCode ?? 0) \(isReconnecting)")
    }
}
