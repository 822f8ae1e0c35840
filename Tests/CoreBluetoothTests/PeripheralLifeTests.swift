import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import Synchronization
import Testing

/// Several peripheral managers, and their adapters' power and presence.
@Suite struct PeripheralLifeTests {
    private static let second = CBUUID(string: "5E220000-1234-5678-9ABC-DEF012345678")

    @Test func eachManagerHasItsOwnServices() async throws {
        try await Fixture.run { fixture in
            let (first, client) = await Server.visited(fixture, subscribing: true)

            // The subscription to Service Changed has to have reached the server.
            try await fixture.radio.sleep(for: .seconds(2))
            // A second program that starts while the central is connected already.
            let second = await Server.start(fixture, Self.second)
            await client.wait(for: "modified ")
            await client.discoverServices()
            await client.perform(with: { peripheral in
                guard let service = peripheral.services?.first(where: { $0.uuid == Self.second }) else { return }
                peripheral.discoverCharacteristics(nil, for: service)
            })
            await client.wait(for: "characteristics \(Self.second)")
            await client.setNotify(true, Server.stream.uuidString, in: Self.second.uuidString)
            await fixture.wait(for: "subscribed true 1", in: second.journal)
            _ = client.take()
            await client.perform(with: { peripheral in
                for service in [Server.service, Self.second] {
                    guard
                        let dynamic = peripheral.characteristic(
                            Server.dynamic.uuidString, in: service.uuidString)
                    else { continue }
                    peripheral.writeValue(
                        Data(count: service == Self.second ? 7 : 3), for: dynamic, type: .withResponse)
                }
            })
            await client.wait(for: "wrote \(Server.dynamic)", count: 2)
            #expect(first.journal.entries.suffix(2) == ["subscribed true 1", "wrote 0+3"])
            #expect(second.journal.entries.suffix(2) == ["subscribed true 1", "wrote 0+7"])

            // Both send more than is accepted at once, and both are notified to continue.
            await fixture.onQueue {
                first.left = 200
                second.left = 200
                first.sendRest()
                second.sendRest()
                #expect(first.left > 0 && second.left > 0)
            }
            await client.wait(for: "value \(Server.stream) = 1 0", count: 2)
            #expect(first.left == 0 && second.left == 0)
            #expect(client.journal.entries.count { $0.hasPrefix("value \(Server.stream)") } == 400)

            // A released manager removes its services, and no others.
            await fixture.onQueue { second.manager = nil }
            await client.wait(for: "modified \(Self.second)")
            // Until Service Changed is confirmed, the server must not send another indication.
            try await fixture.radio.sleep(for: .seconds(1))
            await fixture.onQueue {
                first.left = 1
                first.sendRest()
            }
            await client.wait(for: "value \(Server.stream) = 1 0", count: 3)
            await client.discoverServices()
            await client.perform(with: { peripheral in
                #expect(peripheral.services?.contains { $0.uuid == Self.second } == false)
                #expect(peripheral.services?.contains { $0.uuid == Server.service } == true)
            })
            await client.disconnect()
            await fixture.wait(for: "unsubscribed true 0", in: first.journal)
        }
    }

