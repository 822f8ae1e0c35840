import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Strangers that pair with a device that accepts all: the number of bonds, and which of them remain.
@Suite struct BondLimitTests {
    private static func stranger(_ number: Int) -> BluetoothAddress {
        BluetoothAddress(0x00AA_5700_0000 + UInt64(number), kind: .public)
    }

    private static func bond(
        _ number: Int, isAuthenticated: Bool = false, wasUsedAgain: Bool = false, time: UInt64 = 1
    ) -> Bond {
        let address = BluetoothAddress(0x00AA_0B00_0000 + UInt64(number), kind: .public)
        let key = LongTermKey(
            address: address, kind: isAuthenticated ? .authenticated : .unauthenticated, isCentral: false,
            value: BondSamples.key(UInt8(truncatingIfNeeded: number)))
        return Bond(identity: address, longTermKeys: [key], time: time, wasUsedAgain: wasUsedAgain)
    }

    private static let seeds = [
        bond(1, isAuthenticated: true), bond(2, isAuthenticated: true, wasUsedAgain: true), bond(3, wasUsedAgain: true),
    ]

    /// A machine that accepts every pairing, and one whose adapter is another stranger each time.
    private struct LimitFixture: Sendable {
        let base: Fixture
        let adapter: Adapter
        let store: MemoryBondStore
        let strangers: SimulatedKernel
        let management: any PacketSocket
        let user: PairingUser
        let links: IncomingConnections
        let refused: Journal<BluetoothAddress>
        let displaced: Journal<BluetoothAddress>

        var identities: Set<BluetoothAddress> { get async { Set(await adapter.bonds().map(\.identity)) } }
        var kernelIdentities: Set<BluetoothAddress> { Set(base.kernel.longTermKeys(adapter: 0).map(\.address)) }
        var keptIdentities: Set<BluetoothAddress> {
            Set(store.bonds(of: adapter.information.address).map(\.identity))
        }

        /// A stranger connects with an encrypted link and disconnects; true if there is a bond then.
        func visit(_ stranger: BluetoothAddress) async throws -> Bool {
            let index = strangers.plug(SimulatedController(address: stranger))
            try await base.settle { strangers.adapters(isUp: index) }
            let end = Promise<Void, Never>()
            let socket = try await strangers.onLoop {
                _ = management.send(try ManagementSetBondable(true).packet(for: index))
                return try strangers.connectL2CAP(
                    to: adapter.information.address, channel: .attribute, from: stranger,
                    options: L2CAPOptions(security: .medium)
                ) { event in
                    if case .closed = event { end.succeed() }
                }
            }
            try await base.settle {
                let security = await strangers.onLoop { try? socket.security() }
                return end.isResolved || (security?.level ?? .low) >= .medium
            }
            // Both sides store the keys after that.
            try await base.radio.sleep(for: .seconds(1))
            await strangers.onLoop { socket.close() }
            strangers.unplug(index)
            try await base.settle { base.kernel.links(adapter: 0).isEmpty }
            return await adapter.bond(with: stranger) != nil
        }
    }

    private static func run(
        _ limit: BondLimit, seeds: [Bond] = seeds, isAnsweredByOthers: Bool = false,
        _ body: @escaping @Sendable (LimitFixture) async throws -> Void
    ) async throws {
        let own = BondFixture.peripheralAddress
        try await Fixture.run([SimulatedController(address: own)], limit: .seconds(100_000)) { fixture in
            let store = MemoryBondStore(seeds, of: own)
            let strangers = fixture.radio.makeKernel(adapters: [])
            let user = try await PairingUser(strangers)
            let management = try await strangers.onLoop { try strangers.openManagement { _ in } }
            let hasty = isAnsweredByOthers ? try await PairingUser(fixture.kernel) : nil
            let adapter = try await Adapter.open(
                configuration: .init(bonds: .store(store), bondLimit: limit), on: fixture.kernel)
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            let (advertising, links) = try await adapter.serve(fixture)
            let fixture = LimitFixture(
                base: fixture, adapter: adapter, store: store, strangers: strangers, management: management,
                user: user,
                links: links, refused: Journal(), displaced: Journal())
            let changes = await adapter.bondChanges()
            let follower = fixture.base.begin {
                for try await change in changes {
                    if let peer = change.refused { fixture.refused.add(peer) }
                    if let (peer, _) = change.displaced { fixture.displaced.add(peer) }
                }
            }
            try await body(fixture)
            withExtendedLifetime((advertising, hasty)) {}
            await adapter.close()
            _ = try? await follower.value
        }
    }

