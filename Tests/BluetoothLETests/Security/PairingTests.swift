import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Pairing as central with a device: each association model and each failure.
@Suite struct PairingTests {
    /// The capabilities of two devices, and the resulting pairing.
    struct Model: Sendable, CustomTestStringConvertible {
        var ours: IOCapability
        var theirs: IOCapability
        var isSecure = true
        /// The questions to the agent.
        var asked: [String]
        var level: SecurityLevel

        var testDescription: String { "\(ours) with \(theirs), \(isSecure ? "Secure Connections" : "legacy")" }
    }

    static let models: [Model] = [
        Model(ours: .noInputNoOutput, theirs: .noInputNoOutput, asked: [], level: .medium),
        Model(ours: .noInputNoOutput, theirs: .displayYesNo, asked: [], level: .medium),
        Model(ours: .displayYesNo, theirs: .noInputNoOutput, asked: [], level: .medium),
        Model(ours: .displayYesNo, theirs: .displayYesNo, asked: ["compare"], level: .fips),
        Model(ours: .displayYesNo, theirs: .keyboardDisplay, asked: ["compare"], level: .fips),
        Model(ours: .displayYesNo, theirs: .keyboardOnly, asked: ["show"], level: .fips),
        Model(ours: .displayOnly, theirs: .keyboardOnly, asked: ["show"], level: .fips),
        Model(ours: .keyboardOnly, theirs: .displayOnly, asked: ["enter"], level: .fips),
        Model(ours: .keyboardOnly, theirs: .keyboardOnly, asked: ["enter"], level: .fips),
        Model(ours: .keyboardDisplay, theirs: .displayOnly, asked: ["enter"], level: .fips),
        Model(ours: .noInputNoOutput, theirs: .noInputNoOutput, isSecure: false, asked: [], level: .medium),
        Model(ours: .displayOnly, theirs: .keyboardOnly, isSecure: false, asked: ["show"], level: .high),
        Model(ours: .keyboardOnly, theirs: .displayOnly, isSecure: false, asked: ["enter"], level: .high),
        Model(ours: .displayYesNo, theirs: .displayYesNo, isSecure: false, asked: [], level: .medium),
    ]

    /// Another program has ended the link, whose reason is not known yet when the device is connected to and paired
    /// with again.
    @Test func aPairingBelongsToTheNewLink() async throws {
        try await SecurityFixture.run(SimulatedSecurity()) { fixture in
            let agent = fixture.agent()
            try await fixture.adapter.setPairingAgent(agent)
            let former = try await fixture.connect()
            fixture.peripheral.breakLinks(reason: .connectionTerminatedByLocalHost)
            try await fixture.base.radio.sleep(for: .seconds(1))
            #expect(await former.isConnected)
            let connection = try await fixture.connect()
            #expect(try await connection.pair().isBonded)
            // The pairing is this program's own, so the agent is not asked.
            #expect(agent.asked == [])
            #expect(await former.disconnected().disconnectReason == .localHost)
            try await fixture.end(connection)
        }
    }

    @Test(arguments: models) func eachAssociationModelIsUsed(_ model: Model) async throws {
        let security = SimulatedSecurity(
            ioCapability: model.theirs, hasSecureConnections: model.isSecure, passkey: 4711)
        try await SecurityFixture.run(security) { fixture in
            let agent = fixture.agent(
                model.ours, model.theirs == .displayOnly ? .types(4711) : .types(security.passkey))
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect()
            let outcome = try await connection.pair()
            #expect(outcome == PairingOutcome(security: LinkSecurity(level: model.level, keySize: 16), isBonded: true))
            #expect(agent.asked == model.asked)
            try await fixture.base.settle { await fixture.adapter.session.pairingQuestions.dialogs.isEmpty }
            // The number is removed when it is no longer needed.
            if model.asked == ["show"] { try await fixture.base.settle { agent.cancelled == 1 } }
            #expect(try await connection.read(try fixture.handle(SecurityFixture.encrypted)).count == 60)
            try await fixture.end(connection)
            // The next link needs no pairing.
            let again = try await fixture.connect()
            let kept = try await again.pair()
            #expect(kept.isBonded)
            #expect(agent.asked == model.asked)
            try await fixture.end(again)
        }
    }

    @Test func withoutBondingNoKeyIsStored() async throws {
        for isBondable in [true, false] {
            let security = SimulatedSecurity(storesKeys: !isBondable)
            try await SecurityFixture.run(security) { fixture in
                try await fixture.adapter.setPairingAgent(nil, isBondable: isBondable)
                let connection = try await fixture.connect()
                let outcome = try await connection.pair()
                #expect(outcome.security.level == .medium)
                #expect(!outcome.isBonded)
                try await fixture.end(connection)
            }
        }
    }

