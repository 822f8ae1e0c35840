import BluetoothLE
import Synchronization
import TestSupport
import Testing

extension Peers {
    /// Pairing with Bumble's peripherals, whose attributes require encryption.
    @Suite struct Pairing {
        private static let receiving: BluetoothUUID = "27ADC9CC-35EB-465A-9154-B8FF9076F3E8"

        /// Writes an attribute that requires encryption, and checks its value.
        private static func use(_ connection: Connection, _ name: String, of fixture: Fixture) async throws {
            let before = try #require(Int(try await fixture.ask("count \(name)")))
            let written = try await connection.discover().flatMap(\.characteristics).first {
                $0.uuid == receiving
            }
            try await connection.write([1, 2, 3], to: try #require(written))
            #expect(try await fixture.ask("count \(name)") == String(before + 3))
        }

        /// Pairs with a device, and checks the result.
        private static func pairs(
            _ name: String, of fixture: Fixture, _ agent: any PairingAgent, to level: SecurityLevel = .medium,
            reaches reached: SecurityLevel, isBonded: Bool = true
        ) async throws {
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect(to: name)
            let outcome = try await connection.pair(to: level)
            #expect(outcome.security == LinkSecurity(level: reached, keySize: 16))
            #expect(outcome.isBonded == isBonded)
            try await use(connection, name, of: fixture)
            await connection.disconnect()
        }

        @Test func withoutAnybodyLooking() async throws {
            try await Fixture.run { fixture in
                try await Self.pairs("just", of: fixture, RefusingPairingAgent(), reaches: .medium)
            }
        }

        @Test func withADeviceThatHasLegacyPairingOnly() async throws {
            try await Fixture.run { fixture in
                try await Self.pairs("legacy", of: fixture, RefusingPairingAgent(), reaches: .medium)
            }
        }

        @Test func withADeviceThatKeepsNoKeys() async throws {
            try await Fixture.run { fixture in
                try await Self.pairs("unbound", of: fixture, RefusingPairingAgent(), reaches: .medium, isBonded: false)
            }
        }

        @Test func whatTheDeviceShowsIsEnteredHere() async throws {
            try await Fixture.run { fixture in
                let agent = FixedPasskeyAgent(try #require(Passkey(42042)))
                try await Self.pairs("shown", of: fixture, agent, to: .high, reaches: .fips)
            }
        }

        @Test func aWrongPasskeyFailsAndTheRightOneWorksAfterIt() async throws {
            try await Fixture.run { fixture in
                try await fixture.adapter.setPairingAgent(FixedPasskeyAgent(try #require(Passkey(70))))
                let connection = try await fixture.connect(to: "old-shown")
                let error = await failure { try await connection.pair(to: .high) }
                #expect(error?.pairingFailure == .authenticationFailed, "\(String(describing: error))")
                await connection.disconnect()
                let agent = FixedPasskeyAgent(try #require(Passkey(7)))
                try await Self.pairs("old-shown", of: fixture, agent, to: .high, reaches: .high)
            }
        }

        @Test func whatIsShownHereIsEnteredAtTheDevice() async throws {
            try await Fixture.run { fixture in
                let agent = ShowingAgent(fixture: fixture, device: "typed")
                try await Self.pairs("typed", of: fixture, agent, to: .high, reaches: .fips)
            }
        }

        @Test func bothShowTheSameNumber() async throws {
            try await Fixture.run { fixture in
                let agent = ComparingAgent(fixture: fixture, device: "numbers")
                try await Self.pairs("numbers", of: fixture, agent, to: .high, reaches: .fips)
                #expect(agent.numbers.withLock { $0.count } == 1)
            }
        }

        @Test func numbersThatDifferAreRefusedAtTheDevice() async throws {
            try await Fixture.run { fixture in
                try await fixture.ask("pairing doubtful no")
                try await fixture.adapter.setPairingAgent(ComparingAgent(fixture: fixture, device: "doubtful"))
                let connection = try await fixture.connect(to: "doubtful")
                let error = await failure { try await connection.pair(to: .high) }
                #expect(error?.code == .pairingFailed)
                await connection.disconnect()
            }
        }

        /// Core Vol 3 Part H §2.4.6; the reasons: §3.5.5.
        @Test func aLinkSurvivesARefusedSecurityRequest() async throws {
            try await Fixture.run { fixture in
                for agent in [nil, RefusingPairingAgent()] as [(any PairingAgent)?] {
                    try await fixture.adapter.setPairingAgent(agent)
                    let connection = try await fixture.connect(to: "doubtful")
                    let reason = try await fixture.ask("pairing doubtful request")
                    // Pairing Not Supported, or Numeric Comparison Failed by the user's negative reply.
                    #expect(["5", "12"].contains(reason), "\(reason)")
                    #expect(try await !connection.discover().isEmpty)
                    #expect(try await connection.security().level == .low)
                    await connection.disconnect()
                }
            }
        }

        @Test func aRequestThatNeedsItPairsByItself() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "reading")
                try await Self.use(connection, "reading", of: fixture)
                #expect(try await connection.security() == LinkSecurity(level: .medium, keySize: 16))
                await connection.disconnect()
            }
        }

        @Test func aRequestThatNeedsItFailsWhereThatIsTheProgramsWish() async throws {
            try await Fixture.run { fixture in
                var options = ConnectionOptions(timeout: .seconds(60))
                options.security.policy = .never
                let connection = try await fixture.connect(to: "again", options: options)
                let error = await failure { try await Self.use(connection, "again", of: fixture) }
                #expect(error?.code == .attributeProtocol, "\(String(describing: error))")
                // And pairing works explicitly, and the next link works without it.
                try await connection.pair()
                try await Self.use(connection, "again", of: fixture)
                await connection.disconnect()
                let next = try await fixture.connect(to: "again")
                #expect(try await next.raiseSecurity(to: .medium) == LinkSecurity(level: .medium, keySize: 16))
                try await Self.use(next, "again", of: fixture)
                await next.disconnect()
            }
        }

        /// Pairs with a device that answers so, which fails, and again when it has changed its mind.
        private static func fails(
            _ name: String, _ answer: String, _ reason: PairingFailure, of fixture: Fixture
        ) async throws {
            try await fixture.ask("pairing \(name) \(answer)")
            let connection = try await fixture.connect(to: name)
            let error = await failure { try await connection.pair() }
            #expect(error?.pairingFailure == reason, "\(String(describing: error))")
            await connection.disconnect()
            try await fixture.ask("pairing \(name) yes")
            try await pairs(name, of: fixture, RefusingPairingAgent(), reaches: .medium)
        }

        @Test func aDeviceThatRefusesSaysSoAndMayChangeItsMind() async throws {
            try await Fixture.run { fixture in
                try await Self.fails("refusing", "no", .rejected, of: fixture)
            }
        }

        @Test(.enabled(if: !Fixture.isLegacy, "half a minute, the same on either chip"))
        func aDeviceThatNeverAnswersIsGivenUpAfterThirtySeconds() async throws {
            try await Fixture.run { fixture in
                try await Self.fails("silent", "never", .timedOut, of: fixture)
            }
        }

        @Test func aPairingThatIsCancelledCanBeBegunAgain() async throws {
            try await Fixture.run { fixture in
                try await fixture.ask("pairing given-up never")
                let connection = try await fixture.connect(to: "given-up")
                let pairing = Task { await failure { try await connection.pair() } }
                // Usually enough to be in progress; cancelling works before that, too.
                try? await Task.sleep(for: .seconds(1))
                pairing.cancel()
                let error = await pairing.value
                #expect(error?.code == .cancelled, "\(String(describing: error))")
                await connection.disconnect()
                try await fixture.ask("pairing given-up yes")
                try await Self.pairs("given-up", of: fixture, RefusingPairingAgent(), reaches: .medium)
            }
        }

        @Test func aBondOutlivesTheProgramThatMadeIt() async throws {
            let bonds = MemoryBondStore()
            try await Fixture.run(bonds: bonds) { fixture in
                try await Self.pairs("kept", of: fixture, RefusingPairingAgent(), reaches: .medium)
                // The device does not pair again.
                try await fixture.ask("pairing kept no")
            }
            // A program without bonds leaves the keys in the kernel.
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "kept")
                await connection.disconnect()
            }
            try await Fixture.run(bonds: bonds) { fixture in
                let connection = try await fixture.connect(to: "kept")
                #expect(try await connection.raiseSecurity(to: .medium) == LinkSecurity(level: .medium, keySize: 16))
                try await Self.use(connection, "kept", of: fixture)
                await connection.disconnect()
            }
        }

