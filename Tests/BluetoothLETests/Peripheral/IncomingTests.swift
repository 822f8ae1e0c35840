import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// Links that others make to this machine, and what they find.
@Suite struct IncomingTests {
    /// A story with a machine that publishes, accepts and advertises.
    private static func run(
        centrals: Int = 1, handlers: AttributeHandlers = AttributeHandlers(),
        options: AdvertisingOptions = AdvertisingOptions(),
        _ body: @escaping @Sendable (PeripheralFixture, PublishedServices, IncomingConnections) async throws -> Void
    ) async throws {
        try await PeripheralFixture.run(centrals: centrals) { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service], handlers: handlers)
            let incoming = try await fixture.peripheral.incomingConnections()
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content, options: options)
            try await body(fixture, published, incoming)
            await set.close()
        }
    }

    @Test func aCentralFindsReadsAndWritesWhatIsPublished() async throws {
        try await Self.run { fixture, published, incoming in
            let connection = try await fixture.connect()
            var links = incoming.makeAsyncIterator()
            let accepted = try #require(try await links.next())
            #expect(accepted.role == .peripheral)
            #expect(connection.role == .central)
            #expect(accepted.peer == fixture.central.information.address)
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(try await connection.read(value) == [7])
            try await connection.write([1, 2, 3], to: value)
            #expect(published.value(of: PeripheralFixture.value) == [1, 2, 3])
            #expect(try await connection.read(value) == [1, 2, 3])
            #expect(await accepted.maximumTransmissionUnit == 517)
            // What the controller tells of a link is there for either role.
            #expect(await accepted.parameters != nil)
            #expect(try await accepted.rssi() == -50)
            let asked = try await accepted.requestParameters(.lowPower)
            #expect(await accepted.parameters == asked)
            #expect(await connection.parameters == asked)
            await connection.disconnect()
            let end = await accepted.disconnected()
            #expect(end.code == .disconnected)
            #expect(end.disconnectReason == .remote)
            #expect(incoming.connections.isEmpty)
        }
    }

    @Test func aLongValueIsWrittenAndReadInParts() async throws {
        let long = (0..<400).map { UInt8(truncatingIfNeeded: $0) }
        let written = Mutex<[(Int, [UInt8])]>([])
        let handlers = AttributeHandlers(
            read: { _ in long }, write: { request, bytes in written.withLock { $0.append((request.offset, bytes)) } })
        try await Self.run(handlers: handlers) { fixture, published, _ in
            let connection = try await fixture.central.connect(
                to: fixture.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
            let stored = try await connection.found(0xFFF1, in: 0xFFF0)
            try await connection.write(long, to: stored)
            #expect(published.value(of: PeripheralFixture.value) == long)
            #expect(try await connection.read(stored) == long)
            let dynamic = try await connection.found(0xFFF2, in: 0xFFF0)
            #expect(try await connection.read(dynamic) == long)
            try await connection.write(long, to: dynamic)
            let parts = written.withLock { $0 }
            #expect(parts.sorted { $0.0 < $1.0 }.flatMap(\.1) == long)
            await connection.disconnect()
        }
    }

    @Test func centralsAreToldApart() async throws {
        let readers = Mutex<[BluetoothAddress]>([])
        let handlers = AttributeHandlers(read: { request in
            readers.withLock { $0.append(request.peer) }
            return Array("\(request.peer)".utf8)
        })
        try await Self.run(centrals: 4, handlers: handlers) { fixture, _, incoming in
            var links: [Connection] = []
            for number in 0..<4 {
                let connection = try await fixture.connect(number)
                links.append(connection)
                let value = try await connection.found(0xFFF2, in: 0xFFF0)
                let own = Array("\(fixture.centrals[number].information.address)".utf8)
                #expect(try await connection.read(value) == own)
            }
            #expect(readers.withLock { $0 } == fixture.centrals.map(\.information.address))
            #expect(incoming.connections.map(\.peer) == fixture.centrals.map(\.information.address))
            for link in links { await link.disconnect() }
            try await fixture.base.settle { incoming.connections.isEmpty }
            #expect(incoming.missedCount == 0)
        }
    }

    @Test(arguments: [true, false]) func advertisingGoesOnAfterAConnection(_ continues: Bool) async throws {
        let options = AdvertisingOptions(continuesWhileConnected: continues)
        try await Self.run(centrals: 2, options: options) { fixture, _, _ in
            for _ in 0..<3 {
                let first = try await fixture.connect(0)
                let second = try? await fixture.connect(1, timeout: .seconds(4))
                #expect((second != nil) == continues)
                await first.disconnect()
                await second?.disconnect()
                try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }
            }
        }
    }

    @Test func eitherSideMayBeClientAndServer() async throws {
        try await Self.run { fixture, _, incoming in
            try await fixture.central.publish([
                GATTService(
                    0x1805, characteristics: [GATTCharacteristic(0x2A2B, properties: .read, value: .stored([1, 2]))])
            ])
            let connection = try await fixture.connect()
            let accepted = try #require(incoming.connections.first)
            let time = try await accepted.found(0x2A2B, in: 0x1805)
            #expect(try await accepted.read(time) == [1, 2])
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            #expect(try await connection.read(value) == [7])
            await accepted.disconnect()
            #expect(await accepted.disconnected().disconnectReason == .local)
            #expect(await connection.disconnected().disconnectReason == .remote)
        }
    }

    @Test func thereIsOneLoopAtATime() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let incoming = try await fixture.peripheral.incomingConnections()
            #expect(await failure { _ = try await fixture.peripheral.incomingConnections() }?.code == .busy)
            incoming.close()
            let again = try await fixture.peripheral.incomingConnections()
            // The loop that was ended takes nothing from the one that has begun.
            incoming.close()
            let connection = try await fixture.connect()
            #expect(again.connections.count == 1)
            #expect(incoming.connections.isEmpty)
            await connection.disconnect()
            // Leaving the loop ends it, too.
            for try await link in again {
                _ = link
                break
            }
            let third = try await fixture.peripheral.incomingConnections()
            withExtendedLifetime((set, third)) {}
        }
    }

    @Test func closingWhileAcceptingEndsTheLoopWithTheReason() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let incoming = try await fixture.peripheral.incomingConnections()
            let loop = fixture.base.begin {
                var peers: [BluetoothAddress] = []
                for try await link in incoming { peers.append(link.peer) }
                return peers
            }
            let connection = try await fixture.connect()
            try await fixture.base.radio.sleep(for: .seconds(1))
            await fixture.peripheral.close()
            #expect(await failure { _ = try await loop.value }?.code == .cancelled)
            guard let reason = set.state.closed else {
                Issue.record("\(set.state)")
                return
            }
            #expect(reason.code == .cancelled)
            // Nothing is left in the kernel.
            #expect(await fixture.instances(of: fixture.central) == [])
            let other = try await Adapter.open(on: fixture.kernel)
            #expect(await fixture.instances(of: other) == [])
            await other.close()
            await connection.disconnect()
        }
    }

    @Test func aTaskThatWaitsForLinksIsCancelled() async throws {
        try await PeripheralFixture.run { fixture in
            let incoming = try await fixture.peripheral.incomingConnections()
            let loop = fixture.base.begin { for try await _ in incoming {} }
            try await fixture.base.radio.sleep(for: .seconds(1))
            loop.cancel()
            #expect(await failure { try await loop.value }?.code == .cancelled)
        }
    }

    // MARK: Values that are sent

    @Test func subscribersAreSentValuesAndOthersNot() async throws {
        try await Self.run(centrals: 3) { fixture, published, incoming in
            var streams: [BoundedStream<[UInt8]>] = []
            var links: [Connection] = []
            for number in 0..<3 {
                let connection = try await fixture.connect(number)
                links.append(connection)
                let value = try await connection.found(0xFFF1, in: 0xFFF0)
                if number < 2 {
                    streams.append(
                        try await connection.subscribe(to: value, kind: number == 0 ? .notification : .indication))
                }
            }
            let notified = try await published.notify([1], of: PeripheralFixture.value)
            #expect(notified.map(\.connection.peer) == [fixture.centrals[0].information.address])
            let indicated = try await published.indicate([2], of: PeripheralFixture.value)
            #expect(indicated.map(\.connection.peer) == [fixture.centrals[1].information.address])
            for delivery in notified + indicated { try delivery.result.get() }
            for (number, stream) in streams.enumerated() {
                var values = stream.makeAsyncIterator()
                #expect(try await values.next() == [UInt8(number + 1)])
            }
            #expect(await failure { try await published.notify([1], of: 3) }?.code == .invalidArgument)
            for link in links { await link.disconnect() }
            try await fixture.base.settle { incoming.connections.isEmpty }
            #expect(try await published.notify([1], of: PeripheralFixture.value).isEmpty)
        }
    }

    @Test func servicesAreWrittenDownAsATree() async throws {
        try await Self.run { fixture, _, _ in
            let hasBattery = true
            let tree = try await fixture.peripheral.publish(handlers: AttributeHandlers(read: { _ in [5] })) {
                GATTService(0xFFE0) {
                    GATTCharacteristic(0xFFE1, properties: .read) {
                        GATTDescriptor.userDescription("five")
                    }
                }
                if hasBattery {
                    GATTService(0x180F) { GATTCharacteristic(0x2A19, properties: .read, value: .stored([97])) }
                }
            }
            let connection = try await fixture.connect()
            #expect(try await connection.read(try await connection.found(0xFFE1, in: 0xFFE0)) == [5])
            #expect(try await connection.read(try await connection.found(0x2A19, in: 0x180F)) == [97])
            await tree.close()
            #expect(
                await failure { _ = try await fixture.peripheral.publish { [GATTService]() } }?.code == .invalidArgument
            )
        }
    }

    @Test func oneOfManyThatTakesNothingHoldsUpNobody() async throws {
        let count = 32
        let rounds = 300
        try await Self.run(centrals: count) { fixture, published, incoming in
            var links: [Connection] = []
            var readers: [Task<Int, any Error>] = []
            for number in 0..<count {
                let connection = try await fixture.connect(number)
                links.append(connection)
                let value = try await connection.found(0xFFF1, in: 0xFFF0)
                let stream = try await connection.subscribe(to: value)
                readers.append(
                    fixture.base.begin {
                        var expected = 0
                        for try await bytes in stream {
                            // The last of all.
                            guard bytes.count == 100 else { break }
                            if number != 5 { #expect(bytes[0] == UInt8(truncatingIfNeeded: expected)) }
                            expected += 1
                        }
                        return expected
                    })
            }
            let stuck = fixture.centrals[5].information.address
            fixture.kernel.setSending(false, adapter: 0, to: stuck)
            var refused: [BluetoothError.Code: Int] = [:]
            var longest = Duration.zero
            var waits = 0
            for round in 0..<rounds {
                let value = [UInt8(truncatingIfNeeded: round)] + [UInt8](repeating: 0, count: 99)
                let start = fixture.base.radio.now
                let deliveries = try await published.notify(value, of: PeripheralFixture.value, timeout: .seconds(2))
                let time = start.duration(to: fixture.base.radio.now)
                longest = max(longest, time)
                if time >= .seconds(2) { waits += 1 }
                #expect(deliveries.count == count)
                for delivery in deliveries {
                    guard case .failure(let error) = delivery.result else { continue }
                    #expect(delivery.connection.peer == stuck)
                    refused[error.code, default: 0] += 1
                }
            }
            // Once it was waited for; from then on it is passed over at once.
            #expect(waits == 1)
            #expect(refused[.timedOut] == 1)
            #expect((refused[.busy] ?? 0) > 0)
            // It catches up with what it was sent, and takes part again.
            fixture.kernel.setSending(true, adapter: 0, to: stuck)
            try await fixture.base.radio.sleep(for: .seconds(60))
            let last = try await published.notify([0xFF], of: PeripheralFixture.value)
            #expect(last.filter { (try? $0.result.get()) != nil }.count == count)
            for (number, reader) in readers.enumerated() {
                let missed = number == 5 ? refused.values.reduce(0, +) : 0
                #expect(try await reader.value == rounds - missed)
            }
            for link in links { await link.disconnect() }
            try await fixture.base.settle { incoming.connections.isEmpty }
        }
    }
}
