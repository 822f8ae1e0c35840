import BluetoothCryptography
import BluetoothKernel
import BluetoothPrimitives
import GATT
import HCI
import TestSupport
import Testing

extension Conformance {
    /// Adapters that hide behind addresses which change, looked at on the air.
    @Suite struct PrivacyStories {
        private static let key = [UInt8](1...16)
        private static let name: [UInt8] = [5, 9] + Array("seam".utf8)

        /// Sets an adapter's privacy, for which it is off meanwhile.
        private static func set(_ mode: UInt8, on adapter: KernelAdapter, _ rig: Rig) async throws {
            _ = try await rig.management.succeed(.setPowered, on: adapter, [0])
            _ = try await rig.management.succeed(.setPrivacy, on: adapter, [mode] + key)
            _ = try await rig.management.succeed(.setPowered, on: adapter, [1])
        }

        /// Runs a story with one adapter that hides; afterwards neither does, and no keys are known.
        private static func run(
            _ hidden: @escaping @Sendable (Rig) -> KernelAdapter,
            _ story: @escaping @Sendable (Rig) async throws -> Void
        ) async throws {
            try await Rig.run { rig in
                for adapter in rig.adapters {
                    _ = try await rig.management.succeed(.loadIdentityResolvingKeys, on: adapter, [0, 0])
                }
                try await set(1, on: hidden(rig), rig)
                let result: Result<Void, any Error>
                do { result = .success(try await story(rig)) } catch { result = .failure(error) }
                try await set(0, on: hidden(rig), rig)
                for adapter in rig.adapters {
                    _ = try await rig.management.succeed(.loadIdentityResolvingKeys, on: adapter, [0, 0])
                }
                try result.get()
            }
        }

        /// Whether an address was made with the key (Core Vol 3 Part H §2.2.2).
        private static func isOurs(_ address: BluetoothAddress) -> Bool {
            let cipher = AES128(key: key.reversed().reduce(0) { $0 << 8 | UInt128($1) })
            let hash = UInt64(truncatingIfNeeded: cipher.encrypt(UInt128(address.value >> 24))) & 0xFF_FFFF
            return address.randomKind == .resolvablePrivate && hash == address.value & 0xFF_FFFF
        }

        /// The address that the second adapter advertises with.
        private static func heard(_ rig: Rig) async throws -> BluetoothAddress {
            try await rig.advertise(name)
            let user = try await rig.openHCI(rig.central)
            try await user.startScan(.passive)
            let address = await user.advertiser(of: name)
            try await user.stopScan()
            await rig.kernel.onLoop { user.close() }
            return try #require(address)
        }

        @Test func whatIsAdvertisedShowsAnAddressMadeWithTheKey() async throws {
            try await Self.run(\.peripheral) { rig in
                let first = try await Self.heard(rig)
                #expect(Self.isOurs(first), "\(first)")
                // Another one when the adapter was off.
                _ = try await rig.management.succeed(.setPowered, on: rig.peripheral, [0])
                _ = try await rig.management.succeed(.setPowered, on: rig.peripheral, [1])
                _ = try? await rig.management.succeed(.removeAdvertising, on: rig.peripheral, [0])
                let second = try await Self.heard(rig)
                #expect(Self.isOurs(second) && second != first, "\(second)")
                try await Self.set(0, on: rig.peripheral, rig)
                _ = try? await rig.management.succeed(.removeAdvertising, on: rig.peripheral, [0])
                #expect(try await Self.heard(rig) == rig.peripheral.address)
            }
        }

        @Test func anIdentityIsFoundBehindIt() async throws {
            try await Self.run(\.peripheral) { rig in
                _ = try await rig.management.succeed(
                    .loadIdentityResolvingKeys, on: rig.central,
                    [1, 0] + rig.peripheral.address.managementBytes + Self.key)
                try await rig.advertise(Self.name)
                let listening = try await rig.listen(on: rig.peripheral.address)
                let central = try await rig.connected(from: rig.central.address, to: rig.peripheral.address)
                #expect(await listening.first() != nil)
                let peer = await rig.kernel.onLoop { central.socket.peer }
                #expect(peer == rig.peripheral.address)
            }
        }

        @Test(arguments: [true, false])
        func aCentralConnectsWithOneOfWhichTheKeyTells(_ isKeyKnown: Bool) async throws {
            try await Self.run(\.central) { rig in
                if isKeyKnown {
                    _ = try await rig.management.succeed(
                        .loadIdentityResolvingKeys, on: rig.peripheral,
                        [1, 0] + rig.central.address.managementBytes + Self.key)
                }
                try await rig.advertise(Self.name)
                let listening = try await rig.listen(on: rig.peripheral.address)
                _ = try await rig.connected(from: rig.central.address, to: rig.peripheral.address)
                let accepted = try #require(await listening.first())
                let peer = await rig.kernel.onLoop { accepted.socket.peer }
                #expect(isKeyKnown ? peer == rig.central.address : Self.isOurs(peer), "\(peer)")
            }
        }
    }
}
