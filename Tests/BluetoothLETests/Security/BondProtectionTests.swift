import BluetoothManagement
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Links to bonded devices, and devices that only have their addresses.
@Suite struct BondProtectionTests {
    /// A central that has bonded with a peripheral, and may meet another one with its address.
    private struct Bonded {
        let security: SecurityFixture
        let before: Bond

        var base: Fixture { security.base }
        var adapter: Adapter { security.adapter }
        var address: BluetoothAddress { security.peripheral.address }

        /// Runs a test after a pairing.
        static func run(
            _ security: SimulatedSecurity = SimulatedSecurity(), agent: TestAgent.User? = nil,
            _ body: @escaping @Sendable (Bonded) async throws -> Void
        ) async throws {
            try await SecurityFixture.run(security) { fixture in
                if let agent { try await fixture.adapter.setPairingAgent(fixture.agent(.keyboardOnly, agent)) }
                let connection = try await fixture.connect()
                #expect(try await connection.pair().isBonded)
                try await fixture.end(connection)
                let bond = try #require(await fixture.adapter.bonds().first)
                try await body(Bonded(security: fixture, before: bond))
            }
        }

        /// Replaces the peripheral by another device with its address, without keys.
        func makeImpostor(_ security: SimulatedSecurity = SimulatedSecurity()) throws -> Impostor {
            self.security.peripheral.remove()
            return try Impostor(on: base.radio, address, security)
        }

        /// The bond is the one of the pairing.
        func expectBond(usedAgain: Bool = false) async {
            let bonds = await adapter.bonds()
            #expect(bonds.map(\.longTermKeys) == [before.longTermKeys])
            #expect(bonds.map(\.wasUsedAgain) == [usedAgain])
        }
    }

    /// A peripheral with the address of another one, which records what it is told.
    private struct Impostor: Sendable {
        let server: SimulatedGATTServer
        let device: SimulatedPeripheral
        let told: Told

        final class Told: Sendable {
            private let requests = Mutex(0)
            var count: Int { requests.withLock { $0 } }
            func add() { requests.withLock { $0 += 1 } }
        }

        init(on radio: SimulatedRadio, _ address: BluetoothAddress, _ security: SimulatedSecurity) throws {
            let told = Told()
            server = try SimulatedGATTServer([
                GATTService(
                    0xFFF0,
                    characteristics: [GATTCharacteristic(0xFFF4, properties: [.read, .write])])
            ])
            server.onRead { _, _ in
                told.add()
                return .value([66])
            }
            self.told = told
            device = SimulatedPeripheral(on: radio, address: address, gatt: server)
            device.setSecurity(security)
        }
    }

    // MARK: A bonded device is spoken to encrypted

    @Test func aReconnectWithDefaultOptionsIsEncrypted() async throws {
        try await Bonded.run { fixture in
            let again = try await fixture.adapter.connect(to: fixture.address)
            #expect(try await again.security() == LinkSecurity(level: .medium, keySize: 16))
            #expect(await again.bondProtection == .confirmed)
            try await fixture.security.end(again)
            let plain = try await fixture.adapter.connect(to: fixture.address, options: .unencrypted)
            #expect(try await plain.security().level == .low)
            #expect(await plain.bondProtection == .unconfirmed)
            try await fixture.security.end(plain)
        }
    }

    @Test func anImpostorIsToldNothing() async throws {
        try await Bonded.run { fixture in
            let impostor = try fixture.makeImpostor()
            let error = await failure { _ = try await fixture.adapter.connect(to: fixture.address) }
            #expect(error?.code == .pairingFailed && error?.pairingFailure == .keyMissing)
            #expect(impostor.told.count == 0)
            await fixture.expectBond()
            // Who asks for it by name.
            let open = try await fixture.adapter.connect(to: fixture.address, options: .unencrypted)
            #expect(try await open.read(try #require(impostor.server.handle(of: 0xFFF4, in: 0xFFF0))) == [66])
            #expect(await open.bondProtection == .unconfirmed)
            try await fixture.security.end(open)
        }
    }

