import SimulatedKernel
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Who may pair with whom: what a stranger, another program or a worse pairing must not bring about.
@Suite struct PairingTrustTests {
    @Test func aBondThatMadeSureOfTheDeviceIsNotReplacedByOneThatDoesNot() async throws {
        try await PairingRoleTests.run(.displayYesNo, .keyboardDisplay) { scene, central, peripheral in
            #expect(try await central.0.pair(to: .high).isBonded)
            let identity = scene.central.information.address
            try await scene.fixture.settle { await scene.peripheral.bond(with: identity)?.isAuthenticated == true }
            let bond = await scene.peripheral.bond(with: identity)
            await central.0.disconnect()
            try await scene.fixture.settle { scene.kernel.links(adapter: 0).isEmpty }

            // Whoever has the address and no key: nothing to show, nothing to enter.
            try await scene.central.removeBond(with: scene.address)
            try await scene.central.setPairingAgent(JustWorksPairingAgent())
            let impostor = try await scene.connect()
            #expect(await failure { try await impostor.pair() }?.code == .pairingFailed)
            #expect(peripheral.1.asked == ["compare"], "the agent would have said yes")
            #expect(await scene.peripheral.bond(with: identity) == bond)
            try await scene.fixture.settle { scene.kernel.links(adapter: 0).isEmpty }

            // Without the bond it is a device like any other.
            try await scene.peripheral.removeBond(with: identity)
            let again = try await scene.connect()
            #expect(try await again.pair().isBonded)
            await again.disconnect()
        }
    }

    @Test func whileTheUserIsAskedThePeerCannotPairByItself() async throws {
        try await PairingRoleTests.run(.noInputNoOutput, .noInputNoOutput) { scene, central, peripheral in
            let agent = TestAgent(.noInputNoOutput, .sleeps, on: scene.fixture.radio.loop)
            try await scene.central.setPairingAgent(agent)
            await central.0.disconnect()
            try await scene.fixture.settle { scene.kernel.links(adapter: 0).isEmpty }
            let links = try #require(await scene.peripheral.session.acceptedLinks)
            var options = ConnectionOptions(timeout: .seconds(10))
            options.securityPolicy = .ask
            let connection = try await scene.central.connect(to: scene.address, options: options)
            try await scene.fixture.settle { !links.connections.isEmpty }
            let incoming = try #require(links.connections.first)
            let service = try await scene.peripheral.publish([
                GATTService(
                    0xFFE0,
                    characteristics: [
                        GATTCharacteristic(
                            0xFFE1, properties: [.read], permissions: [.read, .readEncrypted], value: .stored([3]))
                    ])
            ])
            let characteristic = try await connection.found(0xFFE1, in: 0xFFE0)
            let reading = scene.fixture.begin { try await connection.read(characteristic) }
            try await scene.fixture.settle { agent.asked == ["confirm own"] }
            let pairing = scene.fixture.begin { try await incoming.pair() }
            try await scene.fixture.settle { agent.asked == ["confirm own", "confirm"] }
            #expect(await failure { _ = try await reading.value } != nil)
            #expect(await failure { _ = try await pairing.value } != nil)
            #expect(await scene.central.bonds().isEmpty)
            withExtendedLifetime(service) {}
        }
    }

    @Test(arguments: [true, false])
    func aProgramThatServesLeavesTheLinksOfOthersToThem(_ isAccepting: Bool) async throws {
        try await SecurityFixture.run { scene in
            let agent = scene.agent(.noInputNoOutput, isAccepting ? .agrees : .refuses)
            try await scene.adapter.setPairingAgent(agent)
            let links = try await scene.adapter.incomingConnections()
            // Another program, with a user of its own.
            scene.peripheral.setSecurity(SimulatedSecurity(ioCapability: .displayYesNo))
            let other = try await Adapter.open(on: scene.fixture.kernel)
            let otherAgent = scene.agent(.displayYesNo)
            try await other.setPairingAgent(otherAgent)
            let connection = try await other.connect(to: scene.peripheral.address)
            #expect(try await connection.pair(to: .high).security.level == .fips)
            #expect(otherAgent.asked == ["compare"])
            #expect(agent.asked.isEmpty)
            try await scene.end(connection)
            await other.close()
            withExtendedLifetime(links) {}
        }
    }