    @Test func latencyIsAskedFor() async throws {
        try await Fixture.run { fixture in
            let server = await Server.start(fixture)
            let client = try await Adapter.open(power: .powerOn, on: fixture.radio.makeKernel(adapters: [.fresh]))
            let connection = try await client.connect(firstMatching: { $0.data.localName == "Server" })
            let services = try await connection.discover()
            let stream = try #require(
                services.characteristic(
                    BluetoothUUID(Server.stream.uuidString) ?? 0, in: BluetoothUUID(Server.service.uuidString) ?? 0))
            let values = try await connection.subscribe(to: stream)
            await fixture.wait(for: "subscribed true 1", in: server.journal)
            let expected: [(CBPeripheralManagerConnectionLatency, ClosedRange<Duration>, Int)] = [
                (.high, .milliseconds(100)...(.milliseconds(125)), 2),
                (.low, .microseconds(7500)...(.milliseconds(15)), 0),
                (.medium, .milliseconds(30)...(.milliseconds(50)), 0),
            ]
            for (latency, interval, skipped) in expected {
                await fixture.onQueue {
                    if let central = server.central {
                        server.manager?.setDesiredConnectionLatency(latency, for: central)
                    }
                }
                for try await change in try await connection.linkChanges() {
                    guard let now = change.parameters else { continue }
                    #expect(interval.contains(now.interval))
                    #expect(now.latency == skipped)
                    break
                }
            }
            withExtendedLifetime(values) {}
            await client.close()
        }
    }

    /// Advertising that replaces one that has resumed automatically, and that fails.
    @Test func advertisingThatIsRefusedIsNotOn() async throws {
        try await Fixture.run { fixture in
            let server = Server(fixture, isEager: false)
            await fixture.wait(for: "state 5", in: server.journal)
            await fixture.onQueue { server.begin() }
            await fixture.wait(for: "advertising true 0", in: server.journal)
            fixture.kernel.setPowered(false, adapter: 0)
            await fixture.wait(for: "state 4", in: server.journal)
            fixture.kernel.setPowered(true, adapter: 0)
            await fixture.wait(for: "state 5", in: server.journal, count: 2)
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.kernel.setRefusal(.failed, of: .addExtendedAdvertisingParameters)
            await fixture.onQueue {
                #expect(server.manager?.isAdvertising == true)
                server.manager?.startAdvertising([CBAdvertisementDataLocalNameKey: "Again"])
            }
            let told = await server.journal.wait(on: fixture.radio.loop) { entries in
                entries.count { $0.hasPrefix("advertising ") } == 2
            }
            #expect(told?.last?.hasPrefix("advertising false ") == true)
            fixture.kernel.setRefusal(nil, of: .addExtendedAdvertisingParameters)
            await fixture.onQueue {
                #expect(server.manager?.isAdvertising == false)
                server.manager?.startAdvertising([CBAdvertisementDataLocalNameKey: "Again"])
            }
            await fixture.wait(for: "advertising true 0", in: server.journal, count: 2)
        }
    }

    /// A central opens channels while the program's queue is blocked: as many are queued as the listener holds.
    @Test func channelsThatTheProgramDoesNotTakeAreClosed() async throws {
        let radio = SimulatedRadio(time: .virtual)
        let kernel = radio.makeKernel(adapters: [.fresh])
        let fixture = Fixture(radio: radio, kernel: kernel)
        let hold = EndingHold(radio)
        try await CBLinux.withKernel(kernel, hold: hold) {
            try await radio.run(limit: .seconds(3600), stallGrace: .seconds(30)) {
                let server = await Server.start(fixture)
                await fixture.onQueue { server.manager?.publishL2CAPChannel(withEncryption: false) }
                await fixture.wait(for: "published true", in: server.journal)
                let client = try await Adapter.open(power: .powerOn, on: radio.makeKernel(adapters: [.fresh]))
                let link = try await client.connect(firstMatching: { $0.data.localName == "Server" })
                let psm = await fixture.onQueue { server.psm }
                hold.letGo()
                fixture.queue.suspend()
                for _ in 0..<40 { await (try? link.openChannel(psm: psm))?.close() }
                fixture.queue.resume()
                // Each is reported when the program has processed the one before it.
                for _ in 0..<200 {
                    await fixture.onQueue {}
                    await radio.loop.run {}
                }
                #expect((16...18).contains(server.journal.entries.count { $0.hasPrefix("opened") }))
                await client.close()
            }
        }
        radio.close()
    }

    @Test func servicesStayWhileItIsOffAndGoWithTheAdapter() async throws {
        try await Fixture.run { fixture in
            let server = Server(fixture, isEager: false)
            await fixture.wait(for: "state 5", in: server.journal)
            await fixture.onQueue { server.begin() }
            await fixture.wait(for: "advertising true 0", in: server.journal)
            let client = await fixture.elsewhere { await Recorder.start(fixture) }
            await client.reach(Server.service, named: "Server")
            await client.setNotify(true, Server.stream.uuidString, in: Server.service.uuidString)
            await fixture.wait(for: "subscribed true 1", in: server.journal)
            fixture.kernel.setPowered(false, adapter: 0)
            await fixture.wait(for: "unsubscribed true 0", in: server.journal)
            await fixture.onQueue {
                #expect(server.manager?.isAdvertising == false)
                // Not accepted now.
                #expect(server.manager?.updateValue(Data([1]), for: server.stream, onSubscribedCentrals: nil) == false)
                #expect(server.stream.subscribedCentrals?.isEmpty == true)
            }
            fixture.kernel.setPowered(true, adapter: 0)
            await fixture.wait(for: "state 5", in: server.journal, count: 2)
            await fixture.onQueue { #expect(server.manager?.isAdvertising == true) }
            // The program's services are restored without a call.
            _ = try #require(await client.reachAgain())
            await client.discoverServices(Server.service.uuidString)
            await client.perform(with: { #expect($0.services?.count == 1) })
            await client.disconnect()
            await client.wait(for: "disconnected")

            fixture.kernel.unplug(0)
            await fixture.wait(for: "state 1", in: server.journal)
            await fixture.onQueue { #expect(server.manager?.isAdvertising == false) }
            // After a while any present adapter is used, without the services.
            fixture.kernel.plug()
            await fixture.wait(for: "state 5", in: server.journal, count: 3)
            await fixture.onQueue {
                #expect(server.manager?.isAdvertising == false)
                server.begin()
            }
            await fixture.wait(for: "advertising true 0", in: server.journal, count: 2)
            #expect(
                server.journal.entries.filter { !$0.hasPrefix("subscribed") } == [
                    "state 5", "added true 0", "advertising true 0", "state 4", "unsubscribed true 0", "state 5",
                    "state 1", "state 2", "state 5", "added true 0", "advertising true 0",
                ])
            let heard = client.journal.entries.count { $0 == "discovered Server" }
            await client.perform { manager, program in
                program.peripherals = []
                manager.scanForPeripherals(withServices: [Server.service])
            }
            await client.wait(for: "discovered Server", count: heard + 1)
            await client.perform { manager, program in
                manager.stopScan()
                if let peripheral = program.peripherals.first { manager.connect(peripheral) }
            }
            await client.wait(for: "connected", count: 3)
            await client.discoverServices(Server.service.uuidString)
            await client.perform(with: { #expect($0.services?.count == 1) })
        }
    }

    @Test func aServiceThatIsRemovedHasNoSubscribers() async throws {
        try await Fixture.run { fixture in
            let (server, client) = await Server.visited(fixture, subscribing: true)
            // The subscription to Service Changed has to have reached the server.
            try await fixture.radio.sleep(for: .seconds(2))
            await fixture.onQueue {
                server.manager?.remove(server.offer)
                #expect(server.stream.subscribedCentrals?.isEmpty == true)
                // Added and removed at once, no service remains.
                server.manager?.add(server.offer)
                server.manager?.removeAllServices()
            }
            await client.wait(for: "modified \(Server.service)")
            await client.discoverServices()
            await client.perform(with: { peripheral in
                #expect(peripheral.services?.contains { $0.uuid == Server.service } == false)
            })
        }
    }
}

/// Holds virtual time until it is released.
private final class EndingHold: SimulationHold {
    private let base: SimulatedRadio
    private let isOver = Atomic(false)

    init(_ base: SimulatedRadio) { self.base = base }

    /// Stops holding time; must be called while no callback is queued for the program.
    func letGo() { isOver.store(true, ordering: .releasing) }

    func pauseTime() { if !isOver.load(ordering: .acquiring) { base.pauseTime() } }
    func resumeTime() { if !isOver.load(ordering: .acquiring) { base.resumeTime() } }
}
