import SimulatedKernel
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// What a bonded client wants to be sent, and what it knows of the services, from link to link and over restarts
/// (Core Vol 3 Part G §2.5.2, §2.5.2.1, §3.3.3.3, §7).
@Suite struct BondedClientTests {
    private static let value: AttributeHandle = PeripheralFixture.value

    /// Two machines that are paired, with services on one of them.
    private struct Scene: Sendable {
        let fixture: BondFixture
        let central: Adapter
        let peripheral: Adapter
        let links: IncomingConnections
        let advertising: AdvertisingSet
        let log: LogRecorder

        /// How many PDUs the central has sent.
        var sentCount: Int { log.lines.count { $0.hasPrefix("ATT →") } }

        /// Starts both programs anew; both kernels keep what they have, as kernels do.
        static func begin(
            _ fixture: BondFixture, services: [GATTService] = [PeripheralFixture.service]
        ) async throws -> Scene {
            let log = LogRecorder()
            let central = try await fixture.central.open(log: log)
            let peripheral = try await fixture.peripheral.open()
            if !services.isEmpty { try await peripheral.publish(services) }
            let served = try await peripheral.serve(fixture.fixture)
            return Scene(
                fixture: fixture, central: central, peripheral: peripheral, links: served.links,
                advertising: served.advertising, log: log)
        }

        func end() async {
            await central.close()
            await peripheral.close()
        }

        /// Connects, and hands out both ends.
        func connect() async throws -> (own: Connection, theirs: Connection) {
            let own = try await fixture.connect(central)
            try await fixture.fixture.settle { links.connections.count == 1 }
            return (own, try #require(links.connections.first))
        }

        /// Ends the link, at both ends.
        func disconnect(_ link: (own: Connection, theirs: Connection)) async {
            await link.own.disconnect()
            _ = await link.theirs.closed()
        }
    }

    @Test("a subscription of a bonded client is there at the next link", arguments: [false, true])
    func subscriptions(_ isRestarted: Bool) async throws {
        try await BondFixture.run { fixture in
            var scene = try await Scene.begin(fixture)
            var link = try await scene.connect()
            let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
            _ = try await link.own.subscribe(to: characteristic)
            #expect(await link.theirs.peerConfiguration(of: Self.value) == .notification)
            await scene.disconnect(link)
            if isRestarted {
                await scene.end()
                scene = try await Scene.begin(fixture)
            }
            link = try await scene.connect()
            // The program is told as of any other, and of what the client follows for itself.
            let told = Mutex<[PeerSubscription]>([])
            let (theirs, own) = (link.theirs, link.own)
            let following = fixture.fixture.begin {
                for try await subscription in await theirs.peerSubscriptions() {
                    told.withLock { $0.append(subscription) }
                }
            }
            try await fixture.fixture.settle {
                told.withLock {
                    $0.contains(PeerSubscription(characteristic: Self.value, configuration: .notification))
                }
            }
            following.cancel()
            #expect(await theirs.peerConfiguration(of: Self.value) == .notification)
            try await theirs.notify([42], of: Self.value)
            try await fixture.fixture.settle { await own.unwantedValueCount == 1 }
            // What is taken back stays so.
            let again = try await link.own.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(again.descriptor(.clientCharacteristicConfiguration))
            try await link.own.write([0, 0], to: configuration)
            await scene.disconnect(link)
            link = try await scene.connect()
            #expect(await link.theirs.peerConfiguration(of: Self.value) == [])
            await scene.disconnect(link)
            await scene.end()
        }
    }

    @Test func aServiceWithHandlersIsToldOfWhatAClientBroughtAlong() async throws {
        try await BondFixture.run { fixture in
            let told = Mutex<[PeerSubscription]>([])
            let scene = try await Scene.begin(fixture, services: [])
            var handlers = AttributeHandlers()
            handlers.events = .atOnce { event, _ in
                if case .subscription(let subscription) = event { told.withLock { $0.append(subscription) } }
            }
            try await scene.peripheral.publish([PeripheralFixture.service], handlers: handlers)
            let link = try await scene.connect()
            _ = try await link.own.subscribe(to: try await link.own.found(0xFFF1, in: 0xFFF0))
            await scene.disconnect(link)
            #expect(told.withLock { $0.count } == 1)
            let again = try await scene.connect()
            let expected = PeerSubscription(characteristic: Self.value, configuration: .notification)
            #expect(told.withLock { $0 } == [expected, expected])
            await scene.disconnect(again)
            await scene.end()
        }
    }

