import BluetoothGATT
import TestSupport
import Testing

@testable import BluetoothLE

/// Two paired machines, with services on one of them.
struct BondedVisit: Sendable {
    let fixture: BondFixture
    let central: Adapter
    let peripheral: Adapter
    let links: IncomingConnections
    let advertising: AdvertisingSet
    let log: LogRecorder

    var base: Fixture { fixture.base }

    /// The number of PDUs sent by the central.
    var sentCount: Int { log.lines.count { $0.hasPrefix("ATT →") } }

    /// Runs a story of one visit.
    static func run(
        services: [GATTService] = [PeripheralFixture.service],
        _ story: @escaping @Sendable (BondedVisit) async throws -> Void
    ) async throws {
        try await BondFixture.run { fixture in
            let visit = try await begin(fixture, services: services)
            try await story(visit)
            await visit.end()
        }
    }

    /// Restarts both programs; both kernels retain their state, as kernels do.
    static func begin(
        _ fixture: BondFixture, services: [GATTService] = [PeripheralFixture.service]
    ) async throws -> BondedVisit {
        let log = LogRecorder()
        let central = try await fixture.central.open(log: log)
        let peripheral = try await fixture.peripheral.open()
        if !services.isEmpty { try await peripheral.publish(services) }
        let served = try await peripheral.serve(fixture.base)
        return BondedVisit(
            fixture: fixture, central: central, peripheral: peripheral, links: served.links,
            advertising: served.advertising, log: log)
    }

    func end() async {
        await central.close()
        await peripheral.close()
    }

    /// Connects, and returns both ends.
    func connect() async throws -> (own: Connection, theirs: Connection) {
        try await bothEnds(fixture.connect(central))
    }

    /// The same without encryption.
    func connectInTheOpen() async throws -> (own: Connection, theirs: Connection) {
        try await bothEnds(central.connect(to: BondFixture.peripheralAddress, options: .unencrypted))
    }

    private func bothEnds(_ own: Connection) async throws -> (own: Connection, theirs: Connection) {
        try await base.settle { links.connections.count == 1 }
        return (own, try #require(links.connections.first))
    }

    /// Subscribes to the value; returns the characteristic.
    @discardableResult func subscribe(_ link: (own: Connection, theirs: Connection)) async throws
        -> RemoteCharacteristic
    {
        let characteristic = try await link.own.found(0xFFF1, in: 0xFFF0)
        _ = try await link.own.subscribe(to: characteristic)
        return characteristic
    }

    /// Subscribes to the value, disconnects, and connects again without encryption; returns the characteristic and
    /// both ends.
    func subscribeAndReturnInTheOpen() async throws -> (RemoteCharacteristic, own: Connection, theirs: Connection) {
        let link = try await connect()
        let characteristic = try await subscribe(link)
        await disconnect(link)
        let open = try await connectInTheOpen()
        return (characteristic, open.own, open.theirs)
    }

    /// Disconnects, and waits for both ends.
    func disconnect(_ link: (own: Connection, theirs: Connection)) async {
        await link.own.disconnect()
        _ = await link.theirs.disconnected()
    }

    /// The central's cache with its key, once the peripheral's changes are followed.
    @discardableResult func cacheOfChanges(
        _ link: (own: Connection, theirs: Connection)
    ) async throws -> (any DatabaseCache, AttributeCacheKey) {
        let theirs = link.theirs
        try await base.settle { await theirs.isTellingOfChanges }
        let key = AttributeCacheKey(adapter: BondFixture.centralAddress, peer: BondFixture.peripheralAddress)
        let cache = try #require(await central.session.attributeCache)
        try await base.settle { await cache.database(for: key)?.isFollowed == true }
        return (cache, key)
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

    /// Requests a channel that nobody listens for, which has the link encrypted all the same.
    @discardableResult
    func encryptForAChannel() async -> BluetoothError? {
        await failure { _ = try await openChannel(psm: 0x80, options: ChannelOptions(security: .medium)) }
    }

    /// Whether the peer is change-aware.
    var isPeerAware: Bool {
        get async { await core { (try? $0.bearer(for: .init("look")))?.client.isChangeAware ?? false } }
    }
}
