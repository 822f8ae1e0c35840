import BluetoothLE
import BluetoothManagement
import LINBLE
import BluetoothSimulation
import BluetoothSockets
import TestSupport
import Testing

/// Docs/Guide/Peripheral.md and the pages below it.
@Suite struct PeripheralStories {
    /// Another machine in range.
    private static func visitor(_ fixture: Fixture) async throws -> Adapter {
        try await Adapter.open(on: fixture.radio.makeKernel())
    }

    /// Runs a snippet that accepts links on a machine that advertises, and connects another machine.
    private static func visited(
        advertising isAdvertising: Bool = true, _ snippet: @escaping @Sendable (Adapter) async throws -> Void,
        _ visit: @escaping @Sendable (Fixture, Connection, Task<Void, any Error>) async throws -> Void
    ) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let visitor = try await visitor(fixture)
            let running = fixture.begin { try await snippet(adapter) }
            var set: AdvertisingSet?
            if isAdvertising { set = try await adapter.advertise(AdvertisementContent(localName: "here")) }
            let connection = try await visitor.connect(to: adapter.information.address)
            try await visit(fixture, connection, running)
            await connection.disconnect()
            await set?.close()
            await visitor.close()
        }
    }

    /// Runs a snippet that ends as soon as another machine has connected, and with it the link: before the other machine
    /// has exchanged its ATT_MTU, which takes two connection events. Returns the snippet's output.
    private static func visitedInPassing(
        advertising isAdvertising: Bool = true, _ snippet: @escaping @Sendable (Adapter) async throws -> Void
    ) async throws -> [String] {
        let output = Output()
        try await Fixture.withAdapter { fixture, adapter in
            fixture.kernel.hasNetBindService = true
            let visitor = try await visitor(fixture)
            let running = fixture.begin { try await snippet(adapter) }
            var set: AdvertisingSet?
            if isAdvertising { set = try await adapter.advertise(AdvertisementContent(localName: "here")) }
            let refused = await failure { _ = try await visitor.connect(to: adapter.information.address) }
            #expect(refused?.disconnectReason == .remote)
            try await running.value
            for line in fixture.lines { output.append(line) }
            await set?.close()
            await visitor.close()
        }
        return output.lines
    }

    @Test func aWholeDevice() async throws {
        let lines = try await Self.visitedInPassing(advertising: false, PeripheralPage.thePeripheralRole)
        #expect(lines.count == 1)
        #expect(lines.first?.hasSuffix("connected") == true)
    }

    // MARK: Advertising

    /// Sends a command as other software does, and returns its socket.
    private static func send(_ command: some ManagementCommand, from kernel: SimulatedKernel) throws -> any PacketSocket
    {
        let socket = try kernel.openManagement { _ in }
        let packet = try command.packet(for: 0)
        #expect(socket.send(packet.span.bytes) == .sent)
        return socket
    }

    /// The output of a snippet with an adapter, which must have ended everything that it started.
    private static func lines(of snippet: @escaping @Sendable (Adapter) async throws -> Void) async throws -> [String] {
        let output = Output()
        try await Fixture.withAdapter { fixture, adapter in
            try await snippet(adapter)
            for line in fixture.lines { output.append(line) }
            let other = try await Adapter.open(on: fixture.kernel)
            #expect(try await other.removeForeignAdvertising() == 0)
            await other.close()
        }
        return output.lines
    }

    @Test func inAClosure() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.forAsLongAsAClosureRuns) == ["instance Optional(1)"])
    }

    @Test func untilItIsClosed() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.untilItIsClosed) == [])
    }

    @Test func waitingForItsEnd() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let waiting = fixture.begin { try await AdvertisingPage.untilItIsClosed2(adapter) }
            let visitor = try await Self.visitor(fixture)
            _ = try await visitor.firstAdvertisement(timeout: .seconds(5)) { $0.address == adapter.information.address }
            let other = try Self.send(ManagementRemoveAdvertising(1), from: fixture.kernel)
            try await waiting.value
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.contains("Another program has removed") == true)
            other.close()
            await visitor.close()
        }
    }

    @Test func itsContent() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.content) == ["[]"])
    }

    @Test func itsKind() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.kinds) == ["Optional(0)"])
    }

    @Test func severalAtOnce() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.severalAtOnce) == [])
    }

    @Test func whatOthersHaveLeft() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let other = try await Adapter.open(on: fixture.kernel)
            let set = try await other.advertise(AdvertisementContent(localName: "of a running program"))
            let left = ManagementAddAdvertising(instance: 2, flags: .connectable)
            let killed = try Self.send(left, from: fixture.kernel)
            try await AdvertisingPage.severalAtOnce2(adapter)
            #expect(fixture.lines == ["1 removed"])
            #expect(set.state == .advertising)
            await set.close()
            await other.close()
            killed.close()
        }
    }

    @Test func whatBecomesOfIt() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.states) == ["on the air"])
    }

    @Test func beacons() async throws {
        #expect(try await Self.lines(of: AdvertisingPage.beacons) == [])
    }

    // MARK: Accepting

    @Test func aLoop() async throws {
        try await Self.visited(advertising: false, AcceptingPage.aLoop) { fixture, connection, running in
            try await fixture.settle(printed: 1)
            #expect(fixture.lines.first?.hasSuffix("is here; this side is the peripheral") == true)
            #expect(await running.ended() == .cancelled)
        }
    }

    @Test func aDevice() async throws {
        try await Self.visited(AcceptingPage.aDevice) { fixture, connection, running in
            try await running.value
            #expect(fixture.lines == ["\(Array("simulated".utf8))", "-50 dBm"])
        }
    }

    @Test func itsEnd() async throws {
        #expect(try await Self.visitedInPassing(AcceptingPage.aDevice2) == ["ended: Optional(local)"])
    }

    // MARK: A UART

    /// Runs a snippet that serves a UART until it is cancelled, and connects another machine to it.
    private static func served(
        as name: String = "LINBLE-Z1", profile: UARTProfile = .linble,
        _ snippet: @escaping @Sendable (Adapter) async throws -> Void,
        _ use: @escaping @Sendable (Fixture, UARTConnection) async throws -> Void
    ) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let visitor = try await visitor(fixture)
            let running = fixture.begin { try await snippet(adapter) }
            let address = adapter.information.address
            _ = try await visitor.firstAdvertisement(timeout: .seconds(5)) {
                $0.address == address && $0.localName == name
            }
            let uart = try await UARTConnection.open(
                .address(address), on: visitor, options: UARTOptions(profiles: [profile]))
            try await use(fixture, uart)
            await uart.disconnect()
            running.cancel()
            #expect(await running.ended() == .cancelled)
            await visitor.close()
        }
    }

    @Test func everythingComesBack() async throws {
        try await Self.served(UARTPage.anEcho) { fixture, uart in
            try await uart.send([1, 2, 3])
            #expect(try await uart.read(timeout: .seconds(5)) == [1, 2, 3])
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.hasSuffix("is online") == true)
        }
    }

    @Test func linesOneCentralAtATime() async throws {
        try await Self.served(as: "Greeter", profile: .nordic, UARTPage.linesOneCentralAtATime) { _, uart in
            try await uart.send(Array("Ada\n".utf8))
            var lines = uart.frames(DelimiterFramer()).makeAsyncIterator()
            #expect(try await lines.next() == Array("hello Ada".utf8))
            #expect(await failureCode { _ = try await lines.next() } == .disconnected)
        }
    }

    // MARK: Publishing

    @Test func inOneCall() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let visitor = try await Self.visitor(fixture)
            let running = fixture.begin { try await PublishingPage.inOneCall(adapter) }
            let connection = try await visitor.connect(to: adapter.information.address)
            let level = try #require(try await connection.discover().characteristic("2A19", in: "180F"))
            #expect(try await connection.read(level) == [97])
            running.cancel()
            #expect(await running.ended() == .cancelled)
            #expect(await failureCode { _ = try await connection.read(level) } == .attributesChanged)
            await connection.disconnect()
            await visitor.close()
        }
    }

    @Test func inOneCallWithWork() async throws {
        try await Self.visited(advertising: false, PublishingPage.inOneCall2) { fixture, connection, running in
            let rate = try #require(try await connection.discover().characteristic("2A37", in: "180D"))
            var values = try await connection.subscribe(to: rate).makeAsyncIterator()
            #expect(try await values.next() == [0x06, 72])
            try await running.value
            #expect(fixture.lines.first?.hasSuffix("connected") == true)
        }
    }

    @Test func periodicValues() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let visitor = try await Self.visitor(fixture)
            let running = fixture.begin { try await PublishingPage.periodicValues(adapter) }
            let connection = try await visitor.connect(to: adapter.information.address)
            let start = fixture.radio.now
            var count = 0
            for try await value in try await connection.subscribe(to: .heartRateMeasurement, in: .heartRate) {
                #expect(value.count == 2)
                count += 1
                if count == 4 { break }
            }
            let time = start.duration(to: fixture.radio.now)
            #expect(time > .seconds(3) && time < .seconds(5))
            running.cancel()
            #expect(await running.ended() == .cancelled)
            await connection.disconnect()
            await visitor.close()
        }
    }

    @Test func storedValues() async throws {
        #expect(try await Self.lines(of: PublishingPage.storedValues) == ["Optional([96])"])
    }

    /// A characteristic of FFF0, on a link of another machine.
    private static func found(_ uuid: BluetoothUUID, on connection: Connection) async throws -> RemoteCharacteristic {
        try #require(try await connection.discover().characteristic(uuid, in: "FFF0"))
    }

    @Test func handlers() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await PublishingPage.handlers(adapter)
            let incoming = try await adapter.incomingConnections()
            let set = try await adapter.advertise(AdvertisementContent(localName: "here"))
            let visitor = try await Self.visitor(fixture)
            let connection = try await visitor.connect(to: adapter.information.address)
            let value = try await Self.found("FFF1", on: connection)
            #expect(try await connection.read(value) == Array("hello \(visitor.information.address)".utf8))
            try await connection.write([1, 2], to: value)
            #expect(fixture.lines.last == "\(visitor.information.address) writes [1, 2]")
            #expect(
                await failureCode { try await connection.write([UInt8](repeating: 0, count: 21), to: value) }
                    == .attributeProtocol)
            await connection.disconnect()
            await set.close()
            incoming.close()
            await visitor.close()
        }
    }

    @Test func sendingValues() async throws {
        try await Self.visited(PublishingPage.sendingValues) { fixture, connection, running in
            let rate = try #require(try await connection.discover().characteristic("2A37", in: "180D"))
            var values = try await connection.subscribe(to: rate).makeAsyncIterator()
            try await running.value
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.hasSuffix("has it") == true)
            #expect(try await values.next() == [0x06, 72])
        }
    }

    /// Runs `body` with a link of another machine, whose user compares the numbers of a pairing, to one that serves.
    private static func pairing(
        _ snippet: @escaping @Sendable (Adapter) async throws -> Void,
        _ body: @escaping @Sendable (Fixture, Connection) async throws -> Void
    ) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await snippet(adapter)
            let incoming = try await adapter.incomingConnections()
            let set = try await adapter.advertise(AdvertisementContent(localName: "here"))
            let visitor = try await visitor(fixture)
            for side in [adapter, visitor] { try await side.setPairingAgent(ComparingAgent()) }
            let options = ConnectionOptions(security: SecurityOptions(policy: .never))
            let connection = try await visitor.connect(to: adapter.information.address, options: options)
            try await body(fixture, connection)
            await connection.disconnect()
            await set.close()
            incoming.close()
            await visitor.close()
        }
    }

    @Test func permissions() async throws {
        try await Self.pairing(PublishingPage.permissions) { fixture, connection in
            let value = try await Self.found("FFF2", on: connection)
            #expect(await failureCode { _ = try await connection.read(value) } == .attributeProtocol)
            #expect(await failureCode { try await connection.write([1], to: value) } == .attributeProtocol)
            #expect(try await connection.pair(to: .high).isBonded)
            try await connection.write([1], to: value)
            #expect(try await connection.read(value) == [1])
        }
    }

    @Test func requestsOfBondedDevices() async throws {
        try await Self.pairing(PublishingPage.permissions2) { fixture, connection in
            let value = try await Self.found("FFF4", on: connection)
            #expect(try await connection.read(value) == [])
            #expect(try await connection.pair(to: .high).isBonded)
            #expect(try await connection.read(value) == [1, 2, 3])
        }
    }

    @Test func requestsAsAStream() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let running = fixture.begin { try await PublishingPage.requestsAsAStream(adapter) }
            let set = try await adapter.advertise(AdvertisementContent(localName: "here"))
            let visitor = try await Self.visitor(fixture)
            let connection = try await visitor.connect(to: adapter.information.address)
            let door = try await Self.found("FFF3", on: connection)
            #expect(try await connection.read(door) == [0])
            try await connection.write([1], to: door)
            #expect(try await connection.read(door) == [1])
            #expect(await failureCode { try await connection.write([2], to: door) } == .attributeProtocol)
            running.cancel()
            #expect(await running.ended() == .cancelled)
            #expect(await failureCode { _ = try await connection.read(door) } == .attributeProtocol)
            await connection.disconnect()
            await set.close()
            await visitor.close()
        }
    }

    @Test func descriptorsAndIncludedServices() async throws {
        let lines = try await Self.lines(of: PublishingPage.descriptorsAndIncludedServices)
        #expect(lines == ["published at 0x0010-0x0017"])
    }

    @Test func authorisingDevices() async throws {
        try await Self.pairing(PublishingPage.authorisingDevices) { fixture, connection in
            let value = try await Self.found("FFF3", on: connection)
            #expect(try await connection.read(value) == [0])
            #expect(await failureCode { try await connection.write([1], to: value) } == .attributeProtocol)
            #expect(fixture.lines.isEmpty)
            try await connection.pair(to: .high)
            for _ in 0..<2 { try await connection.write([1], to: value) }
            #expect(fixture.lines.count == 1)
            #expect(fixture.lines.first?.hasSuffix("write FFF3?") == true)
        }
    }

    @Test func severalRequestsAtATime() async throws {
        let lines = try await Self.visitedInPassing(AcceptingPage.severalRequestsAtATime)
        #expect(lines.count == 1)
        #expect(lines.first?.hasSuffix("has 1 bearers") == true)
    }
}

/// An agent whose user finds all numbers equal.
private struct ComparingAgent: PairingAgent {
    var ioCapability: IOCapability { .displayYesNo }
    func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool { true }
}