    @Test func aPluggedInAdapterIsToldItsSettingsBeforeAnybodyPairs() async throws {
        for isPowered in [true, false] {
            try await SecurityFixture.run { scene in
                try await scene.adapter.setPairingAgent(scene.agent(.keyboardOnly), secureConnections: .only)
                scene.fixture.kernel.unplug(0)
                try await scene.fixture.settle { scene.adapter.state == .absent }
                #expect(await scene.adapter.session.pairingSettings?.isApplied == false)
                scene.fixture.kernel.plug(
                    SimulatedController(address: scene.adapter.information.publicAddress, isPowered: isPowered))
                let settings = try #require(await scene.adapter.session.pairingSettings).wanted
                try await scene.fixture.settle {
                    await scene.adapter.session.pairingSettings?.state == .applied(settings)
                }
                #expect(settings.secureConnections == .only && settings.ioCapability == .keyboardOnly)
            }
        }
    }

    @Test func settingsThatWereCutShortAreToldAgain() async throws {
        try await SecurityFixture.run { scene in
            try await scene.adapter.setPairingAgent(nil)
            scene.fixture.kernel.setRefusal(.failed, of: .setIOCapability)
            let agent = scene.agent(.keyboardOnly)
            #expect(await failure { try await scene.adapter.setPairingAgent(agent, secureConnections: .off) } != nil)
            #expect(await scene.adapter.session.pairingSettings?.isApplied == false)
            scene.fixture.kernel.setRefusal(nil, of: .setIOCapability)
            let connection = try await scene.connect()
            #expect(try await connection.read(try scene.handle(SecurityFixture.encrypted)).count == 60)
            #expect(try await connection.security().isSecureConnections != false)
            #expect(await scene.adapter.session.pairingSettings?.state == .applied(PairingSettings()))
            try await scene.end(connection)
        }
    }

    @Test func whatACancelledCallHasChangedIsTakenBack() async throws {
        try await SecurityFixture.run { scene in
            try await scene.adapter.setPairingAgent(scene.agent(.keyboardOnly), secureConnections: .only)
            let settings = try #require(await scene.adapter.session.pairingSettings).wanted
            let change = scene.fixture.begin {
                withUnsafeCurrentTask { $0?.cancel() }
                try await scene.adapter.setPairingAgent(nil, secureConnections: .off)
            }
            #expect(await failure { try await change.value }?.code == .cancelled)
            #expect(await scene.adapter.session.pairingSettings?.wanted == settings)
            try await scene.fixture.settle { await scene.adapter.session.pairingSettings?.state == .applied(settings) }
        }
    }

    @Test func aQuestionBeforehandTakesNoLongerThanTheCallerHas() async throws {
        try await SecurityFixture.run { scene in
            try await scene.adapter.setPairingAgent(scene.agent(.noInputNoOutput, .sleeps))
            let connection = try await scene.connect(.ask)
            let handle = try scene.handle(SecurityFixture.encrypted)
            let time = await scene.fixture.duration {
                let error = await failure { _ = try await connection.read(handle, timeout: .seconds(1)) }
                #expect(error?.code == .timedOut)
            }
            #expect(time == .seconds(1))
            // Nor longer than the link.
            let reading = scene.fixture.begin { try await connection.read(handle) }
            try await scene.fixture.radio.sleep(for: .seconds(1))
            let ending = await scene.fixture.duration {
                await connection.disconnect()
                #expect(await failure { _ = try await reading.value }?.code == .disconnected)
            }
            #expect(ending < .seconds(5))
        }
    }
}
