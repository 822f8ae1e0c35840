import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import Synchronization
import Testing

/// Subscribed centrals that accept no values.
@Suite struct StalledSubscriberTests {
    /// A central with a kernel of its own.
    private struct Central {
        let kernel: SimulatedKernel
        let adapter: Adapter
        let link: Connection
        let values: BoundedStream<[UInt8]>
    }

    private final class Count: Sendable {
        let number = Mutex(0)
    }

    private static let service = CBUUID(string: "1809")
    private static let indicated = CBUUID(string: "2A1C")

    /// A program with an additional indicated value.
    private static func makeServer(_ fixture: Fixture) async -> (Server, Offered) {
        let server = await Server.start(fixture)
        let offered = Offered()
        await fixture.onQueue { server.manager?.add(offered.service) }
        await fixture.wait(for: "added false 0", in: server.journal)
        return (server, offered)
    }

    /// The indicated value.
    private final class Offered: @unchecked Sendable {
        let value = CBMutableCharacteristic(
            type: StalledSubscriberTests.indicated, properties: .indicate, value: nil, permissions: [])
        let service = CBMutableService(type: StalledSubscriberTests.service, primary: true)

        init() { service.characteristics = [value] }

        /// Sends a value; returns whether it was accepted.
        func send(_ number: Int, _ server: Server) -> Bool {
            server.manager?.updateValue(
                Data([UInt8(truncatingIfNeeded: number)]), for: value, onSubscribedCentrals: nil) ?? false
        }
    }

    private static func makeCentral(
        _ fixture: Fixture, _ value: CBUUID = indicated, in service: CBUUID = service
    ) async throws -> Central {
        let address = try #require(fixture.kernel.adapters().first?.address)
        let kernel = fixture.radio.makeKernel(adapters: [.fresh])
        let adapter = try await Adapter.open(power: .powerOn, on: kernel)
        let link = try await adapter.connect(to: address)
        let uuid = try #require(BluetoothUUID(value.uuidString))
        let serviceUUID = try #require(BluetoothUUID(service.uuidString))
        let wanted = try #require(try await link.discover().characteristic(uuid, in: serviceUUID))
        return Central(
            kernel: kernel, adapter: adapter, link: link, values: try await link.subscribe(to: wanted))
    }

    /// When no central accepts values the program has to wait, and is notified when one does, or has disconnected.
    @Test(arguments: [false, true]) func nobodyTakesAnything(_ endsInTheEnd: Bool) async throws {
        try await Fixture.run { fixture in
            let (server, offered) = await Self.makeServer(fixture)
            let first = try await Self.makeCentral(fixture)
            let second = try await Self.makeCentral(fixture)
            await fixture.wait(for: "subscribed false 0", in: server.journal, count: 2)
            // They receive packets but send none.
            first.kernel.setSending(false, adapter: 0)
            second.kernel.setSending(false, adapter: 0)
            await fixture.onQueue {
                for number in 0..<5 { #expect(offered.send(number, server)) }
            }
            // Longer than a stalled central is waited for while there are others.
            try await fixture.radio.sleep(for: .seconds(5))
            let count = await fixture.onQueue { () -> Int in
                var count = 5
                while count < 200, offered.send(count, server) { count += 1 }
                return count
            }
            #expect(count < 200)
            #expect(!server.journal.entries.contains("ready"))
            if endsInTheEnd {
                let address = try #require(fixture.kernel.adapters().first?.address)
                for peer in fixture.kernel.links(adapter: 0) { fixture.radio.breakLink(address, peer) }
                await fixture.wait(for: "ready", in: server.journal)
            } else {
                first.kernel.setSending(true, adapter: 0)
                await fixture.wait(for: "ready", in: server.journal)
                let isTaken = await fixture.onQueue { offered.send(count, server) }
                #expect(isTaken)
                // No accepted value is lost.
                var iterator = first.values.makeAsyncIterator()
                for number in 0...count {
                    let value = try await iterator.next()
                    #expect(value == [UInt8(truncatingIfNeeded: number)])
                }
            }
            second.kernel.setSending(true, adapter: 0)
            await first.adapter.close()
            await second.adapter.close()
        }
    }

    /// A central that accepts values for a moment every 1.8 s delays the others once.
    @Test func oneThatTakesValuesNowAndThenDelaysTheOthersOnce() async throws {
        let counts = Mutex<[Int]>([])
        for isDripping in [false, true] {
            try await Fixture.run { fixture in
                let server = await Server.start(fixture)
                var centrals: [Central] = []
                for _ in 0..<3 {
                    centrals.append(try await Self.makeCentral(fixture, Server.stream, in: Server.service))
                }
                await fixture.wait(for: "subscribed true 3", in: server.journal)
                let received = Count()
                let loop = fixture.radio.loop
                let readers = centrals.map(\.values).enumerated().map { number, values in
                    Task(executorPreference: loop) {
                        for try await _ in values where number == 0 { received.number.withLock { $0 += 1 } }
                    }
                }
                await fixture.onQueue {
                    server.left = 100_000
                    server.sendRest()
                }
                let slow = centrals[2].adapter.information.address
                for _ in 0..<10 {
                    if isDripping { fixture.kernel.setSending(false, adapter: 0, to: slow) }
                    try await fixture.radio.sleep(for: .milliseconds(1800))
                    fixture.kernel.setSending(true, adapter: 0, to: slow)
                    try await fixture.radio.sleep(for: .milliseconds(60))
                }
                counts.withLock { $0.append(received.number.withLock { $0 }) }
                await fixture.onQueue { server.left = 0 }
                for reader in readers { reader.cancel() }
                for central in centrals { await central.adapter.close() }
            }
        }
        let (alone, beside) = counts.withLock { ($0[0], $0[1]) }
        #expect(beside * 10 > alone * 8, "\(beside) of \(alone)")
    }

    /// A value whose only subscriber is stalled is not accepted, and others continue.
    @Test func whatOnlyAStalledCentralWantsIsNotTaken() async throws {
        try await Fixture.run { fixture in
            let (server, offered) = await Self.makeServer(fixture)
            let stuck = try await Self.makeCentral(fixture)
            await fixture.wait(for: "subscribed false 0", in: server.journal)
            let client = await fixture.elsewhere { await Recorder.start(fixture) }
            await client.reach(Server.service, named: "Server")
            await client.setNotify(true, Server.stream.uuidString, in: Server.service.uuidString)
            await fixture.wait(for: "subscribed true 1", in: server.journal)
            stuck.kernel.setSending(false, adapter: 0)
            await fixture.onQueue { #expect(offered.send(0, server)) }
            try await fixture.radio.sleep(for: .seconds(5))
            await fixture.onQueue {
                #expect(!offered.send(1, server))
                server.left = 1
                server.sendRest()
                #expect(server.left == 0)
            }
            await client.wait(for: "value \(Server.stream) = 1 0")
            #expect(!server.journal.entries.contains("ready"))
            stuck.kernel.setSending(true, adapter: 0)
            await fixture.wait(for: "ready", in: server.journal)
            await fixture.onQueue { #expect(offered.send(1, server)) }
            var iterator = stuck.values.makeAsyncIterator()
            for number in 0...1 as ClosedRange<UInt8> {
                #expect(try await iterator.next() == [number])
            }
            await stuck.adapter.close()
        }
    }
}
