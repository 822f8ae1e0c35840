import SimulatedKernel
import TestSupport
import Testing

@testable import BluetoothLE

/// Raising the protection of a link, by the program and by what the peer demands.
@Suite struct RaisingTests {
    @Test func aLevelIsReachedAndToldAndNotAskedForTwice() async throws {
        try await SecurityFixture.run { scene in
            let connection = try await scene.connect()
            let before = try await connection.security()
            #expect(before == LinkSecurity(level: .low, keySize: 0))
            #expect(!before.isEncrypted && !before.isAuthenticated && before.isSecureConnections == false)
            let reached = try await connection.raiseSecurity(to: .medium)
            #expect(reached == LinkSecurity(level: .medium, keySize: 16))
            #expect(reached.isEncrypted && !reached.isAuthenticated && reached.isSecureConnections == nil)
            let again = try await scene.fixture.duration { try await connection.raiseSecurity(to: .medium) }
            #expect(again == .zero)
            try await scene.end(connection)
            #expect(await failure { try await connection.raiseSecurity(to: .medium) }?.code == .disconnected)
        }
    }

    @Test func connectingWithALevelHandsOverAProtectedLink() async throws {
        try await SecurityFixture.run { scene in
            var options = ConnectionOptions(timeout: .seconds(10))
            options.security = .medium
            let connection = try await scene.adapter.connect(to: scene.peripheral.address, options: options)
            #expect(try await connection.security().level == .medium)
            try await scene.end(connection)
            scene.peripheral.setSecurity(SimulatedSecurity(response: .refuse))
            try await scene.forget()
            options.timeout = .seconds(40)
            let secured = options
            let error = await failure {
                _ = try await scene.adapter.connect(to: scene.peripheral.address, options: secured)
            }
            #expect(error?.code == .pairingFailed)
            #expect(error?.pairingFailure == .rejected)
            try await scene.pairingWorksNow()
        }
    }

