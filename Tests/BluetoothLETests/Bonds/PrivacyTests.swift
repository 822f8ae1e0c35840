import SimulatedKernel
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Bonded devices that hide behind addresses which change.
@Suite struct PrivacyTests {
    /// Resolves as the specification says, with the cipher of the checksums, and counts.
    final class CountingResolver: AddressResolver {
        let tries = Mutex(0)

        func matches(_ address: BluetoothAddress, _ key: SecurityKey) -> Bool {
            tries.withLock { $0 += 1 }
            let cipher = AES128(key: key.bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) })
            return UInt64(truncatingIfNeeded: cipher.encrypt(UInt128(address.value >> 24)) & 0xFF_FFFF)
                == address.value & 0xFF_FFFF
        }
    }

    private static let identity = BluetoothAddress(0xC0DE_0000_0001, kind: .random)

    /// A machine and a device that has told who it is, paired.
    private static func run(
        _ body: @escaping @Sendable (BondStory, Adapter, SimulatedPeripheral) async throws -> Void
    ) async throws {
        try await BondStory.run { story in
            let device = SimulatedPeripheral(
                on: story.story.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random),
                gatt: try SimulatedGATTServer([CachingTests.battery]))
            device.setSecurity(SimulatedSecurity(identity: identity))
            let central = try await story.central.open()
            try await story.connect(central, to: device.address).disconnect()
            try await story.story.settle { await central.bonds().first?.identity == identity }
            try await story.story.settle { device.links.isEmpty }
            try await body(story, central, device)
            await central.close()
        }
    }

    /// Has the device advertise under another address.
    @discardableResult
    private static func hide(_ device: SimulatedPeripheral) throws -> BluetoothAddress {
        let address = try #require(device.makePrivateAddress())
        device.setAdvertisements([SimulatedAdvertisement(address: address)])
        return address
    }

    @Test func aScanNamesTheIdentityWhateverTheAddress() async throws {
        try await Self.run { story, central, device in
            let resolver = CountingResolver()
            await central.setAddressResolver(resolver)
            var seen: Set<BluetoothAddress> = []
            // One device for the scan, so it is told once.
            let once = try await central.scan(ScanOptions(duplicates: .once))
            var onceIterator = once.makeAsyncIterator()
            for round in 0..<5 {
                let address = try Self.hide(device)
                let heard = try await central.first(
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
            // Each address was tried once, however often it was heard.
            #expect(resolver.tries.withLock { $0 } <= 6)
            once.finish(BluetoothError(.cancelled, .init("end"), ""))
            let more = await failure {
                while let next = try await onceIterator.next() { #expect(next.address != Self.identity) }
            }
            #expect(more?.code == .cancelled)
        }
    }

    @Test func aDeviceIsConnectedToByItsIdentityAndByTheAddressItWasHeardWith() async throws {
        try await Self.run { story, central, device in
            await central.setAddressResolver(CountingResolver())
            let first = try Self.hide(device)
            for peer in [Self.identity, first] {
                let connection = try await story.connect(central, to: peer)
                #expect(await connection.identity == Self.identity)
                #expect(connection.peer == Self.identity)
                await connection.disconnect()
                try await story.story.settle { device.links.isEmpty }
            }
            #expect(story.questions == 1)
        }
    }

    @Test func withoutAResolverOrABondAnAddressIsWhatItIs() async throws {
        try await Self.run { story, central, device in
            let address = try Self.hide(device)
            let heard = try await central.first(timeout: .seconds(5))
            #expect(heard.address == address && heard.privateAddress == nil)
            await central.setAddressResolver(CountingResolver())
            let resolved = try await central.first(timeout: .seconds(5))
            #expect(resolved.address == Self.identity && resolved.privateAddress == address)
            try await central.removeBond(with: Self.identity)
            let again = try await central.first(timeout: .seconds(5))
            #expect(again.address == address && again.privateAddress == nil)
        }
    }

    @Test func whatWasFoundOutIsRememberedForSoManyAddressesAndNoMore() {
        let resolver = CountingResolver()
        var resolution = AddressResolution()
        resolution.setResolver(resolver)
        resolution.setKeys([IdentityResolvingKey(address: Self.identity, value: BondSamples.key(1))])
        let addresses = (0..<UInt64(AddressResolution.capacity + 1)).map {
            BluetoothAddress(0x4000_0000_0000 | $0, kind: .random)
        }
        for address in addresses { #expect(resolution.identity(of: address) == nil) }
        for address in addresses.suffix(AddressResolution.capacity) { _ = resolution.identity(of: address) }
        #expect(resolver.tries.withLock { $0 } == addresses.count)
        _ = resolution.identity(of: addresses[0])
        #expect(resolver.tries.withLock { $0 } == addresses.count + 1)
        // Neither a static nor a public address is worth a try.
        for address in [Self.identity, BluetoothAddress(0x4000_0000_0001, kind: .public)] {
            #expect(resolution.identity(of: address) == nil)
        }
        #expect(resolver.tries.withLock { $0 } == addresses.count + 1)
    }

    @Test func theCacheKnowsADeviceByWhoItIs() async throws {
        try await BondStory.run { story in
            let device = SimulatedPeripheral(
                on: story.story.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random),
                gatt: try SimulatedGATTServer(CachingTests.genericAttribute(.everything) + [CachingTests.battery]))
            device.setSecurity(SimulatedSecurity(identity: Self.identity))
            let log = LogRecorder()
            let central = try await story.central.open(log: log)
            let cache = try #require(await central.attributeCache)
            @Sendable func key(_ peer: BluetoothAddress) -> AttributeCacheKey {
                AttributeCacheKey(adapter: BondStory.centralAddress, peer: peer)
            }
            // It comes with an address that changes, and tells who it is in the midst of the link.
            let first = try await story.connect(central, to: device.address)
            let services = try await first.discover()
            try await story.story.settle { await cache.database(for: key(Self.identity)) != nil }
            #expect(await cache.database(for: key(device.address)) == nil)
            await first.disconnect()
            try await story.story.settle { device.links.isEmpty }
            try Self.hide(device)
            let second = try await story.connect(central, to: Self.identity)
            let before = log.lines.count { $0.hasPrefix("ATT →") }
            #expect(try await second.discover() == services)
            #expect(log.lines.count { $0.hasPrefix("ATT →") } <= before + 1)
            await second.disconnect()
            await central.close()
        }
    }
}
