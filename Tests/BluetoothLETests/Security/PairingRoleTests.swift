import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Two machines with an agent each, in both roles.
@Suite struct PairingRoleTests {
    /// The side that begins.
    enum Beginner: CaseIterable, Sendable {
        case central, peripheral
    }

    /// Runs `body` with both ends of a link between two machines and their agents.
    static func run(
        _ central: IOCapability, _ peripheral: IOCapability, _ user: TestAgent.User = .agrees,
        isSecure: Bool = true,
        _ body:
            @escaping @Sendable (PeripheralFixture, (Connection, TestAgent), (Connection, TestAgent)) async throws
            -> Void
    ) async throws {
        try await PeripheralFixture.run { fixture in
            let loop = fixture.base.radio.loop
            let centralAgent = TestAgent(central, on: loop)
            let peripheralAgent = TestAgent(peripheral, user, on: loop)
            try await fixture.central.setPairingAgent(centralAgent, secureConnections: isSecure ? .on : .off)
            try await fixture.peripheral.setPairingAgent(peripheralAgent)
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let advertising = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let links = try await fixture.peripheral.incomingConnections()
            let connection = try await fixture.connect()
            var iterator = links.makeAsyncIterator()
            let incoming = try #require(try await iterator.next())
            try await body(fixture, (connection, centralAgent), (incoming, peripheralAgent))
            await connection.disconnect()
            withExtendedLifetime((published, advertising, links)) {}
        }
    }

    @Test(arguments: Beginner.allCases, [true, false])
    func justWorksIsConfirmedByTheOtherSide(_ beginner: Beginner, _ isSecure: Bool) async throws {
        try await Self.run(.noInputNoOutput, .noInputNoOutput, isSecure: isSecure) { fixture, central, peripheral in
            let outcome =
                beginner == .central ? try await central.0.pair() : try await peripheral.0.pair()
            #expect(outcome.security == LinkSecurity(level: .medium, keySize: 16))
            #expect(outcome.isBonded)
            #expect(try await peripheral.0.security() == outcome.security)
            #expect(central.1.asked == (beginner == .central ? [] : ["confirm"]))
            #expect(peripheral.1.asked == (beginner == .central ? ["confirm"] : []))
            #expect(try await central.0.read(PeripheralFixture.value) == [7])
        }
    }

    @Test func bothSidesCompareTheSameNumber() async throws {
        try await Self.run(.displayYesNo, .keyboardDisplay) { fixture, central, peripheral in
            let outcome = try await central.0.pair(to: .high)
            #expect(outcome.security.level == .fips)
            #expect(central.1.asked == ["compare"] && peripheral.1.asked == ["compare"])
            #expect(central.1.shown == peripheral.1.shown)
            #expect(central.1.shown != nil)
        }
    }

    @Test func aDifferentNumberEndsBothSides() async throws {
        try await Self.run(.displayYesNo, .displayYesNo, .refuses) { fixture, central, peripheral in
            let error = await failure { try await central.0.pair() }
            #expect(error?.pairingFailure == .authenticationFailed)
            #expect(await peripheral.0.disconnected().pairingFailure == .notConfirmed)
            try await fixture.base.settle { await fixture.peripheral.session.pairingQuestions.dialogs.isEmpty }
        }
    }

    @Test func anIncomingPairingIsRefusedWithoutAnAgent() async throws {
        try await Self.run(.noInputNoOutput, .noInputNoOutput) { fixture, central, peripheral in
            try await fixture.peripheral.setPairingAgent(nil)
            let error = await failure { try await central.0.pair() }
            #expect(error?.pairingFailure == .rejected)
            #expect(await peripheral.0.disconnected().pairingFailure == .notConfirmed)
            // The next pairing succeeds.
            try await fixture.peripheral.setPairingAgent(JustWorksPairingAgent())
            try await fixture.base.settle { fixture.kernel.links(adapter: 0).isEmpty }
            let again = try await fixture.connect()
            #expect(try await again.pair().isBonded)
            await again.disconnect()
        }
    }

    @Test func theCentralPairsForEncryptedAttributesAutomatically() async throws {
        try await Self.run(.noInputNoOutput, .noInputNoOutput) { fixture, central, peripheral in
            let services = try await fixture.peripheral.publish([
                GATTService(
                    0xFFE0,
                    characteristics: [
                        GATTCharacteristic(
                            0xFFE1, properties: [.read], permissions: [.read, .readEncrypted], value: .stored([3]))
                    ])
            ])
            let characteristic = try #require(
                try await central.0.discover().characteristic(0xFFE1, in: 0xFFE0))
            #expect(try await central.0.read(characteristic) == [3])
            #expect(peripheral.1.asked == ["confirm"])
            withExtendedLifetime(services) {}
        }
    }

    @Test func severalPairingsAreDistinguished() async throws {
        let security = SimulatedSecurity(ioCapability: .displayOnly, passkey: 123_456)
        try await SecurityFixture.run(security) { fixture in
            let agent = fixture.agent(.keyboardOnly)
            try await fixture.adapter.setPairingAgent(agent)
            let wrong = SimulatedPeripheral(on: fixture.base.radio, gatt: try SimulatedGATTServer([]))
            wrong.setSecurity(SimulatedSecurity(ioCapability: .displayOnly, passkey: 654_321))
            let right = try await fixture.connect()
            let other = try await fixture.adapter.connect(to: wrong.address)
            let pairings = [right, other].map { connection in
                fixture.base.begin { try await connection.pair() }
            }
            #expect(try await pairings[0].value.security.level == .fips)
            let error = await failure { _ = try await pairings[1].value }
            #expect(error?.pairingFailure == .authenticationFailed)
            #expect(agent.asked == ["enter", "enter"])
            #expect(await right.isConnected)
            await right.disconnect()
        }
    }
}
