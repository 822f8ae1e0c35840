#if DEBUG || COUNTS_COMPONENTS
    import BluetoothAdvertising
    import BluetoothLoop
    import BluetoothGATT
    import BluetoothSimulation
    import TestSupport
    import Testing

    @testable import BluetoothLE

    /// Every handle retains the components behind it: soon after the last handle is released, none is left.
    @Suite struct ComponentTests {
        private static let service: BluetoothUUID = 0xFFF0
        private static let characteristic: BluetoothUUID = 0xFFF3

        private static let services = [
            GATTService(
                service,
                characteristics: [
                    GATTCharacteristic(
                        characteristic, properties: [.read, .write, .notify], value: .stored([1]))
                ])
        ]

        /// Two machines, on each of which `body` opens what it needs; no component is left when it has returned.
        private static func run(
            _ body: @escaping @Sendable (_ fixture: Fixture, _ other: SimulatedKernel) async throws -> Void
        ) async throws {
            try await Fixture.run { fixture in
                let other = fixture.radio.makeKernel()
                let components = fixture.radio.loop.components
                #expect(components.alive == [:])
                try await body(fixture, other)
                try await fixture.settle { components.alive.isEmpty }
                #expect(components.alive == [:])
            }
        }

        /// Serves on a machine until the session is released.
        private static func serve(_ kernel: SimulatedKernel) async throws -> (
            Adapter, PublishedServices, AdvertisingSet
        ) {
            let adapter = try await Adapter.open(on: kernel)
            let published = try await adapter.publish(services)
            return (adapter, published, try await adapter.advertise(AdvertisementContent(services: [service])))
        }

        @Test func anUnusedAdapter() async throws {
            try await Self.run { fixture, _ in
                let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
                #expect(fixture.radio.loop.components.alive["AdapterSession"] == 1)
                #expect(adapter.state.isReady)
            }
        }

        @Test func aClosedAdapter() async throws {
            try await Self.run { fixture, _ in
                let adapter = try await Adapter.open(on: fixture.kernel)
                await adapter.close()
            }
        }

        @Test func anAdapterThatFailedToOpen() async throws {
            try await Self.run { fixture, _ in
                let error = await failure { _ = try await Adapter.open(.index(7), on: fixture.kernel) }
                #expect(error?.code == .noAdapter)
            }
        }

        @Test func streamsOfAnAdapter() async throws {
            try await Self.run { fixture, other in
                let served = try await Self.serve(other)
                let adapter = try await Adapter.open(on: fixture.kernel)
                var changes = try await Adapter.changes(on: fixture.kernel).makeAsyncIterator()
                #expect(try await changes.next() != nil)
                var states = adapter.states().makeAsyncIterator()
                #expect(try await states.next() == .poweredOn)
                _ = await adapter.bondChanges()
                var scan = try await adapter.scan().makeAsyncIterator()
                #expect(try await scan.next() != nil)
                withExtendedLifetime(served) {}
            }
        }

        @Test func servedAttributes() async throws {
            try await Self.run { _, other in
                let (adapter, published, set) = try await Self.serve(other)
                var states = set.states().makeAsyncIterator()
                #expect(try await states.next() == .advertising)
                let incoming = try await adapter.incomingConnections()
                #expect(incoming.connections.isEmpty)
                _ = try await adapter.listen(psm: 0x0085)
                withExtendedLifetime(published) {}
            }
        }

        @Test(arguments: [false, true])
        func aConnection(_ isEnded: Bool) async throws {
            try await Self.run { fixture, other in
                let served = try await Self.serve(other)
                let incoming = try await served.0.incomingConnections()
                let adapter = try await Adapter.open(on: fixture.kernel)
                let connection = try await adapter.connect(to: served.0.information.address)
                let characteristic = try #require(
                    try await connection.discover().characteristic(Self.characteristic, in: Self.service))
                #expect(try await connection.read(characteristic) == [1])
                try await connection.write([2], to: characteristic)
                var values = try await connection.subscribe(to: characteristic).makeAsyncIterator()
                let handle = try #require(served.1.handle(of: Self.characteristic))
                _ = try await served.1.notify([3], of: handle)
                #expect(try await values.next() == [3])
                try await served.0.setPairingAgent(JustWorksPairingAgent())
                _ = try await connection.pair()
                _ = try await connection.linkChanges()
                _ = await connection.peerSubscriptions()
                if isEnded { await connection.disconnect() }
                withExtendedLifetime(incoming) {}
            }
        }

        @Test func aConnectionEndedByThePeer() async throws {
            try await Self.run { fixture, other in
                let served = try await Self.serve(other)
                let peer = served.0.information.address
                let adapter = try await Adapter.open(on: fixture.kernel)
                let connection = try await adapter.connect(to: peer)
                fixture.radio.breakLink(adapter.information.address, peer)
                _ = await connection.disconnected()
            }
        }

        @Test(arguments: [false, true])
        func aChannel(_ isEnded: Bool) async throws {
            try await Self.run { fixture, other in
                let served = try await Self.serve(other)
                let listener = try await served.0.listen(psm: 0x0085)
                let adapter = try await Adapter.open(on: fixture.kernel)
                let here = try await adapter.openChannel(to: served.0.information.address, psm: 0x0085)
                var accepted = listener.makeAsyncIterator()
                let there = try #require(try await accepted.next())
                try await here.send([1])
                #expect(try await there.read() == [1])
                if isEnded { await here.close() }
            }
        }

        @Test(arguments: [false, true])
        func aKeptConnection(_ isEnded: Bool) async throws {
            try await Self.run { fixture, other in
                let served = try await Self.serve(other)
                let adapter = try await Adapter.open(on: fixture.kernel)
                let kept = adapter.keepConnected(to: served.0.information.address)
                _ = try await kept.connected()
                _ = try await kept.subscribe(to: Self.characteristic, in: Self.service)
                _ = await kept.events()
                if isEnded { await kept.disconnect(timeout: .zero) }
            }
        }

        /// Handles of an ended link do not retain its adapter.
        @Test func anEndedHandleRetainsNoAdapter() async throws {
            try await Fixture.run { fixture in
                let other = fixture.radio.makeKernel()
                let components = fixture.radio.loop.components
                let connection: Connection
                let kept: KeptConnection
                do {
                    let served = try await Self.serve(other)
                    let adapter = try await Adapter.open(on: fixture.kernel)
                    connection = try await adapter.connect(to: served.0.information.address)
                    kept = adapter.keepConnected(to: served.0.information.address)
                    await kept.disconnect(timeout: .zero)
                    await connection.disconnect()
                }
                try await fixture.settle { components.alive["AdapterSession"] == nil }
                withExtendedLifetime((connection, kept)) {}
            }
        }
    }
#endif
