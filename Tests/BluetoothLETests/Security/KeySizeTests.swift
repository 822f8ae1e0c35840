import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// The minimum size of encryption keys, in both roles.
@Suite struct KeySizeTests {
    fileprivate static func options(_ minimum: Int, _ level: SecurityLevel? = nil) -> ConnectionOptions {
        ConnectionOptions(
            timeout: .seconds(10), security: SecurityOptions(level, policy: .never, minimumKeySize: minimum))
    }

    private static func weak(_ size: Int) -> SimulatedSecurity {
        var security = SimulatedSecurity()
        security.maximumKeySize = size
        return security
    }

    @Test(arguments: [(7, 7), (10, 10), (16, 16)] as [(Int, Int)])
    func aKeyOfTheMinimumSizeIsAccepted(_ size: Int, _ minimum: Int) async throws {
        try await SecurityFixture.run(Self.weak(size)) { fixture in
            let peer = fixture.peripheral.address
            let connection = try await fixture.adapter.connect(to: peer, options: Self.options(minimum))
            let outcome = try await connection.pair()
            #expect(outcome.security == LinkSecurity(level: .medium, keySize: size))
            #expect(try await connection.security() == outcome.security)
            #expect(await fixture.adapter.bonds().map(\.encryptionKeySize) == [size])
            try await fixture.end(connection)
            // The size is that of the key, also when the stored one encrypts the link.
            let next = try await fixture.adapter.connect(to: peer, options: Self.options(minimum, .medium))
            #expect(try await next.security() == outcome.security)
            try await fixture.end(next)
        }
    }

    @Test(arguments: [(7, 8), (15, 16)] as [(Int, Int)])
    func aShorterKeyEndsTheLinkAndLeavesNoBond(_ size: Int, _ minimum: Int) async throws {
        try await SecurityFixture.run(Self.weak(size)) { fixture in
            let peer = fixture.peripheral.address
            let connection = try await fixture.adapter.connect(to: peer, options: Self.options(minimum))
            let error = await failure { try await connection.pair() }
            #expect(error?.code == .pairingFailed)
            #expect(error?.pairingFailure == .keyTooShort)
            #expect(error?.message.contains("\(size) bytes, fewer than the minimum of \(minimum)") == true)
            let end = await connection.disconnected()
            #expect(end.pairingFailure == .keyTooShort)
            #expect(end.disconnectReason == .authentication)
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            #expect(await fixture.adapter.bonds().isEmpty)
            try await fixture.pairingWorksNow()
        }
    }

    @Test func theKeyOfAnEarlierPairingIsRefusedAndItsBondStays() async throws {
        try await SecurityFixture.run(Self.weak(7)) { fixture in
            let peer = fixture.peripheral.address
            let first = try await fixture.adapter.connect(to: peer, options: Self.options(7))
            try await first.pair()
            try await fixture.end(first)
            for _ in 0..<2 {
                let error = await failure {
                    _ = try await fixture.adapter.connect(to: peer, options: Self.options(16, .medium))
                }
                #expect(error?.pairingFailure == .keyTooShort, "\(String(describing: error))")
                #expect(error?.remedy?.contains("ble bonds remove") == true)
                try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            }
            #expect(await fixture.adapter.bonds().map(\.encryptionKeySize) == [7])
        }
    }

    /// The peer refuses the request, and the library raises the security, which does not suffice.
    @Test func aRequestThatNeedsEncryptionFailsAsWell() async throws {
        try await SecurityFixture.run(Self.weak(7)) { fixture in
            var options = Self.options(16)
            options.security.policy = .automatic
            let connection = try await fixture.adapter.connect(to: fixture.peripheral.address, options: options)
            let handle = try fixture.handle(SecurityFixture.encrypted)
            let errors = await withTaskGroup(of: BluetoothError?.self) { group in
                for _ in 0..<3 { group.addTask { await failure { _ = try await connection.read(handle) } } }
                return await group.reduce(into: [BluetoothError?]()) { $0.append($1) }
            }
            // One that was in flight meanwhile has the reason of the link's end.
            #expect(errors.contains { $0?.pairingFailure == .keyTooShort }, "\(errors)")
            #expect(
                errors.allSatisfy { $0?.message.contains("7 bytes, fewer than the minimum of 16") == true }, "\(errors)"
            )
            #expect(await fixture.adapter.bonds().isEmpty)
        }
    }

    @Test func theHighestLevelIncludesTheSize() async throws {
        try await SecurityFixture.run(Self.weak(15)) { fixture in
            let connection = try await fixture.connect(.never)
            #expect(await failureCode { try await connection.raiseSecurity(to: .fips) } == .pairingFailed)
        }
    }

    private static let isProtected = GATTService(
        0xFFE0,
        characteristics: [
            GATTCharacteristic(0xFFE1, properties: [.read], permissions: [.read, .readEncrypted], value: .stored([3])),
            GATTCharacteristic(0xFFE2, properties: [.read], value: .stored([4])),
        ])

    @Test(
        arguments: [(nil, nil), (7, nil), (10, nil), (11, .insufficientEncryptionKeySize)] as [(Int?, ATTErrorCode?)])
    func aServerRefusesProtectedAttributesOverAShorterKey(_ minimum: Int?, _ refusal: ATTErrorCode?) async throws {
        try await PeripheralFixture.run { fixture in
            fixture.others[0].setMaximumKeySize(10, adapter: 0)
            try await fixture.peripheral.setPairingAgent(JustWorksPairingAgent())
            let published = try await fixture.peripheral.publish([Self.isProtected])
            let before = try await fixture.peripheral.incomingConnections(
                IncomingConnectionOptions(security: SecurityOptions(minimumKeySize: 7)))
            let advertising = try await fixture.peripheral.advertise(PeripheralFixture.content)
            let first = try await fixture.connect(0, Self.options(7))
            #expect(try await first.pair().security.keySize == 10)
            try await fixture.base.settle { await fixture.peripheral.bonds().count == 1 }
            await first.disconnect()
            // The stored key is used, whatever those of pairings must have.
            try await fixture.base.settle { before.connections.isEmpty }
            before.close()
            let links = try await fixture.peripheral.incomingConnections(
                IncomingConnectionOptions(security: SecurityOptions(minimumKeySize: minimum)))
            let connection = try await fixture.connect(0, Self.options(7))
            #expect(try await connection.security().keySize == 10)
            let database = try await connection.discover()
            let value = try #require(database.characteristic(0xFFE1, in: 0xFFE0))
            let error = await failure { _ = try await connection.read(value) }
            #expect(error?.cause == refusal.map { .attribute($0) })
            #expect(try await connection.read(try #require(database.characteristic(0xFFE2, in: 0xFFE0))) == [4])
            await connection.disconnect()
            withExtendedLifetime((published, advertising, links)) {}
        }
    }

    @Test(arguments: [Int.min, 0, 6, 17, .max])
    func aSizeThatNoKeyHasIsRefusedBeforeAnythingHappens(_ minimum: Int) async throws {
        try await SecurityFixture.run { fixture in
            let error = await failure {
                _ = try await fixture.adapter.connect(to: fixture.peripheral.address, options: Self.options(minimum))
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("7 to 16") == true)
            let options = IncomingConnectionOptions(security: SecurityOptions(minimumKeySize: minimum))
            #expect(
                await failureCode { _ = try await fixture.adapter.incomingConnections(options) } == .invalidArgument)
            #expect(fixture.base.kernel.links(adapter: 0).isEmpty)
        }
    }
}
