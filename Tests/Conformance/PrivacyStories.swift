import BluetoothCryptography
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import TestSupport
import Testing

extension Conformance {
    /// Adapters with private addresses, observed on the air.
    @Suite struct PrivacyStories {
        private static let key = [UInt8](1...16)
        private static let name: [UInt8] = [5, 9] + Array("seam".utf8)

        /// Sets an adapter's privacy, powering it off meanwhile.
        private static func set(_ mode: UInt8, on adapter: KernelAdapter, _ fixture: Fixture) async throws {
            _ = try await fixture.management.succeed(.setPowered, on: adapter, [0])
            _ = try await fixture.management.succeed(.setPrivacy, on: adapter, [mode] + key)
            _ = try await fixture.management.succeed(.setPowered, on: adapter, [1])
        }

        /// Runs a test with one adapter that uses privacy; afterwards neither does, and no keys are stored.
        private static func run(
            _ hidden: @escaping @Sendable (Fixture) -> KernelAdapter,
            _ story: @escaping @Sendable (Fixture) async throws -> Void
        ) async throws {
            try await Fixture.run { fixture in
                for adapter in fixture.adapters {
                    _ = try await fixture.management.succeed(.loadIdentityResolvingKeys, on: adapter, [0, 0])
                }
                try await set(1, on: hidden(fixture), fixture)
                let result: Result<Void, any Error>
                do { result = .success(try await story(fixture)) } catch { result = .failure(error) }
                try await set(0, on: hidden(fixture), fixture)
                for adapter in fixture.adapters {
                    _ = try await fixture.management.succeed(.loadIdentityResolvingKeys, on: adapter, [0, 0])
                }
                try result.get()
            }
        }

        /// Whether an address was generated with the key (Core Vol 3 Part H §2.2.2).
        private static func isOurs(_ address: BluetoothAddress) -> Bool {
            let cipher = AES128(key: key.reversed().reduce(0) { $0 << 8 | UInt128($1) })
            let hash = UInt64(truncatingIfNeeded: cipher.encrypt(UInt128(address.value >> 24))) & 0xFF_FFFF
            return address.randomKind == .resolvablePrivate && hash == address.value & 0xFF_FFFF
        }

        /// The second adapter's advertising address.
        private static func heard(_ fixture: Fixture) async throws -> BluetoothAddress {
            try await fixture.advertise(name)
            let user = try await fixture.openHCI(fixture.central)
            try await user.startScan(.passive)
            let address = await user.advertiser(of: name)
            try await user.stopScan()
            await fixture.kernel.onLoop { user.close() }
            return try #require(address)
        }

        @Test func whatIsAdvertisedShowsAnAddressMadeWithTheKey() async throws {
            try await Self.run(\.peripheral) { fixture in
                let first = try await Self.heard(fixture)
                #expect(Self.isOurs(first), "\(first)")
                // A new address after the adapter was off.
                _ = try await fixture.management.succeed(.setPowered, on: fixture.peripheral, [0])
                _ = try await fixture.management.succeed(.setPowered, on: fixture.peripheral, [1])
                _ = try? await fixture.management.succeed(.removeAdvertising, on: fixture.peripheral, [0])
                let second = try await Self.heard(fixture)
                #expect(Self.isOurs(second) && second != first, "\(second)")
                try await Self.set(0, on: fixture.peripheral, fixture)
                _ = try? await fixture.management.succeed(.removeAdvertising, on: fixture.peripheral, [0])
                #expect(try await Self.heard(fixture) == fixture.peripheral.address)
            }
        }

        @Test func anIdentityIsFoundBehindIt() async throws {
            try await Self.run(\.peripheral) { fixture in
                _ = try await fixture.management.succeed(
                    .loadIdentityResolvingKeys, on: fixture.central,
                    [1, 0] + fixture.peripheral.address.managementBytes + Self.key)
                try await fixture.advertise(Self.name)
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                let central = try await fixture.connected(from: fixture.central.address, to: fixture.peripheral.address)
                #expect(await listening.first() != nil)
                let peer = await fixture.kernel.onLoop { central.socket.peer }
                #expect(peer == fixture.peripheral.address)
            }
        }