    /// A value that only an encrypted link may carry, to a client that asks for nothing on that link.
    @Test func whatIsProtectedIsSentToWhoComesBackOnceTheLinkIsEncrypted() async throws {
        let service = GATTService(
            0xFFF0,
            characteristics: [
                GATTCharacteristic(
                    0xFFF1, properties: [.read, .notify], permissions: [.read, .readEncrypted], value: .stored([7]))
            ])
        try await BondFixture.run { fixture in
            let scene = try await Scene.begin(fixture, services: [service])
            let link = try await scene.connect()
            _ = try await link.own.subscribe(to: try await link.own.found(0xFFF1, in: 0xFFF0))
            await scene.disconnect(link)
            let open = try await scene.central.connect(to: BondFixture.peripheralAddress)
            try await fixture.fixture.settle { scene.links.connections.count == 1 }
            let theirs = try #require(scene.links.connections.first)
            let told = Mutex<[PeerSubscription]>([])
            let following = fixture.fixture.begin {
                for try await subscription in await theirs.peerSubscriptions()
                where subscription.characteristic == Self.value { told.withLock { $0.append(subscription) } }
            }
            try await fixture.fixture.radio.sleep(for: .seconds(2))
            // Not encrypted, it may be anybody.
            #expect(told.withLock { $0 } == [])
            #expect(await failure { try await theirs.notify([1], of: Self.value) }?.code == .notSubscribed)
            // A channel that nobody offers, which has the link encrypted all the same.
            _ = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            let expected = PeerSubscription(characteristic: Self.value, configuration: .notification)
            try await fixture.fixture.settle { told.withLock { $0 } == [expected] }
            try await theirs.notify([42], of: Self.value)
            try await fixture.fixture.settle { await open.unwantedValueCount == 1 }
            following.cancel()
            _ = await following.result
            await open.disconnect()
            await scene.end()
        }
    }

    /// What is sent before the link is encrypted would go to whoever has the address, and be lost to the client.
    @Test func aSubscriptionIsRestoredWhenTheLinkIsEncryptedAndNotBefore() async throws {
        try await BondFixture.run { fixture in
            let scene = try await Scene.begin(fixture)
            let link = try await scene.connect()
            let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
            _ = try await link.own.subscribe(to: characteristic)
            await scene.disconnect(link)
            let open = try await scene.central.connect(to: BondFixture.peripheralAddress)
            try await fixture.fixture.settle { scene.links.connections.count == 1 }
            let theirs = try #require(scene.links.connections.first)
            try await fixture.fixture.radio.sleep(for: .seconds(2))
            // Asking for something makes no difference.
            #expect(try await open.read(characteristic) == [7])
            #expect(await theirs.peerConfiguration(of: Self.value) == [])
            let early = await failure { try await theirs.notify([1], of: Self.value) }
            #expect(early?.code == .notSubscribed)
            _ = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            try await fixture.fixture.settle { await theirs.peerConfiguration(of: Self.value) == .notification }
            try await theirs.notify([2], of: Self.value)
            try await fixture.fixture.settle { await open.unwantedValueCount == 1 }
            await open.disconnect()
            await scene.end()
        }
    }

    @Test func whatAClientSaysBeforeTheLinkIsEncryptedCounts() async throws {
        try await BondFixture.run { fixture in
            let scene = try await Scene.begin(fixture)
            let link = try await scene.connect()
            let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
            try await link.own.write([1, 0], to: configuration)
            await scene.disconnect(link)
            let open = try await scene.central.connect(to: BondFixture.peripheralAddress)
            try await open.write([0, 0], to: configuration)
            _ = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            try await fixture.fixture.radio.sleep(for: .seconds(2))
            let theirs = try #require(scene.links.connections.first)
            #expect(await theirs.peerConfiguration(of: Self.value) == [])
            await open.disconnect()
            await scene.end()
        }
    }

    @Test func aClientThatIsNotBondedBeginsWithNothing() async throws {
        try await PeripheralFixture.run { fixture in
            try await fixture.peripheral.publish([PeripheralFixture.service])
            let links = try await fixture.peripheral.incomingConnections()
            let advertising = try await fixture.peripheral.advertise(PeripheralFixture.content)
            for _ in 0..<2 {
                let connection = try await fixture.connect()
                try await fixture.fixture.settle { links.connections.count == 1 }
                let theirs = try #require(links.connections.first)
                #expect(await theirs.peerConfiguration(of: Self.value) == [])
                _ = try await connection.subscribe(to: try await connection.found(0xFFF1, in: 0xFFF0))
                #expect(await theirs.peerConfiguration(of: Self.value) == .notification)
                await connection.disconnect()
                _ = await theirs.closed()
            }
            withExtendedLifetime(advertising) {}
        }
    }

    @Test func whoeverOnlyHasTheAddressChangesNothing() async throws {
        try await BondFixture.run { fixture in
            let scene = try await Scene.begin(fixture)
            var link = try await scene.connect()
            _ = try await link.own.subscribe(to: try await link.own.found(0xFFF1, in: 0xFFF0))
            await scene.disconnect(link)
            // The same address, and no key.
            let open = try await scene.central.connect(to: BondFixture.peripheralAddress)
            let characteristic = try await open.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
            try await open.write([0, 0], to: configuration)
            await open.disconnect()
            try await fixture.fixture.settle { scene.links.connections.isEmpty }
            link = try await scene.connect()
            #expect(await link.theirs.peerConfiguration(of: Self.value) == .notification)
            await scene.disconnect(link)
            await scene.end()
        }
    }