    @Test func aKeptConnectionReportsAnImpostorOnceAndWaitsForTheDevice() async throws {
        try await Bonded.run { fixture in
            let impostor = try fixture.makeImpostor()
            let events = Mutex<[String]>([])
            let kept = fixture.adapter.keepConnected(to: fixture.address)
            let following = fixture.base.begin {
                for try await event in await kept.events() {
                    switch event.kind {
                    case .failed(let error, let delay):
                        events.withLock { $0.append("\(error.pairingFailure?.rawValue ?? "") \(delay)") }
                    case .connected: events.withLock { $0.append("connected") }
                    case .connecting: events.withLock { $0.append("connecting") }
                    default: break
                    }
                }
            }
            try await fixture.base.radio.sleep(for: .seconds(300))
            #expect(events.withLock { $0 } == ["connecting", "keyMissing 60.0 seconds"])
            #expect(impostor.told.count == 0)
            impostor.device.remove()
            let genuine = SimulatedPeripheral(on: fixture.base.radio, address: fixture.address, gatt: impostor.server)
            // It has got its key back by a pairing that replaced the bond here.
            try await fixture.adapter.removeBond(with: fixture.address)
            _ = try await kept.connected(timeout: .seconds(200))
            #expect(events.withLock { $0.last } == "connected")
            following.cancel()
            await kept.disconnect()
            withExtendedLifetime(genuine) {}
        }
    }

    @Test func keysThatCannotBeLoadedAreNoReasonToGoOnInPlain() async throws {
        try await Bonded.run { fixture in
            let store = MemoryBondStore([fixture.before], of: fixture.adapter.information.address)
            await fixture.adapter.close()
            fixture.base.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(configuration: .init(bonds: .store(store)), on: fixture.base.kernel)
            let error = await failure { _ = try await adapter.connect(to: fixture.address) }
            #expect(error?.code == .notPermitted)
            #expect(error?.remedy?.contains("leavesBondedLinksUnencrypted") == true)
            #expect(fixture.base.kernel.links(adapter: 0).isEmpty)
            let plain = try await adapter.connect(to: fixture.address, options: .unencrypted)
            await plain.disconnect()
            await adapter.close()
        }
    }

    @Test("another program has deleted the keys in the kernel", arguments: [false, true])
    func theKernelHasLostTheKeys(_ isImpostor: Bool) async throws {
        try await Bonded.run { fixture in
            let impostor = isImpostor ? try fixture.makeImpostor() : nil
            let user = try await PairingUser(fixture.base.kernel)
            try await fixture.adapter.sendToManagement(ManagementLoadLongTermKeys([]), to: 0)
            let error = await failure {
                let again = try await fixture.adapter.connect(to: fixture.address)
                #expect(await again.bondProtection == .confirmed)
                try await fixture.security.end(again)
            }
            #expect(error?.pairingFailure == (isImpostor ? .keyMissing : nil))
            await fixture.expectBond(usedAgain: !isImpostor)
            withExtendedLifetime((impostor, user)) {}
        }
    }

    @Test(
        "a channel without a connection is encrypted with the bond's key as well",
        arguments: [false, true], [false, true])
    func aChannelToABondedDevice(_ isImpostor: Bool, _ isKeyLost: Bool) async throws {
        try await Bonded.run { fixture in
            let impostor = isImpostor ? try fixture.makeImpostor() : nil
            (impostor?.device ?? fixture.security.peripheral).setService(0x0085, receiveMTU: 100)
            let user = try await PairingUser(fixture.base.kernel)
            if isKeyLost { try await fixture.adapter.sendToManagement(ManagementLoadLongTermKeys([]), to: 0) }
            let error = await failure {
                let channel = try await fixture.adapter.openChannel(to: fixture.address, psm: 0x0085)
                #expect(try await channel.security() == LinkSecurity(level: .medium, keySize: 16))
                await channel.close()
            }
            #expect((error != nil) == isImpostor, "\(error as Any)")
            #expect(await fixture.adapter.bonds() == [fixture.before])
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            var options = ChannelOptions()
            options.leavesBondedLinksUnencrypted = true
            let plain = try await fixture.adapter.openChannel(to: fixture.address, psm: 0x0085, options: options)
            #expect(try await plain.security().level == .low)
            await plain.close()
            withExtendedLifetime((impostor, user)) {}
        }
    }

