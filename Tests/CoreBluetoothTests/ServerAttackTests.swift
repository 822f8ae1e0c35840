import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

/// A fault in a program that publishes services, injected at any packet of a central's.
enum ServerBlow: CaseIterable, Sendable {
    case cut, endedByCentral, unplugged, poweredOff, dropped, removed
}

@Suite struct ServerAttackTests {
    @Test(arguments: ServerBlow.allCases) func everyBlowAtEveryPacket(_ blow: ServerBlow) async throws {
        let packets = try await Self.run(nil, at: nil)
        #expect(packets > 20)
        for index in 0..<packets { _ = try await Self.run(blow, at: index) }
    }

    private static func run(_ blow: ServerBlow?, at index: Int?) async throws -> Int {
        let count = Mutex(0)
        try await Fixture.run { fixture in
            let server = await Server.start(fixture)
            let address = try #require(fixture.kernel.adapters().first?.address)
            let far = fixture.radio.makeKernel(adapters: [.fresh])
            let kernel = FaultingKernel(far)
            let client = await CBLinux.withKernel(kernel, hold: fixture.radio) {
                await Recorder.start(fixture)
            }
            let hasStruck = Mutex(false)
            kernel.arm(at: index) {
                hasStruck.withLock { $0 = true }
                switch blow {
                case .cut:
                    for peer in fixture.kernel.links(adapter: 0) { fixture.radio.breakLink(address, peer) }
                case .endedByCentral:
                    fixture.queue.async {
                        guard let peripheral = client.peripherals.first else { return }
                        client.manager?.cancelPeripheralConnection(peripheral)
                    }
                case .unplugged: fixture.kernel.unplug(0)
                case .poweredOff: fixture.kernel.setPowered(false, adapter: 0)
                case .dropped: fixture.queue.async { server.manager = nil }
                case .removed: fixture.queue.async { server.manager?.removeAllServices() }
                case nil: break
                }
            }
            work(client)
            await client.perform { manager, _ in manager.scanForPeripherals(withServices: [Server.service]) }
            let comment = Comment(rawValue: "\(String(describing: blow)) at \(String(describing: index))")
            guard let blow else {
                await client.wait(for: "rssi -50")
                count.withLock { $0 = kernel.count }
                return
            }
            await fixture.settle { hasStruck.withLock { $0 } }
            // Not longer than an adapter may be absent.
            try await fixture.radio.sleep(for: .seconds(8))
            await fixture.onQueue {}
            let entries = server.journal.entries
            let subscribed = entries.count { $0.hasPrefix("subscribed") }
            let unsubscribed = entries.count { $0.hasPrefix("unsubscribed") }
            switch blow {
            case .cut, .endedByCentral, .unplugged, .poweredOff:
                #expect(subscribed == unsubscribed, "\(comment): \(entries)")
                #expect(server.stream.subscribedCentrals ?? [] == [], comment)
                #expect(client.peripherals.first?.state == .disconnected, comment)
            case .removed: #expect(server.stream.subscribedCentrals ?? [] == [], comment)
            case .dropped: break
            }
            try await again(fixture, blow, server, client, address)
        }
        return count.withLock { $0 }
    }

    /// The complete work of the program at the other end, one request after the other.
    private static func work(_ client: Recorder) {
        let connect: (Recorder, Any?) -> Void = { client, peripheral in
            guard let peripheral = peripheral as? CBPeripheral else { return }
            client.manager?.stopScan()
            client.manager?.connect(peripheral)
        }
        client.then = [
            // By the name in its attribute, once that was read.
            "discovered Server": connect, "discovered simulated": connect,
            "connected": { ($1 as? CBPeripheral)?.discoverServices([Server.service]) },
            "services": { _, peripheral in
                guard let peripheral = peripheral as? CBPeripheral, let service = peripheral.services?.first else {
                    return
                }
                peripheral.discoverCharacteristics(nil, for: service)
            },
            "characteristics \(Server.service)": { _, service in
                guard let service = service as? CBService, let peripheral = service.peripheral,
                    let dynamic = peripheral.characteristic(Server.dynamic.uuidString, in: service.uuid.uuidString),
                    let stream = peripheral.characteristic(Server.stream.uuidString, in: service.uuid.uuidString)
                else { return }
                peripheral.setNotifyValue(true, for: stream)
                peripheral.readValue(for: dynamic)
                peripheral.writeValue(Data([1, 2, 3]), for: dynamic, type: .withResponse)
                peripheral.writeValue(Data(count: 512), for: dynamic, type: .withResponse)
                peripheral.setNotifyValue(false, for: stream)
                peripheral.setNotifyValue(true, for: stream)
                peripheral.readRSSI()
            },
        ]
    }

    private static func again(
        _ fixture: Fixture, _ blow: ServerBlow, _ before: Server, _ client: Recorder, _ address: BluetoothAddress
    ) async throws {
        var server = before
        switch blow {
        case .poweredOff: fixture.kernel.setPowered(true, adapter: 0)
        case .unplugged:
            var same = SimulatedController.fresh
            same.address = address
            fixture.kernel.plug(same)
            await fixture.wait(for: "advertising true 0", in: server.journal, count: 2)
        case .dropped:
            server = Server(fixture, isEager: false)
            await fixture.wait(for: "state 5", in: server.journal)
            await fixture.onQueue { [server] in server.begin() }
            await fixture.wait(for: "advertising true 0", in: server.journal)
        case .removed: await fixture.onQueue { before.begin() }
        case .cut, .endedByCentral: break
        }
        await client.disconnect()
        try await fixture.radio.sleep(for: .seconds(5))
        let done = client.journal.entries.count { $0 == "rssi -50" }
        await client.perform { manager, program in
            program.peripherals = []
            manager.scanForPeripherals(withServices: [Server.service])
        }
        await client.wait(for: "rssi -50", count: done + 1)
    }
}
