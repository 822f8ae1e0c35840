import BluetoothGATT
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// The stored state of a bonded client, across links and restarts (Core Vol 3 Part G §2.5.2, §2.5.2.1, §3.3.3.3, §7).
@Suite struct BondedClientTests {
    private static let value: AttributeHandle = PeripheralFixture.value

    /// Two paired machines, with services on one of them.
    private struct Visit: Sendable {
        let fixture: BondFixture
        let central: Adapter
        let peripheral: Adapter
        let links: IncomingConnections
        let advertising: AdvertisingSet
        let log: LogRecorder

        /// The number of PDUs sent by the central.
        var sentCount: Int { log.lines.count { $0.hasPrefix("ATT →") } }

        /// Restarts both programs; both kernels retain their state, as kernels do.
        static func begin(
            _ fixture: BondFixture, services: [GATTService] = [PeripheralFixture.service]
        ) async throws -> Visit {
            let log = LogRecorder()
            let central = try await fixture.central.open(log: log)
            let peripheral = try await fixture.peripheral.open()
            if !services.isEmpty { try await peripheral.publish(services) }
            let served = try await peripheral.serve(fixture.base)
            return Visit(
                fixture: fixture, central: central, peripheral: peripheral, links: served.links,
                advertising: served.advertising, log: log)
        }

        func end() async {
            await central.close()
            await peripheral.close()
        }