    /// A link that was encrypted without a bond before is not waited for a key.
    @Test func anEncryptedLinkWithoutABondIsAnsweredAtOnce() async throws {
        try await SecurityFixture.run(SimulatedSecurity(storesKeys: false)) { fixture in
            try await fixture.adapter.setPairingAgent(nil)
            let connection = try await fixture.connect()
            _ = try await connection.read(try fixture.handle(SecurityFixture.encrypted))
            let start = fixture.base.radio.now
            let outcome = try await connection.pair()
            #expect(outcome.security.level == .medium)
            #expect(!outcome.isBonded)
            #expect(start.duration(to: fixture.base.radio.now) < .seconds(1))
            try await fixture.end(connection)
        }
    }

    @Test func secureConnectionsCanBeRequired() async throws {
        try await SecurityFixture.run(SimulatedSecurity(hasSecureConnections: false)) { fixture in
            try await fixture.adapter.setPairingAgent(nil, secureConnections: .only)
            let connection = try await fixture.connect()
            #expect(await failure { try await connection.pair() }?.code == .pairingFailed)
            try await fixture.pairingWorksNow()
        }
    }

    // MARK: Failures

    /// A failure of pairing, and its error.
    struct Mishap: Sendable, CustomTestStringConvertible {
        var name: String
        var security = SimulatedSecurity()
        var user = SimulatedSecurity.User.agrees
        var capability = IOCapability.noInputNoOutput
        var agent = TestAgent.User.agrees
        var level = SecurityLevel.medium
        var failure: PairingFailure

        var testDescription: String { name }
    }

    static let mishaps: [Mishap] = [
        Mishap(name: "the peer refuses", security: SimulatedSecurity(response: .refuse), failure: .rejected),
        Mishap(name: "the peer is silent", security: SimulatedSecurity(response: .silence), failure: .timedOut),
        Mishap(name: "the peer's user says no", user: .refuses, failure: .rejected),
        Mishap(name: "the peer's user is absent", user: .isAbsent, failure: .timedOut),
        Mishap(
            name: "wrong passkey there", security: SimulatedSecurity(ioCapability: .keyboardOnly), user: .mistypes,
            capability: .displayOnly, failure: .authenticationFailed),
        Mishap(
            name: "wrong passkey here", security: SimulatedSecurity(ioCapability: .displayOnly, passkey: 1),
            capability: .keyboardOnly, agent: .types(2), failure: .authenticationFailed),
        Mishap(
            name: "no passkey here", security: SimulatedSecurity(ioCapability: .displayOnly),
            capability: .keyboardOnly, agent: .refuses, failure: .notConfirmed),
        Mishap(
            name: "the agent throws", security: SimulatedSecurity(ioCapability: .displayOnly),
            capability: .keyboardOnly, agent: .throwsError, failure: .notConfirmed),
        Mishap(
            name: "the agent never answers", security: SimulatedSecurity(ioCapability: .displayOnly),
            capability: .keyboardOnly, agent: .sleeps, failure: .notConfirmed),
        Mishap(
            name: "the numbers differ here", security: SimulatedSecurity(ioCapability: .displayYesNo),
            capability: .displayYesNo, agent: .refuses, failure: .notConfirmed),
        Mishap(
            name: "the numbers differ there", security: SimulatedSecurity(ioCapability: .displayYesNo),
            user: .refuses, capability: .displayYesNo, failure: .authenticationFailed),
        Mishap(
            name: "not good enough there", capability: .displayYesNo, level: .high, failure: .rejected),
    ]

    @Test(arguments: mishaps) func eachFailureIsReportedAndTheNextPairingSucceeds(_ mishap: Mishap) async throws {
        var security = mishap.security
        security.user = mishap.user
        let prepared = security
        try await SecurityFixture.run(prepared) { fixture in
            let agent = fixture.agent(mishap.capability, mishap.agent)
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect()
            let error = await failure { try await connection.pair(to: mishap.level) }
            #expect(error?.code == .pairingFailed)
            #expect(error?.pairingFailure == mishap.failure)
            let end = await connection.disconnected()
            #expect(end.code == .disconnected)
            #expect(end.pairingFailure == mishap.failure)
            let isEmpty = await fixture.adapter.session.pairingQuestions.dialogs.isEmpty
            #expect(isEmpty)
            if case .sleeps = mishap.agent { try await fixture.base.settle { agent.cancelled == 1 } }
            try await fixture.base.settle { await fixture.adapter.session.pairingQuestions.calls.isEmpty }
            try await fixture.pairingWorksNow()
        }
    }

