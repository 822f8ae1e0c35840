import BluetoothGATT
import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Bonded devices that use private addresses.
@Suite struct PrivacyTests {
    private static let identity = BluetoothAddress(0xC0DE_0000_0001, kind: .random)

    /// Runs `body` with a machine and a paired device that has distributed its identity.
    private static func run(
        _ body: @escaping @Sendable (BondFixture, Adapter, SimulatedPeripheral) async throws -> Void
    ) async throws {
        try await BondFixture.run { fixture in
            let device = SimulatedPeripheral(
                on: fixture.base.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random),
                gatt: try SimulatedGATTServer([CachingTests.battery]))
            device.setSecurity(SimulatedSecurity(identity: identity))
            let central = try await fixture.central.open()
            try await fixture.connect(central, to: device.address).disconnect()
            try await fixture.base.settle { await central.bonds().first?.identity == identity }
            try await fixture.base.settle { device.links.isEmpty }
            try await body(fixture, central, device)
            await central.close()
        }
    }

    /// Makes the device advertise under another address.
    @discardableResult
    private static func hide(_ device: SimulatedPeripheral) throws -> BluetoothAddress {
        let address = try #require(device.makePrivateAddress())
        device.setAdvertisements([SimulatedAdvertisement(address: address)])
        return address
    }

    @Test func aScanNamesTheIdentityWhateverTheAddress() async throws {
        try await Self.run { fixture, central, device in
            var seen: Set<BluetoothAddress> = []
            // One device for the scan, so it is reported once.
            let once = try await central.scan(ScanOptions(duplicates: .once))
            var onceIterator = once.makeAsyncIterator()
            for round in 0..<5 {
                let address = try Self.hide(device)
                let heard = try await central.firstAdvertisement(
                    timeout: .seconds(5), options: ScanOptions(filter: .address(Self.identity), duplicates: .all)
                ) { $0.privateAddress == address }
                #expect(heard.address == Self.identity)
                seen.insert(address)
                if round == 0 {
                    let first = try await onceIterator.next()
                    #expect(first?.address == Self.identity)
                }
            }
            #expect(seen.count == 5)
            // Each address was looked up once, however often it was received.
            #expect(await central.session.lookUpCount <= 6)
            once.finish(BluetoothError(.cancelled, .init("end"), ""))
            let more = await failure {
                while let next = try await onceIterator.next() { #expect(next.address != Self.identity) }
            }
            #expect(more?.code == .cancelled)
        }
    }

    @Test func aDeviceIsConnectedToByItsIdentityAndItsAdvertisedAddress() async throws {
        try await Self.run { fixture, central, device in
            let first = try Self.hide(device)
            for peer in [Self.identity, first] {
                let connection = try await fixture.connect(central, to: peer)
                #expect(await connection.identity == Self.identity)
                #expect(connection.peer == Self.identity)
                await connection.disconnect()
                try await fixture.base.settle { device.links.isEmpty }
            }
            #expect(fixture.questions == 1)
        }
    }

    @Test func withoutABondAnAddressIsNotResolved() async throws {
        try await Self.run { fixture, central, device in
            let address = try Self.hide(device)
            // With only an open adapter.
            let resolved = try await central.firstAdvertisement(timeout: .seconds(5))
            #expect(resolved.address == Self.identity && resolved.privateAddress == address)
            try await central.removeBond(with: Self.identity)
            let again = try await central.firstAdvertisement(timeout: .seconds(5))
            #expect(again.address == address && again.privateAddress == nil)
        }
    }

    @Test func theNumberOfCachedResolutionsIsBounded() {
        let resolution = DeviceIdentities()
        resolution.setKeys([IdentityResolvingKey(address: Self.identity, value: BondSamples.key(1))])
        let addresses = (0..<UInt64(DeviceIdentities.capacity + 1)).map {
            BluetoothAddress(0x4000_0000_0000 | $0, kind: .random)
        }
        for address in addresses { #expect(resolution.identity(of: address) == nil) }
        for address in addresses.suffix(DeviceIdentities.capacity) { _ = resolution.identity(of: address) }
        #expect(resolution.lookUpCount == addresses.count)
        _ = resolution.identity(of: addresses[0])
        #expect(resolution.lookUpCount == addresses.count + 1)
        // Static and public addresses are not looked up.
        for address in [Self.identity, BluetoothAddress(0x4000_0000_0001, kind: .public)] {
            #expect(resolution.identity(of: address) == nil)
        }
        #expect(resolution.lookUpCount == addresses.count + 1)
    }

    @Test(.seeded) func eachOfManyKeysIsFoundAndFillersMatchNothing() throws {
        let resolver = PrivateAddressResolver()
        var generator = SeededGenerator()
        for count in 0...9 {
            let keys = (0..<count).map { number in
                IdentityResolvingKey(
                    address: BluetoothAddress(0xC0DE_0000_0000 | UInt64(number), kind: .random),
                    value: .random(using: &generator))
            }
            let resolution = DeviceIdentities()
            resolution.setKeys(keys)
            for key in keys {
                let address = try #require(resolver.address(with: key.value, using: &generator))
                #expect(resolution.identity(of: address) == key.address)
            }
            // Four keys are tested at once, and a dummy key that fills the last four must not match.
            for key in [SecurityKey.zero, .random(using: &generator)] {
                let address = try #require(resolver.address(with: key, using: &generator))
                #expect(resolution.identity(of: address) == nil)
            }
        }
    }

    @Test func theCacheUsesTheIdentityOfADevice() async throws {
        try await BondFixture.run { fixture in
            let device = SimulatedPeripheral(
                on: fixture.base.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random),
                gatt: try SimulatedGATTServer(CachingTests.genericAttribute(.everything) + [CachingTests.battery]))
            device.setSecurity(SimulatedSecurity(identity: Self.identity))
            let log = LogRecorder()
            let central = try await fixture.central.open(log: log)
            let cache = try #require(await central.session.attributeCache)
            @Sendable func key(_ peer: BluetoothAddress) -> AttributeCacheKey {
                AttributeCacheKey(adapter: BondFixture.centralAddress, peer: peer)
            }
            // It connects with a private address, and distributes its identity during the link.
            let first = try await fixture.connect(central, to: device.address)
            let services = try await first.discover()
            try await fixture.base.settle { await cache.database(for: key(Self.identity)) != nil }
            #expect(await cache.database(for: key(device.address)) == nil)
            await first.disconnect()
            try await fixture.base.settle { device.links.isEmpty }
            try Self.hide(device)
            let second = try await fixture.connect(central, to: Self.identity)
            let before = log.lines.count { $0.hasPrefix("ATT →") }
            #expect(try await second.discover() == services)
            #expect(log.lines.count { $0.hasPrefix("ATT →") } <= before + 1)
            await second.disconnect()
            await central.close()
        }
    }
}