    // MARK: A thousand strangers

    @Test func aThousandStrangersDoNotExceedTheLimit() async throws {
        try await Self.run(BondLimit(16)) { fixture in
            for number in 0..<1000 {
                let isBonded = try await fixture.visit(Self.stranger(number))
                #expect(isBonded == (number < 13), "stranger \(number)")
            }
            let expected = Set(Self.seeds.map(\.identity) + (0..<13).map(Self.stranger))
            #expect(await fixture.identities == expected)
            #expect(fixture.kernelIdentities == expected)
            #expect(fixture.keptIdentities == expected)
            #expect(fixture.refused.entries == (13..<1000).map(Self.stranger))
            #expect(fixture.displaced.entries.isEmpty)
        }
    }

    @Test func aThousandStrangersReplaceOnlyEachOther() async throws {
        try await Self.run(BondLimit(16, whenFull: .replaceUnauthenticated)) { fixture in
            for number in 0..<1000 {
                let isBonded = try await fixture.visit(Self.stranger(number))
                #expect(isBonded, "stranger \(number)")
            }
            let expected = Set(Self.seeds.map(\.identity) + (987..<1000).map(Self.stranger))
            #expect(await fixture.identities == expected)
            #expect(fixture.kernelIdentities == expected)
            #expect(fixture.keptIdentities == expected)
            #expect(fixture.refused.entries.isEmpty)
            #expect(fixture.displaced.entries == (0..<987).map(Self.stranger))
        }
    }

    // MARK: Replacement

