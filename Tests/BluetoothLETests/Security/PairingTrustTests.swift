import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// The limits of trust: pairings by a stranger, by another program or with a weaker key that must be refused.
@Suite struct PairingTrustTests {
    @Test func anAuthenticatedBondIsNotReplacedByAnUnauthenticatedOne() async throws {
        try await PairingRoleTests.run(.displayYesNo, .keyboardDisplay) { fixture, central, peripheral in
            #expect(try await central.0.pair(to: .high).isBonded)
            let identity = fixture.central.information.address
            try await fixture.base.settle { await fixture.peripheral.bond(with: identity)?.isAuthenticated == true }
            let bond = await fixture.peripheral.bond(with: identity)
            await central.0.disconnect()
            try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }

            // A device with the address but no key and no input or output.
            try await fixture.central.removeBond(with: fixture.address)
            try await fixture.central.setPairingAgent(JustWorksPairingAgent())
            let impostor = try await fixture.connect()
            #expect(await failure { try await impostor.pair() }?.code == .pairingFailed)
            #expect(peripheral.1.asked == ["compare"], "the agent would have said yes")
            #expect(await fixture.peripheral.bond(with: identity) == bond)
            try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }

            // Without the bond it is an ordinary device.
            try await fixture.peripheral.removeBond(with: identity)
            let again = try await fixture.connect()
            #expect(try await again.pair().isBonded)
            await again.disconnect()
        }
    }

    @Test("a simulated device distinguishes bonded centrals", arguments: [true, false])
    func aSimulatedDevice(_ storesKeys: Bool) async throws {
        var security = SimulatedSecurity(ioCapability: .displayOnly, passkey: 123_456)
        security.storesKeys = storesKeys
        try await SecurityFixture.run(security) { fixture in
            try await fixture.adapter.setPairingAgent(fixture.agent(.keyboardOnly))
            let connection = try await fixture.connect()
            #expect(try await connection.pair(to: .high).isBonded == storesKeys)
            let value = try fixture.handle(0xFFF5)
            let error = await failure {
                let bytes = try await connection.read(value)
                #expect(bytes == [11])
            }
            #expect(error?.cause == (storesKeys ? nil : .attribute(.insufficientAuthorization)))
            try await fixture.end(connection)
        }
    }

    @Test func thePeerCannotPairWhileTheUserIsAsked() async throws {
        try await PairingRoleTests.run(.noInputNoOutput, .noInputNoOutput) { fixture, central, peripheral in
            let agent = TestAgent(.noInputNoOutput, .sleeps, on: fixture.base.radio.loop)
            try await fixture.central.setPairingAgent(agent)
            await central.0.disconnect()
            try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }
            let links = try #require(await fixture.peripheral.session.acceptedLinks)
            var options = ConnectionOptions(timeout: .seconds(10))
            options.security.policy = .ask
            let connection = try await fixture.central.connect(to: fixture.address, options: options)
            try await fixture.base.settle { !links.connections.isEmpty }
            let incoming = try #require(links.connections.first)
            let service = try await fixture.peripheral.publish([
                GATTService(
                    0xFFE0,
                    characteristics: [
                        GATTCharacteristic(
                            0xFFE1, properties: [.read], permissions: [.read, .readEncrypted], value: .stored([3]))
                    ])
            ])
            let characteristic = try await connection.found(0xFFE1, in: 0xFFE0)
            let reading = fixture.base.begin { try await connection.read(characteristic) }
            try await fixture.base.settle { agent.asked == ["confirm own"] }
            let pairing = fixture.base.begin { try await incoming.pair() }
            try await fixture.base.settle { agent.asked == ["confirm own", "confirm"] }
            #expect(await failure { _ = try await reading.value } != nil)
            #expect(await failure { _ = try await pairing.value } != nil)
            #expect(await fixture.central.bonds().isEmpty)
            withExtendedLifetime(service) {}
        }
    }

    @Test(arguments: [true, false])
    func aServingProgramIgnoresTheLinksOfOthers(_ isAccepting: Bool) async throws {
        try await SecurityFixture.run { fixture in
            let agent = fixture.agent(.noInputNoOutput, isAccepting ? .agrees : .refuses)
            try await fixture.adapter.setPairingAgent(agent)
            let links = try await fixture.adapter.incomingConnections()
            // Another program, with a user of its own.
            fixture.peripheral.setSecurity(SimulatedSecurity(ioCapability: .displayYesNo))
            let other = try await Adapter.open(on: fixture.base.kernel)
            let otherAgent = fixture.agent(.displayYesNo)
            try await other.setPairingAgent(otherAgent)
            let connection = try await other.connect(to: fixture.peripheral.address)
            #expect(try await connection.pair(to: .high).security.level == .fips)
            #expect(otherAgent.asked == ["compare"])
            #expect(agent.asked.isEmpty)
            try await fixture.end(connection)
            await other.close()
            withExtendedLifetime(links) {}
        }
    }

    @Test func anAddedAdapterGetsItsSettingsBeforeAnyPairing() async throws {
        for isPowered in [true, false] {
            try await SecurityFixture.run { fixture in
                try await fixture.adapter.setPairingAgent(fixture.agent(.keyboardOnly), secureConnections: .only)
                // Centrals may pair as soon as it is back.
                let links = try await fixture.adapter.incomingConnections()
                fixture.base.kernel.unplug(0)
                try await fixture.base.settle { fixture.adapter.state == .absent }
                #expect(await fixture.adapter.session.pairingSettings?.isApplied == false)
                fixture.base.kernel.plug(
                    SimulatedController(address: fixture.adapter.information.publicAddress, isPowered: isPowered))
                let settings = try #require(await fixture.adapter.session.pairingSettings).wanted
                try await fixture.base.settle {
                    await fixture.adapter.session.pairingSettings?.state == .applied(settings)
                }
                #expect(settings.secureConnections == .only && settings.ioCapability == .keyboardOnly)
                withExtendedLifetime(links) {}
            }
        }
    }

    @Test func interruptedSettingsAreSentAgain() async throws {
        try await SecurityFixture.run { fixture in
            try await fixture.adapter.setPairingAgent(JustWorksPairingAgent())
            let connection = try await fixture.connect()
            fixture.base.kernel.setRefusal(.failed, of: .setIOCapability)
            let agent = fixture.agent(.keyboardOnly)
            #expect(await failure { try await fixture.adapter.setPairingAgent(agent, secureConnections: .off) } != nil)
            #expect(await fixture.adapter.session.pairingSettings?.isApplied == false)
            fixture.base.kernel.setRefusal(nil, of: .setIOCapability)
            #expect(try await connection.read(try fixture.handle(SecurityFixture.encrypted)).count == 60)
            #expect(try await connection.security().isSecureConnections != false)
            #expect(await fixture.adapter.session.pairingSettings?.state == .applied(PairingSettings()))
            try await fixture.end(connection)
        }
    }

    @Test func theChangesOfACancelledCallAreUndone() async throws {
        try await SecurityFixture.run { fixture in
            try await fixture.adapter.setPairingAgent(fixture.agent(.keyboardOnly), secureConnections: .only)
            let settings = try #require(await fixture.adapter.session.pairingSettings).wanted
            let connection = try await fixture.connect()
            let change = fixture.base.begin {
                withUnsafeCurrentTask { $0?.cancel() }
                try await fixture.adapter.setPairingAgent(nil, secureConnections: .off)
            }
            #expect(await failure { try await change.value }?.code == .cancelled)
            #expect(await fixture.adapter.session.pairingSettings?.wanted == settings)
            try await fixture.base.settle { await fixture.adapter.session.pairingSettings?.state == .applied(settings) }
            try await fixture.end(connection)
        }
    }

    // MARK: Several programs

    /// The settings that an adapter has now.
    private static func settings(_ fixture: SecurityFixture) -> AdapterFeatures {
        fixture.adapter.information.activeFeatures.intersection([.bondable, .secureConnections])
    }

    @Test func theSettingsAreThoseOfTheLinksAndRestoredAfterThem() async throws {
        try await SecurityFixture.run { fixture in
            let before = Self.settings(fixture)
            try await fixture.adapter.setPairingAgent(JustWorksPairingAgent())
            #expect(Self.settings(fixture) == before)
            let connection = try await fixture.connect()
            #expect(Self.settings(fixture) == [.bondable, .secureConnections])
            #expect(try await connection.pair().isBonded)
            try await fixture.end(connection)
            try await fixture.base.settle { Self.settings(fixture) == before }
        }
    }

    @Test func anAttemptThatEndsLeavesTheSettingsToTheOthers() async throws {
        try await SecurityFixture.run { fixture in
            let before = Self.settings(fixture)
            try await fixture.adapter.setPairingAgent(JustWorksPairingAgent())
            let absent = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
            let waiting = fixture.base.begin {
                try await fixture.adapter.connect(to: absent, options: ConnectionOptions(timeout: .seconds(20)))
            }
            let link = try await fixture.connect()
            try await fixture.end(link)
            try await fixture.base.radio.sleep(for: .seconds(1))
            #expect(Self.settings(fixture) == [.bondable, .secureConnections])
            #expect(await failure { _ = try await waiting.value } != nil)
            try await fixture.base.settle { Self.settings(fixture) == before }
        }
    }

    /// Another program has set its IO capability, which the next link begins with.
    @Test func aServerKeepsItsSettingsBesideAnotherProgram() async throws {
        try await PairingRoleTests.run(.keyboardOnly, .displayOnly) { fixture, central, peripheral in
            await central.0.disconnect()
            try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }
            try await fixture.peripheral.setPairingAgent(FixedPasskeyAgent(try #require(Passkey(123_456))))
            let other = try await Adapter.open(
                .address(fixture.address), configuration: .init(bonds: .store(MemoryBondStore())), on: fixture.kernel)
            try await other.sendToManagement(
                ManagementSetIOCapability(.noInputNoOutput), to: other.information.index)
            try await fixture.central.setPairingAgent(FixedPasskeyAgent(try #require(Passkey(123_456))))
            // The first link begins with the other program's: what is less than a number is refused.
            let first = try await fixture.connect()
            #expect(await failure { _ = try await first.pair() } != nil)
            #expect(await fixture.peripheral.bonds().isEmpty)
            try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }
            let second = try await fixture.connect()
            #expect(try await second.pair(to: .high).security.isAuthenticated)
            await second.disconnect()
            await other.close()
        }
    }

    @Test func theFirstQuestionRespectsTheCallersTimeLimit() async throws {
        try await SecurityFixture.run { fixture in
            try await fixture.adapter.setPairingAgent(fixture.agent(.noInputNoOutput, .sleeps))
            let connection = try await fixture.connect(.ask)
            let handle = try fixture.handle(SecurityFixture.encrypted)
            let time = await fixture.base.duration {
                let error = await failure { _ = try await connection.read(handle, timeout: .seconds(1)) }
                #expect(error?.code == .timedOut)
            }
            #expect(time == .seconds(1))
            // Nor beyond the link.
            let reading = fixture.base.begin { try await connection.read(handle) }
            try await fixture.base.radio.sleep(for: .seconds(1))
            let ending = await fixture.base.duration {
                await connection.disconnect()
                #expect(await failure { _ = try await reading.value }?.code == .disconnected)
            }
            #expect(ending < .seconds(5))
        }
    }
}
