import SimulatedKernel
import TestSupport
import Testing

@testable import BluetoothLE

/// Links that come in while the program takes none.
@Suite struct UnclaimedLinkTests {
    @Test func whatIsPublishedIsServedThoughNobodyTakesLinks() async throws {
        try await PeripheralStory.run { story in
            let published = try await story.peripheral.publish([PeripheralStory.service])
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            for value: UInt8 in [1, 2] {
                let connection = try await story.connect()
                let characteristic = try await connection.found(0xFFF1, in: 0xFFF0)
                try await connection.write([value], to: characteristic)
                #expect(published.value(of: PeripheralStory.value) == [value])
                let values = try await connection.subscribe(to: characteristic)
                let deliveries = try await published.notify([9], of: PeripheralStory.value)
                #expect(deliveries.count == 1)
                var iterator = values.makeAsyncIterator()
                #expect(try await iterator.next() == [9])
                await connection.disconnect()
                try await story.story.settle { story.kernel.links(adapter: 0).isEmpty }
            }
            withExtendedLifetime(set) {}
        }
    }

    /// The device finds what there is always.
    @Test func aConnectableAdvertisementIsEnough() async throws {
        try await PeripheralStory.run { story in
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            let connection = try await story.connect()
            let name = try await connection.found(.deviceName, in: .genericAccess)
            #expect(try await connection.read(name) == Array("simulated".utf8))
            await connection.disconnect()
            withExtendedLifetime(set) {}
        }
    }

    @Test func whoBeginsToTakeLinksGetsThoseThereAre() async throws {
        try await PeripheralStory.run(centrals: 3) { story in
            let published = try await story.peripheral.publish([PeripheralStory.service])
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            var connections = [try await story.connect(0), try await story.connect(1)]
            let incoming = try await story.peripheral.incomingConnections()
            let peers = story.centrals.map(\.information.address)
            #expect(incoming.connections.map(\.peer) == Array(peers.prefix(2)))
            connections.append(try await story.connect(2))
            var links = incoming.makeAsyncIterator()
            for peer in peers {
                let link = try await links.next()
                #expect(link?.peer == peer)
            }
            await connections.removeFirst().disconnect()
            try await story.story.settle { incoming.connections.count == 2 }
            for connection in connections { await connection.disconnect() }
            try await story.story.settle { incoming.connections.isEmpty }
            // From then on nobody takes them again.
            incoming.close()
            let again = try await story.connect()
            #expect(try await again.read(try await again.found(0xFFF1, in: 0xFFF0)) == [7])
            #expect(incoming.connections.isEmpty)
            await again.disconnect()
            withExtendedLifetime((published, set)) {}
        }
    }

    @Test func listeningLastsFromTheFirstOfferToTheLast() async throws {
        try await PeripheralStory.run { story in
            let adapter = story.peripheral
            #expect(await !adapter.session.isServing)
            let first = try await adapter.publish([PeripheralStory.service])
            #expect(await adapter.session.isServing)
            let set = try await adapter.advertise(PeripheralStory.content)
            await first.withdraw()
            #expect(await adapter.session.isServing)
            await set.stop()
            #expect(await !adapter.session.isServing)
            let options = AdvertisingOptions(kind: .nonConnectable)
            let beacon = try await adapter.advertise(AdvertisementContent(), options: options)
            #expect(await !adapter.session.isServing)
            await beacon.stop()
            let incoming = try await adapter.incomingConnections()
            let second = try await adapter.publish([PeripheralStory.service])
            #expect(await !adapter.session.isServing)
            incoming.close()
            try await story.story.settle { await adapter.session.isServing }
            await adapter.close()
            #expect(await !adapter.session.isServing)
            withExtendedLifetime(second) {}
        }
    }

    @Test func linksThatNobodyTakesAreBounded() async throws {
        let limit = UnclaimedLinks.limit
        try await PeripheralStory.run(centrals: limit + 1) { story in
            let published = try await story.peripheral.publish([PeripheralStory.service])
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            var connections: [Connection] = []
            for number in 0..<limit { connections.append(try await story.connect(number)) }
            let refused = await failure { _ = try await story.connect(limit) }
            #expect(refused != nil)
            // Whoever leaves makes room.
            await connections.removeFirst().disconnect()
            try await story.story.settle { await story.peripheral.session.unclaimed.connections.count == limit - 1 }
            connections.append(try await story.connect(limit))
            let incoming = try await story.peripheral.incomingConnections()
            #expect(incoming.connections.count == limit)
            for connection in connections { await connection.disconnect() }
            withExtendedLifetime((published, set)) {}
        }
    }

    /// The kernel gives the channel of every link to whoever listens, if nobody else has it.
    @Test(arguments: [false, true]) func aLinkOfAnAttemptThatWasGivenUpIsNotTaken(_ isTaking: Bool) async throws {
        try await Story.run { story in
            let peripheral = SimulatedPeripheral(on: story.radio, gatt: try SimulatedGATTServer([]))
            let adapter = try await Adapter.open(on: story.kernel)
            let published = try await adapter.publish([PeripheralStory.service])
            let incoming = isTaking ? try await adapter.incomingConnections() : nil
            for milliseconds in stride(from: 0, through: 200, by: 5) {
                let attempt = story.begin { try await adapter.connect(to: peripheral.address) }
                try await story.radio.sleep(for: .milliseconds(milliseconds))
                attempt.cancel()
                _ = await failure { await (try await attempt.value).disconnect() }
                try await story.radio.sleep(for: .seconds(5))
                #expect(story.kernel.links(adapter: 0).isEmpty, "cancelled after \(milliseconds) ms")
                #expect(await adapter.session.unclaimed.connections.isEmpty)
                #expect(incoming?.connections.isEmpty != false)
            }
            withExtendedLifetime(published) {}
        }
    }

    @Test func publishingGoesOnWhereNobodyMayListen() async throws {
        try await Story.run { story in
            let kernel = FaultingKernel(story.kernel)
            kernel.refuseListening(.addressInUse)
            let log = LogRecorder()
            let adapter = try await Adapter.open(on: kernel, log: log.log)
            let published = try await adapter.publish([PeripheralStory.service])
            let set = try await adapter.advertise(PeripheralStory.content)
            #expect(await !adapter.session.isServing)
            #expect(log.lines.contains { $0.hasPrefix("links that come in are not served") })
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
        try await PeripheralStory.run { story in
            try await story.peripheral.publish([PeripheralStory.service])
            let set = try await story.peripheral.advertise(PeripheralStory.content)
            let connection = try await story.connect()
            await story.peripheral.close()
            let end = await connection.closed()
            #expect(end.disconnectReason == .remote)
            withExtendedLifetime(set) {}
        }
    }
}

extension AdapterSession {
    fileprivate var isServing: Bool { unclaimed.listener != nil }
}