        @Test(arguments: [true, false])
        func aCentralConnectsWithOneOfWhichTheKeyTells(_ isKeyKnown: Bool) async throws {
            try await Self.run(\.central) { fixture in
                if isKeyKnown {
                    _ = try await fixture.management.succeed(
                        .loadIdentityResolvingKeys, on: fixture.peripheral,
                        [1, 0] + fixture.central.address.managementBytes + Self.key)
                }
                try await fixture.advertise(Self.name)
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                _ = try await fixture.connected(from: fixture.central.address, to: fixture.peripheral.address)
                let accepted = try #require(await listening.first())
                let peer = await fixture.kernel.onLoop { accepted.socket.peer }
                #expect(isKeyKnown ? peer == fixture.central.address : Self.isOurs(peer), "\(peer)")
            }
        }

        /// The private address stands in everything until the key of the identity is reported, and for 200 ms more in the
        /// link's channels.
        @Test func aPairingNamesTheLinkByTheIdentityAndItsChannelsLater() async throws {
            try await Self.run(\.central) { fixture in
                let (kernel, management) = (fixture.kernel, fixture.management)
                for adapter in fixture.adapters { try await management.preparePairing(on: adapter) }
                try await fixture.advertise(Self.name)
                let listening = try await fixture.listen(on: fixture.peripheral.address)
                let central = try await fixture.connected(from: fixture.central.address, to: fixture.peripheral.address)
                let accepted = try #require(await listening.first())
                let air = await kernel.onLoop { accepted.socket.peer }
                #expect(Self.isOurs(air), "\(air)")
                let reported = try await Self.channelAddresses(accepted, fixture)
                let pair = PairingFixture(base: fixture, central: central, peripheral: accepted)
                try await pair.raise(central, to: .medium)
                for adapter in fixture.adapters {
                    let asked = try #require(await pair.question(ManagementEvent.userConfirmationRequest, of: adapter))
                    _ = try await management.succeed(.userConfirmationReply, on: adapter, Array(asked.prefix(7)))
                }
                let identity = fixture.central.address
                let key = await pair.question(ManagementEvent.newLongTermKey, of: fixture.peripheral)
                #expect(key?[1..<8] == identity.managementBytes[...])
                let resolving = await pair.question(ManagementEvent.newIdentityResolvingKey, of: fixture.peripheral)
                #expect(resolving?[1..<14] == (air.managementBytes.prefix(6) + identity.managementBytes)[...])
                let shown = await reported.wait(on: kernel.loop) { $0.count == 2 }
                #expect(shown?.first?.event == ManagementEvent.newIdentityResolvingKey)
                #expect(shown?.map(\.address) == [air, air])
                for _ in 0..<100 where await kernel.onLoop({ accepted.socket.peer }) == air {
                    _ = await kernel.loop.sleep(for: .milliseconds(50))
                }
                #expect(await kernel.onLoop { accepted.socket.peer } == identity)
                let unknown = try await management.command(
                    ManagementCommand.disconnect.rawValue, fixture.peripheral.index, air.managementBytes)
                // Not connected, or since later versions of Linux disconnected.
                #expect([0x02, 0x0E].contains(unknown.status))
                _ = try await management.succeed(.disconnect, on: fixture.peripheral, identity.managementBytes)
                #expect(await central.end() != nil)
            }
        }

        /// The addresses that a channel of the second adapter reports as its kernel reports a pairing's keys.
        private static func channelAddresses(
            _ channel: ChannelEnd, _ fixture: Fixture
        ) async throws -> Journal<(event: UInt16, address: BluetoothAddress)> {
            let found = Journal<(event: UInt16, address: BluetoothAddress)>()
            let index = fixture.peripheral.index
            try await fixture.kernel.onLoop {
                let events = SocketRecorder()
                let socket = try fixture.kernel.openManagement { event in
                    let before = events.packets.count
                    events.handle(event)
                    for case let event? in events.packets.dropFirst(before).map({ ManagementEvent($0) }) {
                        let keys = [ManagementEvent.newIdentityResolvingKey, ManagementEvent.newLongTermKey]
                        guard event.index == index, keys.contains(event.code) else { continue }
                        found.add((event.code, channel.socket.peer))
                    }
                }
                events.attach(socket)
                fixture.atEnd {
                    socket.close()
                    events.detach()
                }
            }
            return found
        }
    }
}
