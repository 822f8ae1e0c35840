import BluetoothLE
import BluetoothSockets
import TestSupport
import Testing

extension Conformance {
    /// Pairings that would replace the bond with a device by less, or by a stranger's, at a server whose user agrees to
    /// everything: Docs/Guide/Protection.md.
    @Suite(.enabled(if: Fixture.runsAboveTheLink)) struct ReplacementStories {
        enum Attack: CaseIterable {
            /// Legacy pairing, against a bond of Secure Connections.
            case legacy
            /// Just Works, against an authenticated bond.
            case justWorks
            /// A stranger under a private address, who distributes the address of the bonded device as its identity.
            case claimedIdentity

            var failure: PairingFailure { self == .claimedIdentity ? .identityClaimed : .keyMissing }
        }

        private struct AgreeingAgent: PairingAgent {
            let ioCapability: BluetoothPrimitives.IOCapability
            func confirmPairing(_ request: PairingRequest) async throws -> Bool { true }
            func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool { true }
        }

        /// A server that has bonded with a program on the central's adapter, which is closed, and what that has stored.
        private struct Machines: Sendable {
            let fixture: Fixture
            let server: Adapter
            let store = MemoryBondStore()

            init(_ fixture: Fixture) async throws {
                self.fixture = fixture
                server = try await Self.open(fixture, fixture.peripheral, MemoryBondStore())
            }

            private static func open(
                _ fixture: Fixture, _ adapter: KernelAdapter, _ store: MemoryBondStore
            ) async throws -> Adapter {
                try await Adapter.open(
                    .address(adapter.address), configuration: .init(bonds: .store(store)), on: fixture.kernel)
            }

            /// Opens the central's adapter with these bonds.
            func openCentral(_ store: MemoryBondStore) async throws -> Adapter {
                try await Self.open(fixture, fixture.central, store)
            }

            /// Connects with security, and waits until both kernels have ended the link: a connect would join it.
            func onLink(
                of adapter: Adapter, _ security: SecurityOptions = SecurityOptions(),
                _ body: (Connection?) async throws -> Void
            ) async throws {
                let (management, code) = (fixture.management, ManagementEvent.deviceDisconnected)
                let before = fixture.adapters.map { management.events(code, of: $0).count }
                let link = try? await adapter.connect(to: fixture.peripheral.address, trying: security)
                try await body(link)
                await link?.disconnect()
                for (adapter, count) in zip(fixture.adapters, before) {
                    #expect(await management.events(code, of: adapter, count: count + 1) != nil)
                }
                await adapter.close()
            }

            /// Bonds; returns the server's bonds.
            func bond(_ agent: AgreeingAgent) async throws -> [Bond] {
                try await server.setPairingAgent(agent)
                let changes = await server.bondChanges()
                let owner = try await openCentral(store)
                try await owner.setPairingAgent(agent)
                try await onLink(of: owner) { link in
                    #expect(try await link?.pair().isBonded == true)
                    for try await change in changes { if change.stored != nil { break } }
                }
                return await server.bonds()
            }

            /// Gives the central's adapter private addresses, or takes them away; powers it off meanwhile.
            func setPrivacy(_ isOn: Bool) async throws {
                let parameters = [isOn ? 1 : 0] + [UInt8](1...16)
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [0])
                _ = try await fixture.management.succeed(.setPrivacy, on: fixture.central, parameters)
                _ = try await fixture.management.succeed(.setPowered, on: fixture.central, [1])
            }
        }

        @Test(arguments: Attack.allCases)
        func aBondIsNotReplacedByLess(_ attack: Attack) async throws {
            try await Fixture.run { fixture in
                let machines = try await Machines(fixture)
                let result: Result<Void, any Error>
                do {
                    let limit = Duration.seconds(90)
                    result = .success(
                        try await withTimeLimit(limit, on: fixture.kernel.loop) { try await story(attack, machines) })
                } catch {
                    result = .failure(error)
                }
                await machines.server.close()
                if attack == .claimedIdentity { try await machines.setPrivacy(false) }
                try result.get()
            }
        }

        private func story(_ attack: Attack, _ machines: Machines) async throws {
            let (server, central) = (machines.server, machines.fixture.central.address)
            let advertising = try await server.advertise(AdvertisementContent(localName: "bonded"))
            let agent = AgreeingAgent(ioCapability: attack == .justWorks ? .displayYesNo : .noInputNoOutput)
            let bonds = try await machines.bond(agent)
            #expect(bonds.map(\.identity) == [central])
            #expect(bonds.map(\.isAuthenticated) == [attack == .justWorks])

            if attack == .claimedIdentity { try await machines.setPrivacy(true) }
            let changes = await server.bondChanges()
            try await machines.fixture.management.loadKeys([], on: machines.fixture.central)
            let attacker = try await machines.openCentral(MemoryBondStore())
            try await attacker.setPairingAgent(nil, secureConnections: attack == .legacy ? .off : .on)
            // The attacker's side may have paired before the server ends the link.
            try await machines.onLink(of: attacker, SecurityOptions(.medium)) { _ in
                for try await change in changes {
                    guard let (bonded, reason) = change.notReplaced else { continue }
                    #expect(bonded == central)
                    #expect(reason.pairingFailure == attack.failure)
                    break
                }
            }
            #expect(await server.bonds() == bonds)

            // The server's kernel has the key of the bond, too.
            if attack == .claimedIdentity { try await machines.setPrivacy(false) }
            let owner = try await machines.openCentral(machines.store)
            try await machines.onLink(of: owner) { link in #expect(await link?.bondProtection == .confirmed) }
            withExtendedLifetime(advertising) {}
        }
    }
}