    @Test("a bonded client that was away is told of a change, once", arguments: [false, true])
    func changes(_ isRestarted: Bool) async throws {
        try await BondFixture.run { fixture in
            var scene = try await Scene.begin(fixture)
            var link = try await scene.connect()
            let before = try await link.own.discover()
            #expect(before.service(0x180F) == nil)
            // It has asked to be told behind the caller's back.
            let theirs = link.theirs
            try await fixture.fixture.settle { await theirs.isTellingOfChanges }
            await scene.disconnect(link)
            if isRestarted {
                await scene.end()
                scene = try await Scene.begin(fixture, services: [PeripheralFixture.service, CachingTests.battery])
            } else {
                try await scene.peripheral.publish([CachingTests.battery])
            }
            link = try await scene.connect()
            let own = link.own
            let changes = await own.serviceChanges()
            try await fixture.fixture.radio.sleep(for: .seconds(2))
            let after = try await own.discover()
            #expect(after.service(0x180F) != nil)
            let now = link.theirs
            try await fixture.fixture.settle { await now.isPeerAware }
            await scene.disconnect(link)
            // It knows now, also after both have begun anew with the same services.
            await scene.end()
            scene = try await Scene.begin(fixture, services: [PeripheralFixture.service, CachingTests.battery])
            link = try await scene.connect()
            #expect(await link.theirs.isPeerAware)
            let unwanted = await link.own.unwantedValueCount
            try await fixture.fixture.radio.sleep(for: .seconds(2))
            #expect(await link.own.unwantedValueCount == unwanted)
            await scene.disconnect(link)
            await scene.end()
            withExtendedLifetime(changes) {}
        }
    }

    @Test func aClientThatSaysNothingIsToldAsWellOnceTheLinkIsEncrypted() async throws {
        try await BondFixture.run { fixture in
            let scene = try await Scene.begin(fixture)
            let link = try await scene.connect()
            _ = try await link.own.discover()
            let first = link.theirs
            try await fixture.fixture.settle { await first.isTellingOfChanges }
            await scene.disconnect(link)
            try await scene.peripheral.publish([CachingTests.battery])
            let open = try await scene.central.connect(to: BondFixture.peripheralAddress)
            try await fixture.fixture.settle { scene.links.connections.count == 1 }
            let theirs = try #require(scene.links.connections.first)
            try await fixture.fixture.radio.sleep(for: .seconds(2))
            // Whoever has the address only is told nothing.
            #expect(await open.unwantedValueCount == 0)
            // A channel that nobody offers, which has the link encrypted all the same.
            let refusal = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            #expect(refusal != nil)
            try await fixture.fixture.settle { await theirs.isPeerAware }
            #expect(await open.unwantedValueCount == 1)
            await open.disconnect()
            await scene.end()
        }
    }

    @Test func aBondedDeviceThatTellsOfChangesIsNotAskedForAnything() async throws {
        try await BondFixture.run { fixture in
            let scene = try await Scene.begin(fixture)
            var link = try await scene.connect()
            let services = try await link.own.discover()
            let theirs = link.theirs
            try await fixture.fixture.settle { await theirs.isTellingOfChanges }
            let key = AttributeCacheKey(adapter: BondFixture.centralAddress, peer: BondFixture.peripheralAddress)
            let cache = try #require(await scene.central.session.attributeCache)
            try await fixture.fixture.settle { await cache.database(for: key)?.isFollowed == true }
            await scene.disconnect(link)
            link = try await scene.connect()
            try await fixture.fixture.radio.sleep(for: .seconds(1))
            let sent = scene.sentCount
            let again = try await link.own.discover()
            #expect(again == services)
            try await fixture.fixture.radio.sleep(for: .seconds(1))
            #expect(scene.sentCount == sent)
            await scene.disconnect(link)
            // Without the keys it is not surely the same, and is asked for its hash.
            let open = try await scene.central.connect(to: BondFixture.peripheralAddress)
            _ = try await open.discover()
            #expect(scene.sentCount > sent)
            await open.disconnect()
            await scene.end()
        }
    }
}

extension Connection {
    /// Whether the peer has asked to be told of changes of our services.
    var isTellingOfChanges: Bool {
        get async {
            await core { link in
                link.localServer.serviceChanged.map { link.peerConfiguration(of: $0).contains(.indication) } ?? false
            }
        }
    }

    /// Whether the peer knows of the last change of our services.
    var isPeerAware: Bool {
        get async { await core { (try? $0.bearer(for: .init("look")))?.client.isChangeAware ?? false } }
    }
}
