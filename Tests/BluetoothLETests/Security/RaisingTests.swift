import BluetoothManagement
import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Raising the security of a link, by the program and after refusals of the peer.
@Suite struct RaisingTests {
    @Test func aLevelIsReachedAndReportedAndNotRequestedTwice() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            let before = try await connection.security()
            #expect(before == LinkSecurity(level: .low, keySize: 0))
            #expect(!before.isEncrypted && !before.isAuthenticated && before.isSecureConnections == false)
            let reached = try await connection.raiseSecurity(to: .medium)
            #expect(reached == LinkSecurity(level: .medium, keySize: 16))
            #expect(reached.isEncrypted && !reached.isAuthenticated && reached.isSecureConnections == nil)
            let again = try await fixture.base.duration { try await connection.raiseSecurity(to: .medium) }
            #expect(again == .zero)
            try await fixture.end(connection)
            #expect(await failure { try await connection.raiseSecurity(to: .medium) }?.code == .disconnected)
        }
    }

    @Test func connectingWithALevelReturnsAnEncryptedLink() async throws {
        try await SecurityFixture.run { fixture in
            var options = ConnectionOptions(timeout: .seconds(10))
            options.security.level = .medium
            let connection = try await fixture.adapter.connect(to: fixture.peripheral.address, options: options)
            #expect(try await connection.security().level == .medium)
            try await fixture.end(connection)
            fixture.peripheral.setSecurity(SimulatedSecurity(response: .refuse))
            try await fixture.forget()
            options.timeout = .seconds(40)
            let secured = options
            let error = await failure {
                _ = try await fixture.adapter.connect(to: fixture.peripheral.address, options: secured)
            }
            #expect(error?.code == .pairingFailed)
            #expect(error?.pairingFailure == .rejected)
            try await fixture.pairingWorksNow()
        }
    }

    /// The kernel refuses for a moment on a link that has just been established.
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

    @Test func aRefusalForAnotherReasonIsReportedAtOnce() async throws {
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

    /// The accesses that a peripheral refuses until the link is encrypted.
    enum Access: CaseIterable, Sendable {
        case read, write, longWrite, subscribe, readByUUID
    }

    static func perform(_ access: Access, on connection: Connection, _ fixture: SecurityFixture) async throws {
        let handle = try fixture.handle(SecurityFixture.encrypted)
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
            await fixture.server.notify([5], of: handle)
            for try await value in values {
                #expect(value == [5])
                break
            }
        case .readByUUID:
            let values = try await connection.readValues(of: SecurityFixture.encrypted)
            #expect(values.count == 1)
        }
    }

    @Test(arguments: Access.allCases) func refusedRequestsAreRepeatedOnAnEncryptedLink(_ access: Access) async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            try await Self.perform(access, on: connection, fixture)
            #expect(try await connection.security().level == .medium)
            try await fixture.end(connection)
            // With the new key the agent is not asked.
            let again = try await fixture.connect()
            try await Self.perform(access, on: again, fixture)
            try await fixture.end(again)
        }
    }

    @Test(arguments: Access.allCases) func byThePolicyNeverThePeersErrorIsThrown(_ access: Access) async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect(.never)
            let error = await failure { try await Self.perform(access, on: connection, fixture) }
            #expect(error?.cause == .attribute(.insufficientAuthentication))
            #expect(try await connection.security().level == .low)
            try await fixture.end(connection)
        }
    }

    @Test func byThePolicyAskTheAgentDecides() async throws {
        for (user, isAllowed) in [(TestAgent.User.agrees, true), (.refuses, false), (.throwsError, false)] {
            try await SecurityFixture.run { fixture in
                let agent = fixture.agent(.noInputNoOutput, user)
                try await fixture.adapter.setPairingAgent(agent)
                let connection = try await fixture.connect(.ask)
                let error = await failure { try await Self.perform(.read, on: connection, fixture) }
                #expect(agent.asked == ["confirm own"])
                #expect((error == nil) == isAllowed)
                if !isAllowed {
                    #expect(error?.cause == .attribute(.insufficientAuthentication))
                    #expect(error?.pairingFailure == .notConfirmed)
                    // The link remains usable.
                    #expect(try await connection.read(try fixture.handle(0xFFF4)) == [10])
                }
                try await fixture.end(connection)
            }
        }
    }

    @Test func anAgentThatNeverAnswersCountsAsNo() async throws {
        try await SecurityFixture.run { fixture in
            try await fixture.adapter.setPairingAgent(fixture.agent(.noInputNoOutput, .sleeps))
            let connection = try await fixture.connect(.ask)
            let error = await failure { try await Self.perform(.read, on: connection, fixture) }
            #expect(error?.pairingFailure == .notConfirmed)
            #expect(await connection.isConnected)
            try await fixture.end(connection)
        }
    }

    @Test func concurrentRequestsShareOneRaise() async throws {
        try await SecurityFixture.run { fixture in
            let agent = fixture.agent()
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect(.ask)
            let handle = try fixture.handle(SecurityFixture.encrypted)
            let readers = (0..<10).map { _ in fixture.base.begin { try await connection.read(handle) } }
            let open = fixture.base.begin { try await connection.read(try fixture.handle(0xFFF4)) }
            for reader in readers { #expect(try await reader.value.count == 60) }
            #expect(try await open.value == [10])
            #expect(agent.asked == ["confirm own"])
            #expect(await connection.core { $0.securityChangeCount } == 1)
            try await fixture.end(connection)
        }
    }

    @Test func anAuthenticatedLinkIsMadeWhereTheAgentCan() async throws {
        let security = SimulatedSecurity(ioCapability: .displayOnly, passkey: 4711)
        try await SecurityFixture.run(security) { fixture in
            try await fixture.adapter.setPairingAgent(FixedPasskeyAgent(try #require(Passkey(4711))))
            let connection = try await fixture.connect()
            #expect(try await connection.read(try fixture.handle(SecurityFixture.authenticated)) == [8])
            #expect(try await connection.security() == LinkSecurity(level: .fips, keySize: 16))
            #expect(try await connection.security().isSecureConnections == true)
            try await fixture.end(connection)
        }
        try await SecurityFixture.run(security) { fixture in
            // Without input and output, encryption is the maximum.
            let connection = try await fixture.connect()
            let handle = try fixture.handle(SecurityFixture.authenticated)
            let error = await failure { _ = try await connection.read(handle) }
            #expect(error?.cause == .attribute(.insufficientAuthentication))
            #expect(try await connection.security().level == .medium)
            try await fixture.end(connection)
        }
    }

    @Test func authorizationDoesNotRaiseTheLink() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            let handle = try fixture.handle(0xFFF3)
            let error = await failure { _ = try await connection.read(handle) }
            #expect(error?.cause == .attribute(.insufficientAuthorization))
            #expect(try await connection.security().level == .low)
            try await fixture.end(connection)
        }
    }

    @Test func withoutCapabilityNoPairingBegins() async throws {
        try await SecurityFixture.run { fixture in
            fixture.base.kernel.hasNetAdmin = false
            let connection = try await fixture.connect()
            let error = await failure { try await Self.perform(.read, on: connection, fixture) }
            #expect(error?.cause == .attribute(.insufficientAuthentication))
            #expect(await connection.isConnected)
            #expect(await failure { try await connection.pair() }?.code == .notPermitted)
            try await fixture.end(connection)
        }
    }

    @Test func requestsThatWaitedForEncryptionAreNotRefused() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            let plain = try fixture.handle(0xFFF4)
            // Requests before, during and after: none is lost or reordered.
            let before = fixture.base.begin { try await connection.read(plain) }
            let raise = fixture.base.begin { try await connection.raiseSecurity(to: .medium) }
            let during = (0..<5).map { _ in fixture.base.begin { try await connection.read(plain) } }
            #expect(try await before.value == [10])
            for reader in during { #expect(try await reader.value == [10]) }
            #expect(try await raise.value.level == .medium)
            try await fixture.end(connection)
        }
    }

    @Test func aLongWriteGoesOnAfterARaise() async throws {
        try await SecurityFixture.run { fixture in
            let connection = try await fixture.connect()
            let plain = try fixture.handle(0xFFF4)
            let value = [UInt8](repeating: 3, count: 60)
            let write = fixture.base.begin { try await connection.write(value, to: plain) }
            #expect(try await connection.raiseSecurity(to: .medium).level == .medium)
            try await write.value
            #expect(try await connection.read(plain) == value)
            try await fixture.end(connection)
        }
    }
}

extension SecurityFixture {
    /// Deletes the device's keys on this machine.
    func forget() async throws {
        try? await adapter.removeBond(with: peripheral.address)
        _ = try? await adapter.sendToManagement(
            ManagementUnpairDevice(ManagementAddress(peripheral.address), disconnect: false),
            to: adapter.information.index)
        await adapter.session.forgetKey(of: peripheral.address)
    }
}