    /// Another program deletes the keys after this one has loaded them, before the link.
    @Test func keysThatAreLostMeanwhileAreLoadedAgain() async throws {
        try await Bonded.run { fixture in
            fixture.security.peripheral.setAdvertising(false)
            let connect = fixture.base.begin { try await fixture.adapter.connect(to: fixture.address) }
            try await fixture.base.radio.sleep(for: .seconds(1))
            try await fixture.adapter.sendToManagement(ManagementLoadLongTermKeys([]), to: 0)
            fixture.security.peripheral.setAdvertising(true)
            let again = try await connect.value
            #expect(await again.bondProtection == .confirmed)
            await fixture.expectBond(usedAgain: true)
            try await fixture.security.end(again)
        }
    }

    @Test func aLostLinkIsNoMissingKey() async throws {
        try await Bonded.run { fixture in
            let connect = fixture.base.begin {
                _ = try await fixture.adapter.connect(
                    to: fixture.address, options: ConnectionOptions(timeout: .seconds(20), attempts: 1))
            }
            try await fixture.base.settle { !fixture.base.kernel.links(adapter: 0).isEmpty }
            fixture.security.peripheral.remove()
            let error = await failure { _ = try await connect.value }
            #expect(error?.pairingFailure != .keyMissing)
            #expect(error?.isRetryable == true, "\(error as Any)")
            await fixture.expectBond()
        }
    }

    // MARK: An identity is proven

    @Test(arguments: [true, false])
    func nobodyTakesABondByClaimingItsIdentity(_ isBondKnown: Bool) async throws {
        try await SecurityFixture.run { fixture in
            let own = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
            fixture.peripheral.setSecurity(SimulatedSecurity(identity: own))
            let first = try #require(fixture.peripheral.makePrivateAddress())
            fixture.peripheral.setAdvertisements([SimulatedAdvertisement(address: first)])
            if isBondKnown {
                let link = try await fixture.adapter.connect(to: first)
                #expect(try await link.pair().isBonded)
                #expect(await link.identity == own)
                try await fixture.end(link)
            }
            let before = await fixture.adapter.bonds()
            let changes = await fixture.adapter.bondChanges()
            // The stranger claims that identity.
            let stranger = SimulatedPeripheral(on: fixture.base.radio, advertisements: [], gatt: fixture.server)
            stranger.setSecurity(SimulatedSecurity(identity: own))
            let air = try #require(stranger.makePrivateAddress())
            stranger.setAdvertisements([SimulatedAdvertisement(address: air)])
            let link = try await fixture.adapter.connect(to: air)
            let error = await failure { _ = try await link.pair() }
            guard isBondKnown else {
                // There is nothing to take.
                #expect(error == nil)
                #expect(await link.identity == own)
                return try await fixture.end(link)
            }
            #expect(error?.pairingFailure == .identityClaimed, "\(error as Any)")
            #expect(await link.identity == air)
            #expect(await fixture.adapter.bonds() == before)
            for try await change in changes {
                guard let (identity, reason) = change.notReplaced, identity == own else { continue }
                #expect(reason.remedy?.contains("ble bonds remove \(own.digits)") == true)
                break
            }
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            stranger.remove()
            // The genuine device is known by its key, at another address.
            let next = try #require(fixture.peripheral.makePrivateAddress())
            fixture.peripheral.setAdvertisements([SimulatedAdvertisement(address: next)])
            let again = try await fixture.adapter.connect(to: own)
            #expect(await again.bondProtection == .confirmed)
            try await fixture.end(again)
        }
    }

    // MARK: No bond is replaced by less, and none in silence