    @Test func unreachableLevelsAreNotTried() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            #expect(await failure { try await connection.pair(to: .high) }?.pairingFailure == .insufficientLevel)
            #expect(await failure { try await connection.pair(to: .low) }?.code == .invalidArgument)
            #expect(await connection.isConnected)
            #expect(try await connection.pair().isBonded)
            try await fixture.end(connection)
        }
    }

    @Test("any reason of the controller for its own disconnection", arguments: [false, true])
    func aPeerThatHasLostItsBondIsDetected(_ reportsLocalDisconnects: Bool) async throws {
        var controller = SimulatedController()
        controller.reportsLocalDisconnects = reportsLocalDisconnects
        try await SecurityFixture.run(on: controller) { fixture in
            let connection = try await fixture.connect()
            try await connection.pair()
            try await fixture.end(connection)
            fixture.peripheral.forgetBonds()
            let first = await failure { _ = try await fixture.connect() }
            #expect(first?.pairingFailure == .keyMissing)
            let again = try await fixture.adapter.connect(to: fixture.peripheral.address, options: .unencrypted)
            let error = await failure { try await again.pair() }
            #expect(error?.pairingFailure == .keyMissing)
            try await fixture.forget()
            try await fixture.pairingWorksNow()
        }
    }

    @Test func besideTheDaemonPairingIsLeftToIt() async throws {
        try await SecurityFixture.run { fixture in
            fixture.base.kernel.isBluetoothDaemonRunning = true
            let connection = try await fixture.connect()
            let error = await failure { try await connection.pair() }
            #expect(error?.pairingFailure == .ownedByDaemon)
            #expect(error?.remedy?.contains("systemctl stop bluetooth") == true)
            let agent = fixture.agent()
            let refusal = await failure { try await fixture.adapter.setPairingAgent(agent) }
            #expect(refusal?.pairingFailure == .ownedByDaemon)
            // Its questions are not answered here.
            fixture.peripheral.requestSecurity()
            try await fixture.base.radio.sleep(for: .seconds(5))
            #expect(agent.asked.isEmpty)
            #expect(await fixture.adapter.session.pairingQuestions.dialogs.isEmpty)
            #expect(await connection.isConnected)
            fixture.base.kernel.isBluetoothDaemonRunning = false
            try await fixture.end(connection)
            try await fixture.pairingWorksNow()
        }
    }

    // MARK: Pairings begun by the device

    @Test func theAgentDecidesAboutADevicesPairing() async throws {
        for (user, isAllowed) in [(TestAgent.User.agrees, true), (.refuses, false), (.sleeps, false)] {
            try await SecurityFixture.run { fixture in
                let agent = fixture.agent(.noInputNoOutput, user)
                try await fixture.adapter.setPairingAgent(agent)
                let connection = try await fixture.connect()
                fixture.peripheral.requestSecurity()
                try await fixture.base.settle { agent.asked == ["confirm"] }
                if isAllowed {
                    try await fixture.base.settle { (try? await connection.security().level) == .medium }
                } else {
                    try await fixture.remainsUsable(connection)
                }
                #expect(await connection.isConnected)
                try await fixture.end(connection)
                try await fixture.pairingWorksNow()
            }
        }
    }

    @Test func withoutAnAgentADeviceCannotPair() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            fixture.peripheral.requestSecurity()
            try await fixture.remainsUsable(connection)
            try await fixture.end(connection)
            try await fixture.pairingWorksNow()
        }
    }

    @Test(arguments: [true, false]) func withoutBondingADeviceCannotBond(_ bonds: Bool) async throws {
        try await SecurityFixture.run { fixture in
            let agent = fixture.agent()
            try await fixture.adapter.setPairingAgent(agent, isBondable: false)
            fixture.peripheral.setSecurity(SimulatedSecurity(storesKeys: bonds))
            let connection = try await fixture.connect()
            fixture.peripheral.requestSecurity()
            if bonds {
                try await fixture.remainsUsable(connection)
                #expect(agent.asked.isEmpty)
            } else {
                // It pairs with one that does not ask for that.
                try await fixture.base.settle { (try? await connection.security().level) == .medium }
            }
            try await fixture.end(connection)
        }
    }

    // MARK: Secrets

    @Test func passkeysAreNotPrinted() throws {
        let passkey = try #require(Passkey(digits: "012 345"))
        #expect(passkey.value == 12345)
        #expect(passkey.digits == "012345")
        for text in ["\(passkey)", String(reflecting: passkey), "\([passkey])", "\(PairingQuestion.compare(passkey))"] {
            #expect(!text.contains("12345"))
        }
        var dumped = ""
        dump(passkey, to: &dumped)
        #expect(!dumped.contains("12345"))
        #expect(Passkey(1_000_000) == nil)
        for wrong in ["", "1234567", "12a", "-1"] { #expect(Passkey(digits: wrong) == nil) }
    }
}