    /// A busy kernel refuses for a moment on a link that has just come up.
    @Test func aKernelThatIsNotReadyYetIsAskedAgain() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: try SimulatedGATTServer([]))
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            kernel.refuseToRaise(.max)
            let error = await failure { try await connection.raiseSecurity(to: .medium) }
            #expect(error?.code == .failed)
            #expect(error?.cause == .kernel(KernelError("setsockopt(BT_SECURITY)", .invalidArgument)))
            #expect(try await connection.security().level == .low)
            kernel.refuseToRaise(3)
            var level = SecurityLevel.low
            let time = try await fixture.duration { level = try await connection.raiseSecurity(to: .medium).level }
            #expect(level == .medium)
            #expect(time >= .milliseconds(150) && time < .seconds(2))
            await connection.disconnect()
        }
    }

    @Test func aRefusalForAnotherReasonIsToldAtOnce() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: try SimulatedGATTServer([]))
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            kernel.refuseToRaise(1, with: .outOfMemory)
            let time = await fixture.duration {
                let error = await failure { try await connection.raiseSecurity(to: .medium) }
                #expect(error?.cause == .kernel(KernelError("setsockopt(BT_SECURITY)", .outOfMemory)))
            }
            #expect(time < .milliseconds(50))
            #expect(try await connection.raiseSecurity(to: .medium).level == .medium)
            await connection.disconnect()
        }
    }

    /// What of a peripheral is refused until the link is encrypted.
    enum Access: CaseIterable, Sendable {
        case read, write, longWrite, subscribe, readByUUID
    }

    static func perform(_ access: Access, on connection: Connection, _ scene: SecurityFixture) async throws {
        let handle = try scene.handle(SecurityFixture.encrypted)
        switch access {
        case .read:
            let value = try await connection.read(handle)
            #expect(value == [UInt8](repeating: 7, count: 60))
        case .write: try await connection.write([1], to: handle)
        case .longWrite: try await connection.write([UInt8](repeating: 3, count: 60), to: handle)
        case .subscribe:
            let characteristic = RemoteCharacteristic(
                uuid: SecurityFixture.encrypted, properties: [.notify],
                declarationHandle: AttributeHandle(handle.rawValue - 1), valueHandle: handle,
                endHandle: AttributeHandle(handle.rawValue + 1),
                descriptors: [
                    RemoteDescriptor(
                        uuid: .clientCharacteristicConfiguration, handle: AttributeHandle(handle.rawValue + 1))
                ])
            let values = try await connection.subscribe(to: characteristic)
            await scene.server.notify([5], of: handle)
            for try await value in values {
                #expect(value == [5])
                break
            }
        case .readByUUID:
            let values = try await connection.readValues(of: SecurityFixture.encrypted)
            #expect(values.count == 1)
        }
    }

    @Test(arguments: Access.allCases) func whatThePeerRefusesIsRepeatedOnAnEncryptedLink(_ access: Access) async throws
    {
        try await SecurityFixture.run { scene in
            let connection = try await scene.connect()
            try await Self.perform(access, on: connection, scene)
            #expect(try await connection.security().level == .medium)
            try await scene.end(connection)
            // With the key there is from then on, nobody is asked.
            let again = try await scene.connect()
            try await Self.perform(access, on: again, scene)
            try await scene.end(again)
        }
    }

    @Test(arguments: Access.allCases) func byThePolicyNeverThePeersErrorIsThrown(_ access: Access) async throws {
        try await SecurityFixture.run { scene in
            let connection = try await scene.connect(.never)
            let error = await failure { try await Self.perform(access, on: connection, scene) }
            #expect(error?.cause == .attribute(.insufficientAuthentication))
            #expect(try await connection.security().level == .low)
            try await scene.end(connection)
        }
    }

    @Test func byThePolicyAskTheAgentDecides() async throws {
        for (user, isAllowed) in [(TestAgent.User.agrees, true), (.refuses, false), (.throwsError, false)] {
            try await SecurityFixture.run { scene in
                let agent = scene.agent(.noInputNoOutput, user)
                try await scene.adapter.setPairingAgent(agent)
                let connection = try await scene.connect(.ask)
                let error = await failure { try await Self.perform(.read, on: connection, scene) }
                #expect(agent.asked == ["confirm own"])
                #expect((error == nil) == isAllowed)
                if !isAllowed {
                    #expect(error?.cause == .attribute(.insufficientAuthentication))
                    #expect(error?.pairingFailure == .notConfirmed)
                    // The link goes on.
                    #expect(try await connection.read(try scene.handle(0xFFF4)) == [10])
                }
                try await scene.end(connection)
            }
        }
    }

    @Test func anAgentThatIsAskedFirstAndNeverAnswersCountsAsNo() async throws {
        try await SecurityFixture.run { scene in
            try await scene.adapter.setPairingAgent(scene.agent(.noInputNoOutput, .sleeps))
            let connection = try await scene.connect(.ask)
            let error = await failure { try await Self.perform(.read, on: connection, scene) }
            #expect(error?.pairingFailure == .notConfirmed)
            #expect(await connection.isConnected)
            try await scene.end(connection)
        }
    }

    @Test func requestsMadeAtTheSameTimeShareOneRaise() async throws {
        try await SecurityFixture.run { scene in
            let agent = scene.agent()
            try await scene.adapter.setPairingAgent(agent)
            let connection = try await scene.connect(.ask)
            let handle = try scene.handle(SecurityFixture.encrypted)
            let readers = (0..<10).map { _ in scene.fixture.begin { try await connection.read(handle) } }
            let open = scene.fixture.begin { try await connection.read(try scene.handle(0xFFF4)) }
            for reader in readers { #expect(try await reader.value.count == 60) }
            #expect(try await open.value == [10])
            #expect(agent.asked == ["confirm own"])
            #expect(await connection.core { $0.securityChangeCount } == 1)
            try await scene.end(connection)
        }
    }

    @Test func anAuthenticatedLinkIsMadeWhereTheAgentCan() async throws {
        let security = SimulatedSecurity(ioCapability: .displayOnly, passkey: 4711)
        try await SecurityFixture.run(security) { scene in
            try await scene.adapter.setPairingAgent(FixedPasskeyAgent(try #require(Passkey(4711))))
            let connection = try await scene.connect()
            #expect(try await connection.read(try scene.handle(SecurityFixture.authenticated)) == [8])
            #expect(try await connection.security() == LinkSecurity(level: .fips, keySize: 16))
            #expect(try await connection.security().isSecureConnections == true)
            try await scene.end(connection)
        }
        try await SecurityFixture.run(security) { scene in
            // Encrypted is as far as it gets without.
            let connection = try await scene.connect()
            let handle = try scene.handle(SecurityFixture.authenticated)
            let error = await failure { _ = try await connection.read(handle) }
            #expect(error?.cause == .attribute(.insufficientAuthentication))
            #expect(try await connection.security().level == .medium)
            try await scene.end(connection)
        }
    }

    @Test func authorizationIsNoMatterOfTheLink() async throws {
        try await SecurityFixture.run { scene in
            let connection = try await scene.connect()
            let handle = try scene.handle(0xFFF3)
            let error = await failure { _ = try await connection.read(handle) }
            #expect(error?.cause == .attribute(.insufficientAuthorization))
            #expect(try await connection.security().level == .low)
            try await scene.end(connection)
        }
    }

    @Test func whoCannotAnswerDoesNotBegin() async throws {
        try await SecurityFixture.run { scene in
            scene.fixture.kernel.hasNetAdmin = false
            let connection = try await scene.connect()
            let error = await failure { try await Self.perform(.read, on: connection, scene) }
            #expect(error?.cause == .attribute(.insufficientAuthentication))
            #expect(await connection.isConnected)
            #expect(await failure { try await connection.pair() }?.code == .notPermitted)
            try await scene.end(connection)
        }
    }

    @Test func anEncryptedLinkIsRefusedNothingThatWaitedForIt() async throws {
        try await SecurityFixture.run { scene in
            let connection = try await scene.connect()
            let plain = try scene.handle(0xFFF4)
            // Requests before, during and after: none is lost, none is out of order.
            let before = scene.fixture.begin { try await connection.read(plain) }
            let raise = scene.fixture.begin { try await connection.raiseSecurity(to: .medium) }
            let during = (0..<5).map { _ in scene.fixture.begin { try await connection.read(plain) } }
            #expect(try await before.value == [10])
            for reader in during { #expect(try await reader.value == [10]) }
            #expect(try await raise.value.level == .medium)
            try await scene.end(connection)
        }
    }
}

extension SecurityFixture {
    /// Takes the device's keys out of this machine.
    func forget() async throws {
        try? await adapter.removeBond(with: peripheral.address)
        _ = try? await adapter.sendToManagement(
            .unpairDevice(ManagementAddress(peripheral.address), disconnect: false), to: adapter.information.index)
        await adapter.session.forgetKey(of: peripheral.address)
    }
}