    @Test func aBondUsedAgainIsNotReplaced() async throws {
        try await Self.run(BondLimit(2, whenFull: .replaceUnauthenticated), seeds: []) { fixture in
            let (first, second) = (Self.stranger(1), Self.stranger(2))
            #expect(try await fixture.visit(first))
            #expect(await fixture.adapter.bond(with: first)?.wasUsedAgain == false)
            // The same key on its side, as after a power cycle of the stranger.
            let key = try #require(fixture.base.kernel.longTermKeys(adapter: 0).first { $0.address == first })
            let index = fixture.strangers.plug(SimulatedController(address: first))
            try await fixture.base.settle { fixture.strangers.adapters(isUp: index) }
            let central = try await Adapter.open(
                .address(first),
                configuration: .init(
                    bonds: .store(
                        MemoryBondStore(
                            [
                                Bond(
                                    identity: fixture.adapter.information.address,
                                    longTermKeys: [
                                        LongTermKey(
                                            address: fixture.adapter.information.address, kind: key.kind,
                                            isCentral: true,
                                            value: key.value)
                                    ])
                            ], of: first))), on: fixture.strangers)
            var options = ConnectionOptions()
            options.security.level = .medium
            let connection = try await central.connect(to: fixture.adapter.information.address, options: options)
            try await fixture.base.settle { await fixture.adapter.bond(with: first)?.wasUsedAgain == true }
            #expect(fixture.store.bonds(of: fixture.adapter.information.address).first?.wasUsedAgain == true)
            await connection.disconnect()
            await central.close()
            fixture.strangers.unplug(index)
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }

            #expect(try await fixture.visit(second))
            for number in 3..<6 {
                let isBonded = try await fixture.visit(Self.stranger(number))
                #expect(isBonded)
            }
            #expect(await fixture.identities == [first, Self.stranger(5)])
            #expect(fixture.displaced.entries == [second, Self.stranger(3), Self.stranger(4)])
        }
    }

    @Test func withoutAReplaceableBondStrangersAreRefused() async throws {
        try await Self.run(BondLimit(3, whenFull: .replaceUnauthenticated)) { fixture in
            for number in 0..<3 {
                let isBonded = try await fixture.visit(Self.stranger(number))
                #expect(!isBonded)
            }
            #expect(await fixture.identities == Set(Self.seeds.map(\.identity)))
            #expect(fixture.kernelIdentities == Set(Self.seeds.map(\.identity)))
            #expect(fixture.refused.entries.count == 3)
        }
    }

    @Test func replacementDependsOnTheNewBond() {
        let limit = BondLimit(3, whenFull: .replaceUnauthenticated)
        let (old, new) = (Self.bond(4, time: 5), Self.bond(5, time: 9))
        let (authenticated, used) = (Self.bond(1, isAuthenticated: true), Self.bond(3, wasUsedAgain: true, time: 1))
        func displaced(_ bonds: [Bond], by isAuthenticated: Bool, connected: [Bond] = []) -> Bond? {
            limit.displaced(from: bonds, forAuthenticated: isAuthenticated) { identity in
                connected.contains { $0.identity == identity }
            }
        }
        for isAuthenticated in [true, false] {
            #expect(displaced([new, used, old, authenticated], by: isAuthenticated) == old)
            #expect(displaced([new, used, old, authenticated], by: isAuthenticated, connected: [old]) == new)
            #expect(displaced([authenticated], by: isAuthenticated) == nil)
        }
        #expect(displaced([used, authenticated], by: true) == used)
        #expect(displaced([used, authenticated], by: false) == nil)
        #expect(
            BondLimit(3).displaced(from: [old], forAuthenticated: true, isConnected: { _ in false }) == nil)
    }

    // MARK: Refusing

    @Test func aKeyMadeBeyondTheLimitIsDeleted() async throws {
        // Another program on this machine confirms first.
        try await Self.run(BondLimit(3), isAnsweredByOthers: true) { fixture in
            let visit = fixture.base.begin { try await fixture.visit(Self.stranger(1)) }
            var links = fixture.links.makeAsyncIterator()
            let connection = try #require(try await links.next())
            let reason = await connection.disconnected()
            #expect(reason.pairingFailure == .bondStoreFull)
            #expect(try await !visit.value)
            #expect(fixture.refused.entries == [Self.stranger(1)])
            #expect(fixture.kernelIdentities == Set(Self.seeds.map(\.identity)))
            #expect(fixture.keptIdentities == Set(Self.seeds.map(\.identity)))
        }
    }

    @Test func thisProgramsOwnPairingIsRefusedBeforeItBegins() async throws {
        try await SecurityFixture.run { fixture in
            let adapter = try await Adapter.open(configuration: .init(bondLimit: BondLimit(0)), on: fixture.base.kernel)
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            let connection = try await adapter.connect(to: fixture.peripheral.address)
            let error = await failure { try await connection.pair() }
            #expect(error?.code == .pairingFailed)
            #expect(error?.pairingFailure == .bondStoreFull)
            #expect(error?.remedy?.contains("BondLimit") == true)
            // The link remains usable.
            #expect(await connection.isConnected)
            #expect(try await connection.read(try fixture.handle(0xFFF4)) == [10])
            #expect(fixture.base.kernel.longTermKeys(adapter: 0).isEmpty)
            // A pairing without bonding needs no room.
            try await adapter.setPairingAgent(JustWorksPairingAgent(), isBondable: false)
            #expect(try await connection.pair().security.level == .medium)
            await adapter.close()
        }
    }

    // MARK: Existing bonds

    @Test func storedBondsBeyondTheLimitRemainInUse() async throws {
        let bonds = (1...40).map { Self.bond($0) }
        for whenFull in [BondLimit.WhenFull.refuse, .replaceUnauthenticated] {
            try await Self.run(BondLimit(16, whenFull: whenFull), seeds: bonds) { fixture in
                #expect(await fixture.identities == Set(bonds.map(\.identity)))
                #expect(fixture.kernelIdentities == Set(bonds.map(\.identity)))
                let isBonded = try await fixture.visit(Self.stranger(1))
                #expect(isBonded == (whenFull == .replaceUnauthenticated))
                #expect(await fixture.identities.count == 40)
                #expect(fixture.keptIdentities == (await fixture.identities))
                // Bonds set by the program are not limited.
                try await fixture.adapter.setBond(Self.bond(99))
                #expect(await fixture.identities.count == 41)
            }
        }
    }

    @Test func theBondsInUseAreLoadedBeforeAnyOthers() async throws {
        let strangers = (10..<2500).map { Self.bond($0, time: 1000) }
        try await Self.run(BondLimit(), seeds: Self.seeds + strangers) { fixture in
            #expect(fixture.kernelIdentities.count == 1800)
            #expect(fixture.kernelIdentities.isSuperset(of: Self.seeds.map(\.identity)))
        }
    }

    @Test(arguments: [true, false]) func aFileRecordsWhetherABondWasUsedAgain(_ wasUsedAgain: Bool) throws {
        var bond = BondSamples.bond()
        bond.wasUsedAgain = wasUsedAgain
        let bytes = try bond.encoded(for: BondSamples.adapter)
        #expect(try Bond(decoding: bytes, adapter: BondSamples.adapter) == bond)
    }
}

extension SimulatedKernel {
    fileprivate func adapters(isUp index: UInt16) -> Bool {
        (try? adapters())?.contains { $0.index == index && $0.isUp } == true
    }
}