        @Test func aDeviceThatHasLostItsKeySaysSo() async throws {
            try await Fixture.run { fixture in
                try await Self.pairs("forgetful", of: fixture, RefusingPairingAgent(), reaches: .medium)
                try await fixture.wait(for: "the end of the link") { try await fixture.links(of: "forgetful") == 0 }
                try await fixture.ask("pairing forgetful forget")
                // The link to a bonded device is encrypted before it can be used.
                let error = await failure { _ = try await fixture.connect(to: "forgetful") }
                #expect(error?.pairingFailure == .keyMissing, "\(String(describing: error))")
            }
        }
    }
}

/// Passes the number it shows to the device's user.
private struct ShowingAgent: PairingAgent {
    let fixture: Fixture
    let device: String
    var ioCapability: IOCapability { .displayOnly }

    func showPasskey(_ passkey: Passkey, enteredCount: Int, _ request: PairingRequest) async throws {
        try await fixture.askAside("pairing \(device) enter \(passkey.digits)")
    }
}

/// Compares the number with the device's.
private final class ComparingAgent: PairingAgent {
    let fixture: Fixture
    let device: String
    let numbers = Mutex<[Passkey]>([])
    var ioCapability: IOCapability { .displayYesNo }

    init(fixture: Fixture, device: String) {
        self.fixture = fixture
        self.device = device
    }