        /// Connects, and returns both ends.
        func connect() async throws -> (own: Connection, theirs: Connection) {
            let own = try await fixture.connect(central)
            try await fixture.base.settle { links.connections.count == 1 }
            return (own, try #require(links.connections.first))
        }

        /// Subscribes to the value, disconnects, and connects again without encryption; returns the characteristic and
        /// both ends.
        func subscribeAndReturnInTheOpen() async throws -> (RemoteCharacteristic, own: Connection, theirs: Connection) {
            let link = try await connect()
            let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
            _ = try await link.own.subscribe(to: characteristic)
            await disconnect(link)
            let open = try await central.connect(to: BondFixture.peripheralAddress, options: .unencrypted)
            try await fixture.base.settle { links.connections.count == 1 }
            return (characteristic, open, try #require(links.connections.first))
        }

        /// Disconnects, and waits for both ends.
        func disconnect(_ link: (own: Connection, theirs: Connection)) async {
            await link.own.disconnect()
            _ = await link.theirs.disconnected()
        }
    }

    @Test("a subscription of a bonded client is restored on the next link", arguments: [false, true])
    func subscriptions(_ isRestarted: Bool) async throws {
        try await BondFixture.run { fixture in
            var visit = try await Visit.begin(fixture)
            var link = try await visit.connect()
            let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
            _ = try await link.own.subscribe(to: characteristic)
            #expect(await link.theirs.peerConfiguration(of: Self.value) == .notification)
            await visit.disconnect(link)
            if isRestarted {
                await visit.end()
                visit = try await Visit.begin(fixture)
            }
            link = try await visit.connect()
            // The program is notified as of other subscriptions, and of the client's own to Service Changed.
            let told = Mutex<[PeerSubscription]>([])
            let (theirs, own) = (link.theirs, link.own)
            let following = fixture.base.begin {
                for try await subscription in await theirs.peerSubscriptions() {
                    told.withLock { $0.append(subscription) }
                }
            }
            try await fixture.base.settle {
                told.withLock {
                    $0.contains(PeerSubscription(characteristic: Self.value, configuration: .notification))
                }
            }
            following.cancel()
            #expect(await theirs.peerConfiguration(of: Self.value) == .notification)
            try await theirs.notify([42], of: Self.value)
            try await fixture.base.settle { await own.unwantedValueCount == 1 }
            // A removed subscription is not restored.
            let again = try await link.own.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(again.descriptor(.clientCharacteristicConfiguration))
            try await link.own.write([0, 0], to: configuration)
            await visit.disconnect(link)
            link = try await visit.connect()
            #expect(await link.theirs.peerConfiguration(of: Self.value) == [])
            await visit.disconnect(link)
            await visit.end()
        }
    }

    @Test func aServiceWithHandlersIsNotifiedOfRestoredSubscriptions() async throws {
        try await BondFixture.run { fixture in
            let told = Mutex<[PeerSubscription]>([])
            let visit = try await Visit.begin(fixture, services: [])
            try await visit.peripheral.publish([LocalService(PeripheralFixture.service)]) { event, _ in
                if case .subscription(let subscription) = event { told.withLock { $0.append(subscription) } }
            }
            let link = try await visit.connect()
            _ = try await link.own.subscribe(to: try await link.own.found(0xFFF1, in: 0xFFF0))
            await visit.disconnect(link)
            #expect(told.withLock { $0.count } == 1)
            let again = try await visit.connect()
            let expected = PeerSubscription(characteristic: Self.value, configuration: .notification)
            #expect(told.withLock { $0 } == [expected, expected])
            await visit.disconnect(again)
            await visit.end()
        }
    }

    /// A value that requires encryption, for a client that sends no request on that link.
    @Test func protectedValuesAreSentOnceTheLinkIsEncrypted() async throws {
        let service = GATTService(
            0xFFF0,
            characteristics: [
                GATTCharacteristic(
                    0xFFF1, properties: [.read, .notify], permissions: [.read, .readEncrypted], value: .stored([7]))
            ])
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture, services: [service])
            let link = try await visit.connect()
            _ = try await link.own.subscribe(to: try await link.own.found(0xFFF1, in: 0xFFF0))
            await visit.disconnect(link)
            let open = try await visit.central.connect(to: BondFixture.peripheralAddress, options: .unencrypted)
            try await fixture.base.settle { visit.links.connections.count == 1 }
            let theirs = try #require(visit.links.connections.first)
            let told = Mutex<[PeerSubscription]>([])
            let following = fixture.base.begin {
                for try await subscription in await theirs.peerSubscriptions()
                where subscription.characteristic == Self.value { told.withLock { $0.append(subscription) } }
            }
            try await fixture.base.radio.sleep(for: .seconds(2))
            // Unencrypted, the identity is unconfirmed.
            #expect(told.withLock { $0 } == [])
            #expect(await failure { try await theirs.notify([1], of: Self.value) }?.code == .notSubscribed)
            // A channel without a listener, which has the link encrypted all the same.
            _ = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            let expected = PeerSubscription(characteristic: Self.value, configuration: .notification)
            try await fixture.base.settle { told.withLock { $0 } == [expected] }
            try await theirs.notify([42], of: Self.value)
            try await fixture.base.settle { await open.unwantedValueCount == 1 }
            following.cancel()
            _ = await following.result
            await open.disconnect()
            await visit.end()
        }
    }