    /// What may become of a bond whose device, or another with its address, has no key and pairs again.
    @Test(arguments: [
        ("Just Works", false), ("Just Works, replacing", true), ("a passkey", false), ("a user who agrees", true),
        ("a user who refuses", false),
    ])
    func aCentralWithoutItsKeyPairsAgain(_ name: String, _ isReplaced: Bool) async throws {
        try await BondFixture.run { fixture in
            let (central, peripheral) = (try await fixture.central.open(), try await fixture.peripheral.open())
            let served = try await peripheral.serve(fixture.base)
            try await fixture.connect(central).disconnect()
            try await fixture.base.settle { await peripheral.bonds().count == 1 }
            let before = await peripheral.bonds()
            await central.close()
            try fixture.central.restart()
            let loop = fixture.base.radio.loop
            let user = TestAgent(.noInputNoOutput, name.hasSuffix("agrees") ? .agrees : .refuses, on: loop)
            let agents: [String: any PairingAgent] = [
                "Just Works": JustWorksPairingAgent(),
                "Just Works, replacing": JustWorksPairingAgent(replacesBonds: true),
                "a passkey": FixedPasskeyAgent(try #require(Passkey(123_456)), acceptsJustWorks: true),
            ]
            try await peripheral.setPairingAgent(agents[name] ?? user)
            let changes = await peripheral.bondChanges()
            let stranger = try await fixture.central.open(.store(MemoryBondStore()))
            let error = await failure { _ = try await fixture.connect(stranger) }
            #expect((error == nil) == isReplaced)
            if agents[name] == nil { #expect(user.replaced == [BondFixture.centralAddress]) }
            if isReplaced {
                try await fixture.base.settle { await peripheral.bonds().first?.longTermKeys != before[0].longTermKeys }
            } else {
                #expect(await peripheral.bonds() == before)
                for try await change in changes {
                    guard let (identity, reason) = change.notReplaced, identity == BondFixture.centralAddress else {
                        continue
                    }
                    #expect(reason.remedy?.contains("ble bonds remove \(BondFixture.centralAddress.digits)") == true)
                    break
                }
            }
            await stranger.close()
            await peripheral.close()
            withExtendedLifetime(served) {}
        }
    }

    @Test(arguments: [
        ("legacy", SimulatedSecurity(ioCapability: .displayOnly, hasSecureConnections: false)),
        ("shorter", SimulatedSecurity(ioCapability: .displayOnly)), ("unauthenticated", SimulatedSecurity()),
    ])
    func noBondIsReplacedByLess(_ kind: String, _ weaker: SimulatedSecurity) async throws {
        var weaker = weaker
        if kind == "shorter" { weaker.maximumKeySize = 15 }
        let attacker = weaker
        try await Bonded.run(SimulatedSecurity(ioCapability: .displayOnly), agent: .types(123_456)) {
            fixture in
            #expect(fixture.before.level == .fips)
            let impostor = try fixture.makeImpostor(attacker)
            // Otherwise the kernel notices that the impostor lacks the key, and asks nothing.
            try await fixture.adapter.sendToManagement(ManagementLoadLongTermKeys([]), to: 0)
            var options = ConnectionOptions.unencrypted
            options.security.minimumKeySize = 7
            let link = try await fixture.adapter.connect(to: fixture.address, options: options)
            impostor.device.requestSecurity(.high)
            // What is refused before there are keys leaves the link as it is; other keys end it.
            try await fixture.base.radio.sleep(for: .seconds(40))
            if await link.isConnected {
                #expect(try await link.security().level == .low)
            } else {
                #expect(await link.disconnected().pairingFailure == .keyMissing)
            }
            await fixture.expectBond()
            await link.disconnect()
        }
    }

    // MARK: Just Works where a passkey is expected

    @Test(arguments: [true, false])
    func aPasskeyMeansAuthenticated(_ acceptsJustWorks: Bool) async throws {
        try await SecurityFixture.run { fixture in
            let passkey = try #require(Passkey(123_456))
            try await fixture.adapter.setPairingAgent(FixedPasskeyAgent(passkey, acceptsJustWorks: acceptsJustWorks))
            let link = try await fixture.connect()
            let error = await failure { _ = try await link.pair(to: .medium) }
            #expect(error?.pairingFailure == (acceptsJustWorks ? nil : .insufficientLevel))
            #expect(await fixture.adapter.bonds().isEmpty == !acceptsJustWorks)
            if acceptsJustWorks { try await fixture.end(link) }
        }
    }

    // MARK: Pairing without bonding

    @Test func pairingWithoutBondingLeavesNoKey() async throws {
        try await SecurityFixture.run { fixture in
            try await fixture.adapter.setPairingAgent(nil, isBondable: false)
            let link = try await fixture.connect()
            #expect(try await !link.pair().isBonded)
            try await fixture.end(link)
            let next = try await fixture.connect()
            #expect(try await next.security().level == .low)
            #expect(await next.bondProtection == .none)
            // A raise pairs anew: neither side has a key.
            #expect(try await !next.pair().isBonded)
            try await fixture.end(next)
        }
    }
}
