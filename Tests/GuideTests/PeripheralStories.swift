import BluetoothLE
import SimulatedKernel
import Testing

/// Docs/Guide/Peripheral.md and the pages below it.
@Suite struct PeripheralStories {
    /// Another machine in reach.
    private static func visitor(_ world: World) async throws -> Adapter {
        try await Adapter.open(on: world.radio.makeKernel())
    }

    /// Runs a snippet that takes links, on a machine that advertises, and lets another machine come.
    private static func visited(
        advertising isAdvertising: Bool = true, _ snippet: @escaping @Sendable (Adapter) async throws -> Void,
        _ visit: @escaping @Sendable (World, Connection, Task<Void, any Error>) async throws -> Void
    ) async throws {
        try await World.withAdapter { world, adapter in
            let visitor = try await visitor(world)
            let running = world.begin { try await snippet(adapter) }
            var set: AdvertisingSet?
            if isAdvertising { set = try await adapter.advertise(AdvertisementContent(localName: "here")) }
            let connection = try await visitor.connect(to: adapter.information.address)
            try await visit(world, connection, running)
            await connection.disconnect()
            await set?.stop()
            await visitor.close()
        }
    }

    @Test func aWholeDevice() async throws {
        try await Self.visited(advertising: false, PeripheralPage.thePeripheralRole) { world, connection, running in
            try await running.value
            #expect(world.lines.count == 1)
            #expect(world.lines.first?.hasSuffix("is here") == true)
            #expect(await connection.isConnected)
        }
    }

    // MARK: Advertising

    /// What a snippet prints on a machine with an adapter; afterwards nothing of it is left.
    private static func lines(of snippet: @escaping @Sendable (Adapter) async throws -> Void) async throws -> [String] {
        let output = Output()
        try await World.withAdapter { world, adapter in
            try await snippet(adapter)
            for line in world.lines { output.append(line) }
            let other = try await Adapter.open(on: world.kernel)
            #expect(try await other.removeForeignAdvertising() == 0)
            await other.close()
        }
        return output.lines
    }

    @Test func inAClosure() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.forAsLongAsAClosureRuns) == ["instance Optional(1)"])
    }

    @Test func untilItIsStopped() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.untilItIsStopped) == [])
    }

    @Test func waitingForItsEnd() async throws {
        try await World.withAdapter { world, adapter in
            let waiting = world.begin { try await AdvertisingPage.untilItIsStopped2(adapter) }
            let other = try await Adapter.open(on: world.kernel)
            let visitor = try await Self.visitor(world)
            _ = try await visitor.first(timeout: .seconds(5)) { $0.address == adapter.information.address }
            #expect(try await other.removeForeignAdvertising() == 1)
            try await waiting.value
            #expect(world.lines.count == 1)
            #expect(world.lines.first?.contains("Another program has removed") == true)
            await other.close()
            await visitor.close()
        }
    }

    @Test func itsContent() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.whatIsSaid) == ["[]"])
    }

    @Test func itsKind() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.kinds) == ["Optional(0)"])
    }

    @Test func severalAtOnce() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.severalAtOnce) == [])
    }

    @Test func whatOthersHaveLeft() async throws {
        try await World.withAdapter { world, adapter in
            let other = try await Adapter.open(on: world.kernel)
            let set = try await other.advertise(AdvertisementContent(localName: "left"))
            try await AdvertisingPage.severalAtOnce2(adapter)
            #expect(world.lines == ["1 removed"])
            #expect(await set.ended().code == .busy)
            await other.close()
        }
    }

    @Test func whatBecomesOfIt() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.whatBecomesOfIt) == ["on the air"])
    }

    @Test func beacons() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.beacons) == [])
    }

    // MARK: Accepting

    @Test func aLoop() async throws {
        try await Self.visited(advertising: false, AcceptingPage.aLoop) { world, connection, running in
            try await world.settle(printed: 1)
            #expect(world.lines.first?.hasSuffix("is here; this side is the peripheral") == true)
            #expect(await running.ended() == .cancelled)
        }
    }

    @Test func aDevice() async throws {
        try await Self.visited(AcceptingPage.aDevice) { world, connection, running in
            try await running.value
            #expect(world.lines == ["\(Array("simulated".utf8))", "-50 dBm"])
        }
    }

    @Test func itsEnd() async throws {
        try await Self.visited(AcceptingPage.aDevice2) { world, connection, running in
            try await running.value
            #expect(world.lines == ["ended: Optional(local)"])
            #expect(await connection.closed().disconnectReason == .remote)
        }
    }

    // MARK: Publishing

    @Test func valuesThatAreKept() async throws {
        #expect(try await Self.lines(of: PublishingPage.valuesThatAreKept) == ["Optional([96])"])
    }

    /// A characteristic of FFF0, on a link of another machine.
    private static func found(_ uuid: BluetoothUUID, on connection: Connection) async throws -> RemoteCharacteristic {
        try #require(try await connection.discover().characteristic(uuid, in: "FFF0"))
    }

    @Test func valuesThatAreAskedFor() async throws {
        try await World.withAdapter { world, adapter in
            try await PublishingPage.valuesThatAreAskedFor(adapter)
            let incoming = try await adapter.incomingConnections()
            let set = try await adapter.advertise(AdvertisementContent(localName: "here"))
            let visitor = try await Self.visitor(world)
            let connection = try await visitor.connect(to: adapter.information.address)
            let value = try await Self.found("FFF1", on: connection)
            #expect(try await connection.read(value) == Array("hello \(visitor.information.address)".utf8))
            try await connection.write([1, 2], to: value)
            #expect(world.lines.last == "\(visitor.information.address) writes [1, 2] at 0")
            #expect(
                await code { try await connection.write([UInt8](repeating: 0, count: 21), to: value) }
                    == .attributeProtocol)
            await connection.disconnect()
            await set.stop()
            incoming.close()
            await visitor.close()
        }
    }

    @Test func sendingValues() async throws {
        try await Self.visited(PublishingPage.sendingValues) { world, connection, running in
            let rate = try #require(try await connection.discover().characteristic("2A37", in: "180D"))
            var values = try await connection.subscribe(to: rate).makeAsyncIterator()
            try await running.value
            #expect(world.lines.count == 1)
            #expect(world.lines.first?.hasSuffix("has it") == true)
            #expect(try await values.next() == [0x06, 72])
        }
    }

    @Test func whoMayDoWhat() async throws {
        try await World.withAdapter { world, adapter in
            try await PublishingPage.whoMayDoWhat(adapter)
            let incoming = try await adapter.incomingConnections()
            let set = try await adapter.advertise(AdvertisementContent(localName: "here"))
            let visitor = try await Self.visitor(world)
            var options = ConnectionOptions()
            options.securityPolicy = .never
            let connection = try await visitor.connect(to: adapter.information.address, options: options)
            let value = try await Self.found("FFF2", on: connection)
            #expect(await code { _ = try await connection.read(value) } == .attributeProtocol)
            #expect(await code { try await connection.write([1], to: value) } == .attributeProtocol)
            await connection.disconnect()
            await set.stop()
            incoming.close()
            await visitor.close()
        }
    }
}
