import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Links that come in while the program takes none.
@Suite struct UnclaimedLinkTests {
    @Test func whatIsPublishedIsServedThoughNobodyTakesLinks() async throws {
        try await PeripheralFixture.run { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            for value: UInt8 in [1, 2] {
                let connection = try await fixture.connect()
                let characteristic = try await connection.found(0xFFF1, in: 0xFFF0)
                try await connection.write([value], to: characteristic)
                #expect(published.value(of: PeripheralFixture.value) == [value])
                let values = try await connection.subscribe(to: characteristic)
                #expect(try await published.notify([9], of: PeripheralFixture.value).count == 1)
                var iterator = values.makeAsyncIterator()
                #expect(try await iterator.next() == [9])
                await connection.disconnect()
                try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }
            }
            withExtendedLifetime(set) {}
        }
    }

    /// The device finds what there is always.
    @Test func aConnectableAdvertisementIsEnough() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let connection = try await fixture.connect()
            let name = try await connection.found(.deviceName, in: .genericAccess)
            #expect(try await connection.read(name) == Array("simulated".utf8))
            await connection.disconnect()
            withExtendedLifetime(set) {}
        }
    }

    @Test func whoBeginsToTakeLinksGetsThoseThereAre() async throws {
        try await PeripheralFixture.run(centrals: 3) { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            var connections = [try await fixture.connect(0), try await fixture.connect(1)]
            let incoming = try await fixture.peripheral.incomingConnections()
            let peers = fixture.centrals.map(\.information.address)
            #expect(incoming.connections.map(\.peer) == Array(peers.prefix(2)))
            connections.append(try await fixture.connect(2))
            var links = incoming.makeAsyncIterator()
            for peer in peers {
                #expect(try await links.next()?.peer == peer)
            }
            await connections.removeFirst().disconnect()
            try await fixture.base.settle { incoming.connections.count == 2 }
            for connection in connections { await connection.disconnect() }
            try await fixture.base.settle { incoming.connections.isEmpty }
            // From then on nobody takes them again.
            incoming.close()
            let again = try await fixture.connect()
            #expect(try await again.read(try await again.found(0xFFF1, in: 0xFFF0)) == [7])
            #expect(incoming.connections.isEmpty)
            await again.disconnect()
            withExtendedLifetime((published, set)) {}
        }
    }

    @Test func listeningLastsFromTheFirstOfferToTheLast() async throws {
        try await PeripheralFixture.run { fixture in
            let adapter = fixture.peripheral
            #expect(await !adapter.session.isServing)
            let first = try await adapter.publish([PeripheralFixture.service])
            #expect(await adapter.session.isServing)
            let set = try await adapter.advertise(PeripheralFixture.content)
            await first.close()
            #expect(await adapter.session.isServing)
            await set.close()
            #expect(await !adapter.session.isServing)
            let options = AdvertisingOptions(kind: .nonConnectable)
            let beacon = try await adapter.advertise(AdvertisementContent(), options: options)
            #expect(await !adapter.session.isServing)
            await beacon.close()
            let incoming = try await adapter.incomingConnections()
            let second = try await adapter.publish([PeripheralFixture.service])
            #expect(await !adapter.session.isServing)
            incoming.close()
            try await fixture.base.settle { await adapter.session.isServing }
            await adapter.close()
            #expect(await !adapter.session.isServing)
            withExtendedLifetime(second) {}
        }
    }

    @Test func linksThatNobodyTakesAreBounded() async throws {
        let limit = IncomingLinks.limit
        try await PeripheralFixture.run(centrals: limit + 1) { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            var connections: [Connection] = []
            for number in 0..<limit { connections.append(try await fixture.connect(number)) }
            let refused = await failure { _ = try await fixture.connect(limit) }
            #expect(refused != nil)
            // Whoever leaves makes room.
            await connections.removeFirst().disconnect()
            try await fixture.base.settle {
                await fixture.peripheral.session.unclaimedCount == limit - 1
            }
            connections.append(try await fixture.connect(limit))
            let incoming = try await fixture.peripheral.incomingConnections()
            #expect(incoming.connections.count == limit)
            for connection in connections { await connection.disconnect() }
            withExtendedLifetime((published, set)) {}
        }
    }

    /// The kernel gives the channel of every link to whoever listens, if nobody else has it.
    @Test(arguments: [false, true]) func aLinkOfAnAttemptThatWasGivenUpIsNotTaken(_ isTaking: Bool) async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let published = try await adapter.publish([PeripheralFixture.service])
            let incoming = isTaking ? try await adapter.incomingConnections() : nil
            for milliseconds in stride(from: 0, through: 200, by: 5) {
                let attempt = fixture.begin { try await adapter.connect(to: peripheral.address) }
                try await fixture.radio.sleep(for: .milliseconds(milliseconds))
                attempt.cancel()
                _ = await failure { await (try await attempt.value).disconnect() }
                try await fixture.radio.sleep(for: .seconds(5))
                #expect(fixture.kernel.links(adapter: 0).isEmpty, "cancelled after \(milliseconds) ms")
                #expect(await adapter.session.unclaimedCount == 0)
                #expect(incoming?.connections.isEmpty != false)
            }
            withExtendedLifetime(published) {}
        }
    }

    @Test func publishingGoesOnWhereNobodyMayListen() async throws {
        try await Fixture.run { fixture in
            let kernel = FaultingKernel(fixture.kernel)
            kernel.refuseListening(.addressInUse)
            let log = LogRecorder()
            let adapter = try await Adapter.open(configuration: .init(log: log.log), on: kernel)
            let published = try await adapter.publish([PeripheralFixture.service])
            let set = try await adapter.advertise(PeripheralFixture.content)
            #expect(await !adapter.session.isServing)
            #expect(log.lines.contains { $0.hasPrefix("incoming connections are not served") })
            let refused = await failure { _ = try await adapter.incomingConnections() }
            #expect(refused?.code == .busy)
            // What is offered next tries again.
            kernel.refuseListening(nil)
            let more = try await adapter.publish([CachingTests.battery])
            #expect(await adapter.session.isServing)
            await adapter.close()
            withExtendedLifetime((published, set, more)) {}
        }
    }

    @Test func linksThatNobodyTakesEndWithTheAdapter() async throws {
        try await PeripheralFixture.run { fixture in
            try await fixture.peripheral.publish([PeripheralFixture.service])
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let connection = try await fixture.connect()
            await fixture.peripheral.close()
            #expect(await connection.disconnected().disconnectReason == .remote)
            withExtendedLifetime(set) {}
        }
    }
}

extension AdapterSession {
    fileprivate var unclaimedCount: Int { incoming.unclaimed.count }
}