    /// The same address without keys: the protected value is neither read nor sent, the open one is served.
    @Test func anImpostorIsToldToEncryptAndReceivesWhatItSubscribesToInTheOpen() async throws {
        let secret = LocalCharacteristic(
            "FFF1", properties: [.read, .notify], value: [7], permissions: [.read, .readEncrypted])
        let open = LocalCharacteristic("FFF2", properties: [.read, .notify], value: [8])
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture, services: [])
            let published = try await visit.peripheral.publish { LocalService("FFF0") { [secret, open] } }
            let link = try await visit.connect()
            _ = try await link.own.subscribe(to: try await link.own.found("FFF1", in: "FFF0"))
            await visit.disconnect(link)
            try await visit.central.removeBond(with: BondFixture.peripheralAddress)
            let impostor = try await visit.central.connect(
                to: BondFixture.peripheralAddress, options: ConnectionOptions(security: SecurityOptions(policy: .never))
            )
            let characteristic = try await impostor.found("FFF1", in: "FFF0")
            let error = await failure { _ = try await impostor.read(characteristic) }
            #expect(error?.cause == .attribute(.insufficientEncryption))
            let secrets = try await impostor.subscribe(to: characteristic)
            var values = try await impostor.subscribe(to: try await impostor.found("FFF2", in: "FFF0"))
                .makeAsyncIterator()
            let refused = try await published[secret].notify([0x66])
            #expect(refused.count == 1)
            for delivery in refused {
                guard case .failure(let error) = delivery.result else {
                    Issue.record("the impostor received the value")
                    continue
                }
                #expect(error.cause == .attribute(.insufficientEncryption))
            }
            try await published[open].notify([9])
            #expect(try await values.next() == [9])
            withExtendedLifetime(secrets) {}
            await impostor.disconnect()
            await visit.end()
        }
    }

    /// Values sent before encryption could reach another device with the same address, and be lost to the client.
    @Test func aSubscriptionIsRestoredOnlyAfterEncryption() async throws {
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture)
            let (characteristic, open, theirs) = try await visit.subscribeAndReturnInTheOpen()
            try await fixture.base.radio.sleep(for: .seconds(2))
            // A request makes no difference.
            #expect(try await open.read(characteristic) == [7])
            #expect(await theirs.peerConfiguration(of: Self.value) == [])
            let early = await failure { try await theirs.notify([1], of: Self.value) }
            #expect(early?.code == .notSubscribed)
            _ = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            try await fixture.base.settle { await theirs.peerConfiguration(of: Self.value) == .notification }
            try await theirs.notify([2], of: Self.value)
            try await fixture.base.settle { await open.unwantedValueCount == 1 }
            await open.disconnect()
            await visit.end()
        }
    }

    /// A central that begins encryption by itself may end the link if it is asked meanwhile.
    @Test func aCentralIsAskedForEncryptionOnceAValueIsDueAndTheLinkIsSilent() async throws {
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture)
            let (characteristic, open, theirs) = try await visit.subscribeAndReturnInTheOpen()
            try await fixture.base.radio.sleep(for: .seconds(5))
            #expect(try await theirs.security().level == .low, "nothing was due")
            #expect(await failure { try await theirs.notify([1], of: Self.value) }?.code == .notSubscribed)
            // Its requests put it off.
            for _ in 0..<4 {
                try await fixture.base.radio.sleep(for: .milliseconds(700))
                #expect(try await open.read(characteristic) == [7])
                #expect(try await theirs.security().level == .low)
            }
            try await fixture.base.settle { await theirs.peerConfiguration(of: Self.value) == .notification }
            #expect(try await theirs.security().level == .medium)
            #expect(await theirs.bondProtection == .confirmed)
            try await theirs.notify([2], of: Self.value)
            try await fixture.base.settle { await open.unwantedValueCount == 1 }
            await open.disconnect()
            await visit.end()
        }
    }

    @Test func writesBeforeEncryptionOverrideStoredSubscriptions() async throws {
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture)
            let link = try await visit.connect()
            let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
            try await link.own.write([1, 0], to: configuration)
            await visit.disconnect(link)
            let open = try await visit.central.connect(to: BondFixture.peripheralAddress, options: .unencrypted)
            try await open.write([0, 0], to: configuration)
            _ = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            try await fixture.base.radio.sleep(for: .seconds(2))
            let theirs = try #require(visit.links.connections.first)
            #expect(await theirs.peerConfiguration(of: Self.value) == [])
            await open.disconnect()
            await visit.end()
        }
    }

    @Test func aClientThatIsNotBondedBeginsWithNothing() async throws {
        try await PeripheralFixture.run { fixture in
            try await fixture.peripheral.publish([PeripheralFixture.service])
            let links = try await fixture.peripheral.incomingConnections()
            let advertising = try await fixture.peripheral.advertise(PeripheralFixture.content)
            for _ in 0..<2 {
                let connection = try await fixture.connect()
                try await fixture.base.settle { links.connections.count == 1 }
                let theirs = try #require(links.connections.first)
                #expect(await theirs.peerConfiguration(of: Self.value) == [])
                _ = try await connection.subscribe(to: try await connection.found(0xFFF1, in: 0xFFF0))
                #expect(await theirs.peerConfiguration(of: Self.value) == .notification)
                await connection.disconnect()
                _ = await theirs.disconnected()
            }
            withExtendedLifetime(advertising) {}
        }
    }

    @Test func aDeviceWithOnlyTheAddressChangesNothing() async throws {
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture)
            var link = try await visit.connect()
            _ = try await link.own.subscribe(to: try await link.own.found(0xFFF1, in: 0xFFF0))
            await visit.disconnect(link)
            // The same address, without a key.
            let open = try await visit.central.connect(to: BondFixture.peripheralAddress, options: .unencrypted)
            let characteristic = try await open.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(characteristic.descriptor(.clientCharacteristicConfiguration))
            try await open.write([0, 0], to: configuration)
            await open.disconnect()
            try await fixture.base.settle { visit.links.connections.isEmpty }
            link = try await visit.connect()
            #expect(await link.theirs.peerConfiguration(of: Self.value) == .notification)
            await visit.disconnect(link)
            await visit.end()
        }
    }

    @Test("a bonded client is notified once of a change during its absence", arguments: [false, true])
    func changes(_ isRestarted: Bool) async throws {
        try await BondFixture.run { fixture in
            var visit = try await Visit.begin(fixture)
            var link = try await visit.connect()
            let before = try await link.own.discover()
            #expect(before.service(0x180F) == nil)
            // The client has subscribed to Service Changed in the background.
            let theirs = link.theirs
            try await fixture.base.settle { await theirs.isTellingOfChanges }
            await visit.disconnect(link)
            if isRestarted {
                await visit.end()
                visit = try await Visit.begin(fixture, services: [PeripheralFixture.service, CachingTests.battery])
            } else {
                try await visit.peripheral.publish([CachingTests.battery])
            }
            link = try await visit.connect()
            let own = link.own
            let changes = await own.serviceChanges()
            try await fixture.base.radio.sleep(for: .seconds(2))
            let after = try await own.discover()
            #expect(after.service(0x180F) != nil)
            let now = link.theirs
            try await fixture.base.settle { await now.isPeerAware }
            await visit.disconnect(link)
            // The client is change-aware now, also after a restart of both with the same services.
            await visit.end()
            visit = try await Visit.begin(fixture, services: [PeripheralFixture.service, CachingTests.battery])
            link = try await visit.connect()
            #expect(await link.theirs.isPeerAware)
            let unwanted = await link.own.unwantedValueCount
            try await fixture.base.radio.sleep(for: .seconds(2))
            #expect(await link.own.unwantedValueCount == unwanted)
            await visit.disconnect(link)
            await visit.end()
            withExtendedLifetime(changes) {}
        }
    }

    /// The ways to use a characteristic by its name.
    enum NamedUse: CaseIterable, Sendable { case read, write, subscribe }

    /// The bond vouches for the cache until Service Changed arrives, which is later than the first call of a program.
    @Test(
        "a call by UUID uses the attributes of new firmware at once", arguments: NamedUse.allCases, [false, true])
    func newFirmware(_ use: NamedUse, isMoved: Bool) async throws {
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture)
            var link = try await visit.connect()
            let now = try await link.own.discover()
            let theirs = link.theirs
            try await fixture.base.settle { await theirs.isTellingOfChanges }
            let key = AttributeCacheKey(adapter: BondFixture.centralAddress, peer: BondFixture.peripheralAddress)
            let cache = try #require(await visit.central.session.attributeCache)
            try await fixture.base.settle { await cache.database(for: key)?.isFollowed == true }
            await visit.disconnect(link)
            // The firmware before had the service elsewhere, or not at all.
            var before = now.services
            let index = try #require(before.firstIndex { $0.uuid == 0xFFF0 })
            if isMoved {
                before[index].characteristics[0].valueHandle = before[index].characteristics[1].valueHandle
            } else {
                before.remove(at: index)
            }
            await cache.setDatabase(CachedDatabase(services: before, hash: nil, isFollowed: true), for: key)
            link = try await visit.connect()
            switch use {
            case .read: #expect(try await link.own.read(0xFFF1, in: 0xFFF0) == [7])
            case .write:
                try await link.own.write([4], to: 0xFFF1, in: 0xFFF0)
                #expect(try await link.own.read(Self.value) == [4])
            case .subscribe:
                var values = try await link.own.subscribe(to: 0xFFF1, in: 0xFFF0, kind: .notification)
                    .makeAsyncIterator()
                try await link.theirs.notify([6], of: Self.value)
                #expect(try await values.next() == [6])
            }
            // What there was is forgotten.
            #expect(try await link.own.discover() == now)
            await visit.disconnect(link)
            await visit.end()
        }
    }

    @Test func aSilentClientIsNotifiedOnceTheLinkIsEncrypted() async throws {
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture)
            let link = try await visit.connect()
            _ = try await link.own.discover()
            let first = link.theirs
            try await fixture.base.settle { await first.isTellingOfChanges }
            await visit.disconnect(link)
            try await visit.peripheral.publish([CachingTests.battery])
            let open = try await visit.central.connect(to: BondFixture.peripheralAddress, options: .unencrypted)
            try await fixture.base.settle { visit.links.connections.count == 1 }
            let theirs = try #require(visit.links.connections.first)
            try await fixture.base.radio.sleep(for: .seconds(2))
            // A device with only the address receives nothing.
            #expect(await open.unwantedValueCount == 0)
            // A channel without a listener, which has the link encrypted all the same.
            let refusal = await failure {
                _ = try await open.openChannel(psm: 0x80, options: ChannelOptions(security: .medium))
            }
            #expect(refusal != nil)
            try await fixture.base.settle { await theirs.isPeerAware }
            #expect(await open.unwantedValueCount == 1)
            await open.disconnect()
            await visit.end()
        }
    }

    @Test func aBondedDeviceThatIndicatesChangesIsNotQueried() async throws {
        try await BondFixture.run { fixture in
            let visit = try await Visit.begin(fixture)
            var link = try await visit.connect()
            let services = try await link.own.discover()
            let theirs = link.theirs
            try await fixture.base.settle { await theirs.isTellingOfChanges }
            let key = AttributeCacheKey(adapter: BondFixture.centralAddress, peer: BondFixture.peripheralAddress)
            let cache = try #require(await visit.central.session.attributeCache)
            try await fixture.base.settle { await cache.database(for: key)?.isFollowed == true }
            await visit.disconnect(link)
            link = try await visit.connect()
            try await fixture.base.radio.sleep(for: .seconds(1))
            let sent = visit.sentCount
            let again = try await link.own.discover()
            #expect(again == services)
            try await fixture.base.radio.sleep(for: .seconds(1))
            #expect(visit.sentCount == sent)
            await visit.disconnect(link)
            // Without the keys its identity is unconfirmed, and its hash is read.
            let open = try await visit.central.connect(to: BondFixture.peripheralAddress, options: .unencrypted)
            _ = try await open.discover()
            #expect(visit.sentCount > sent)
            await open.disconnect()
            await visit.end()
        }
    }
}

extension Connection {
    /// Whether the peer has subscribed to Service Changed.
    var isTellingOfChanges: Bool {
        get async {
            await core { link in
                link.localServer.serviceChanged.map { link.peerConfiguration(of: $0).contains(.indication) } ?? false
            }
        }
    }

    /// Whether the peer is change-aware.
    var isPeerAware: Bool {
        get async { await core { (try? $0.bearer(for: .init("look")))?.client.isChangeAware ?? false } }
    }
}
