import BluetoothLE
import BluetoothSockets
import Synchronization
import TestSupport
import Testing

extension Conformance {
    /// Devices with the address of a bonded one, and programs that share its adapter: Docs/Guide/Protection.md.
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct AttackStories {
        /// Two adapters that have bonded, the second with a service.
        private final class Machines: Sendable {
            let fixture: Fixture
            let central: Adapter
            let server: Adapter
            /// The requests that the server's program has seen.
            let requests = Mutex(0)

            static let value = LocalCharacteristic(0xFFF4, properties: [.read, .write])

            var address: BluetoothAddress { fixture.peripheral.address }
            var requestCount: Int { requests.withLock { $0 } }

            init(_ fixture: Fixture, _ central: Adapter, _ server: Adapter) {
                (self.fixture, self.central, self.server) = (fixture, central, server)
            }

            static func open(_ fixture: Fixture, _ adapter: KernelAdapter) async throws -> Adapter {
                try await Adapter.open(
                    .address(adapter.address), configuration: .init(bonds: .store(MemoryBondStore())),
                    on: fixture.kernel)
            }

            /// Serves the value, and advertises, until the adapter is closed.
            func serve(_ adapter: Adapter) async throws -> AdvertisingSet {
                _ = try await adapter.publish([
                    LocalService(
                        0xFFF0,
                        characteristics: [
                            Self.value.onRead { [weak self] _ in
                                self?.requests.withLock { $0 += 1 }
                                return [7]
                            }
                        ])
                ])
                return try await adapter.advertise(AdvertisementContent(localName: "bonded"))
            }

            /// Connects an adapter to the second one.
            func connect(
                _ adapter: Adapter, _ security: SecurityOptions = SecurityOptions()
            ) async throws -> Connection {
                try await adapter.connect(to: address, trying: security)
            }

            func read(_ connection: Connection) async throws -> [UInt8] {
                let found = try await connection.discover().characteristic(0xFFF4, in: 0xFFF0)
                return try await connection.read(try #require(found))
            }
        }

        private static func run(
            isBondable: Bool = true, _ story: @escaping @Sendable (Machines, AdvertisingSet) async throws -> Void
        ) async throws {
            try await Fixture.run { fixture in
                let machines = Machines(
                    fixture, try await Machines.open(fixture, fixture.central),
                    try await Machines.open(fixture, fixture.peripheral))
                try await machines.central.setPairingAgent(nil, isBondable: isBondable)
                try await machines.server.setPairingAgent(JustWorksPairingAgent(), isBondable: isBondable)
                let advertising = try await machines.serve(machines.server)
                let stored = await machines.server.bondChanges()
                let connection = try await machines.connect(machines.central)
                #expect(try await connection.pair().isBonded == isBondable)
                if isBondable {
                    for try await change in stored { if change.stored != nil { break } }
                }
                await connection.disconnect()
                do {
                    try await story(machines, advertising)
                } catch {
                    await machines.central.close()
                    await machines.server.close()
                    throw error
                }
                await machines.central.close()
                await machines.server.close()
            }
        }

        private static let unencrypted = SecurityOptions(leavesBondedLinksUnencrypted: true)

        @Test func aBondedDeviceIsSpokenToEncrypted() async throws {
            try await Self.run { machines, _ in
                let again = try await machines.connect(machines.central)
                #expect(try await again.security() == LinkSecurity(level: .medium, keySize: 16))
                #expect(await again.bondProtection == .confirmed)
                #expect(try await machines.read(again) == [7])
                await again.disconnect()
            }
        }

        /// BLESA: another device with the address of the bonded one.
        @Test func anImpostorOfADeviceIsToldNothing() async throws {
            try await Self.run { machines, _ in
                let bonds = await machines.central.bonds()
                await machines.server.close()
                try await machines.fixture.management.loadKeys([], on: machines.fixture.peripheral)
                let impostor = try await Machines.open(machines.fixture, machines.fixture.peripheral)
                let advertising = try await machines.serve(impostor)
                let error = await failure { _ = try await machines.connect(machines.central) }
                #expect(error?.code == .pairingFailed && error?.pairingFailure == .keyMissing, "\(error as Any)")
                #expect(machines.requestCount == 0)
                #expect(await machines.central.bonds() == bonds)
                let open = try await machines.connect(machines.central, Self.unencrypted)
                #expect(try await machines.read(open) == [7])
                #expect(await open.bondProtection == .unconfirmed)
                await open.disconnect()
                await impostor.close()
                withExtendedLifetime(advertising) {}
            }
        }

        /// A client with the address of the bonded one pairs again.
        @Test(arguments: [false, true])
        func anImpostorOfAClientReplacesNoBond(_ isPermitted: Bool) async throws {
            try await Self.run { machines, _ in
                let bonds = await machines.server.bonds()
                try await machines.server.setPairingAgent(JustWorksPairingAgent(replacesBonds: isPermitted))
                await machines.central.close()
                let changes = await machines.server.bondChanges()
                try await machines.fixture.management.loadKeys([], on: machines.fixture.central)
                let impostor = try await Machines.open(machines.fixture, machines.fixture.central)
                let error = await failure {
                    let link = try await machines.connect(impostor, SecurityOptions(.medium))
                    await link.disconnect()
                }
                #expect((error == nil) == isPermitted, "\(error as Any)")
                for try await change in changes {
                    if change.notReplaced != nil, !isPermitted { break }
                    if let bond = change.stored, isPermitted, bond != bonds.first { break }
                }
                #expect((await machines.server.bonds() == bonds) == !isPermitted)
                await impostor.close()
            }
        }

        /// A program with other bonds replaces the kernel's keys.
        @Test func keysThatANeighbourHasDeletedAreLoadedAgain() async throws {
            try await Self.run { machines, _ in
                let management = machines.fixture.management
                let asked = management.events(ManagementEvent.userConfirmationRequest, of: machines.fixture.central)
                try await management.loadKeys([], on: machines.fixture.central)
                let keys = await machines.central.bonds().map(\.level)
                let again = try await machines.connect(machines.central)
                #expect(await again.bondProtection == .confirmed)
                #expect(await machines.central.bonds().map(\.level) == keys)
                // They were loaded before the link: there was nothing to ask.
                let now = management.events(ManagementEvent.userConfirmationRequest, of: machines.fixture.central)
                #expect(now.count == asked.count)
                await again.disconnect()
            }
        }

        @Test func pairingWithoutBondingLeavesNoKey() async throws {
            try await Self.run(isBondable: false) { machines, _ in
                let next = try await machines.connect(machines.central)
                #expect(try await next.security().level == .low)
                #expect(await next.bondProtection == .none)
                #expect(try await !next.pair().isBonded)
                await next.disconnect()
            }
        }
    }
}

extension Adapter {
    /// Connects to a device. An attempt that meets the restart of its advertising is refused by some controllers, and
    /// remains in the kernel: it is repeated.
    func connect(to address: BluetoothAddress, trying security: SecurityOptions) async throws -> Connection {
        let options = ConnectionOptions(timeout: .seconds(8), security: security)
        for _ in 1...4 {
            do throws(BluetoothError) {
                return try await connect(to: address, options: options)
            } catch {
                guard error.code == .timedOut else { throw error }
            }
        }
        return try await connect(to: address, options: options)
    }
}