    func compareNumber(_ number: Passkey, _ request: PairingRequest) async throws -> Bool {
        numbers.withLock { $0.append(number) }
        return try await fixture.askAside("pairing \(device) shown") == number.digits
    }
}

extension Peers.Pairing {
    /// Bumble's centrals pair with this machine's server.
    @Suite struct AsPeripheral {
        private static let service = LocalService(
            0xFFF0,
            characteristics: [
                LocalCharacteristic(
                    0xFFF1, properties: [.read, .write], value: [7, 8],
                    permissions: [.read, .write, .readEncrypted, .writeEncrypted])
            ])

        private static func run(
            _ name: String, _ agent: @Sendable (Fixture) throws -> any PairingAgent,
            _ story: @Sendable (Fixture, Connection) async throws -> Void
        ) async throws {
            try await Fixture.run { fixture in
                try await fixture.adapter.removeForeignAdvertising()
                _ = try await fixture.adapter.publish([service])
                try await fixture.adapter.setPairingAgent(agent(fixture))
                let incoming = try await fixture.adapter.incomingConnections()
                let set = try await fixture.adapter.advertise(AdvertisementContent(localName: "machine"))
                try await fixture.beConnected(by: name)
                try await fixture.wait(for: "a central") { !incoming.connections.isEmpty }
                try await story(fixture, try #require(incoming.connections.first))
                await set.close()
            }
        }

        /// The central pairs, and reads the protected value then, and not before.
        private static func pairs(
            _ name: String, reaches level: SecurityLevel, _ agent: @Sendable (Fixture) throws -> any PairingAgent
        ) async throws {
            try await run(name, agent) { fixture, connection in
                try await fixture.ask("call \(name) find")
                await #expect(throws: FixtureError.self) { _ = try await fixture.ask("call \(name) read FFF1") }
                try await fixture.ask("call \(name) pair")
                #expect(try await fixture.ask("call \(name) read FFF1") == "0708")
                #expect(try await connection.security() == LinkSecurity(level: level, keySize: 16))
            }
        }

        @Test func withoutAnybodyLooking() async throws {
            try await Self.pairs("caller", reaches: .medium) { _ in JustWorksPairingAgent() }
        }

        @Test func nobodyPairsUnlessTheProgramSaysSo() async throws {
            try await Self.run("unwelcome", { _ in RefusingPairingAgent() }) { fixture, connection in
                await #expect(throws: FixtureError.self) { _ = try await fixture.ask("call unwelcome pair") }
                let security = try? await connection.security()
                #expect(security?.isEncrypted != true)
            }
        }

        @Test func whatTheCentralShowsIsEnteredHere() async throws {
            try await Self.pairs("caller-shown", reaches: .fips) { _ in
                FixedPasskeyAgent(try #require(Passkey(42042)))
            }
        }

        @Test func whatIsShownHereIsEnteredAtTheCentral() async throws {
            try await Self.pairs("caller-typed", reaches: .fips) { ShowingAgent(fixture: $0, device: "caller-typed") }
        }

        @Test func bothShowTheSameNumber() async throws {
            try await Self.pairs("caller-numbers", reaches: .fips) {
                ComparingAgent(fixture: $0, device: "caller-numbers")
            }
        }

        @Test func aKeyFromBeforeEncryptsWithoutAQuestion() async throws {
            try await Self.run("returning", { _ in JustWorksPairingAgent() }) { fixture, connection in
                try await fixture.ask("call returning pair")
                try await fixture.ask("call returning close")
                _ = await connection.disconnected()
                try await fixture.adapter.setPairingAgent(RefusingPairingAgent())
                try await fixture.beConnected(by: "returning")
                try await fixture.ask("call returning encrypt")
                try await fixture.ask("call returning find")
                #expect(try await fixture.ask("call returning read FFF1") == "0708")
            }
        }
    }
}
