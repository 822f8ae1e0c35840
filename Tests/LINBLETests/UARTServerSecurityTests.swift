import BluetoothLE
import TestSupport
import Testing

@testable import LINBLE

/// The security of an offered UART, and its bonded centrals.
@Suite(.timeLimit(.minutes(2))) struct UARTServerSecurityTests {
    @Test func encryptionIsAskedForWhereItIsWanted() async throws {
        try await ServerFixture.run(UARTServerOptions(requiresEncryption: true)) { fixture in
            var options = ConnectionOptions()
            options.security.policy = .never
            let connection = try await fixture.centrals[0].connect(
                to: fixture.adapter.information.address, options: options)
            #expect(await failureCode { _ = try await UARTConnection.attach(to: connection) } == .attributeProtocol)
            #expect(fixture.events.count("online") == 0)
            await connection.disconnect()
        }
    }

    @Test func anAuthenticatedLinkIsNotHadWithoutNumbers() async throws {
        try await ServerFixture.run(UARTServerOptions(security: .high)) { fixture in
            try await fixture.adapter.setPairingAgent(JustWorksPairingAgent())
            let connection = try await fixture.centrals[0].connect(to: fixture.adapter.information.address)
            // The error depends on which side notices first that no number can be compared.
            #expect(await failureCode { _ = try await UARTConnection.attach(to: connection) } != nil)
            #expect(fixture.events.count("online") == 0)
            await connection.disconnect()
        }
    }

    @Test(
        arguments: [
            (.low, false, []), (.low, true, [.readEncrypted, .writeEncrypted]),
            (.medium, false, [.readEncrypted, .writeEncrypted]),
            (.high, true, [.readEncrypted, .writeEncrypted, .readAuthenticated, .writeAuthenticated]),
            (.fips, false, [.readEncrypted, .writeEncrypted, .readAuthenticated, .writeAuthenticated]),
        ] as [(SecurityLevel, Bool, AttributePermissions)])
    func theServiceAsksForTheProtectionThatIsWanted(
        _ level: SecurityLevel, _ requiresEncryption: Bool, _ protection: AttributePermissions
    ) {
        let options = UARTServerOptions(requiresEncryption: requiresEncryption, security: level)
        let service = UARTProfile.linble.offeredService(security: options.security)
        let all: AttributePermissions = [.readEncrypted, .writeEncrypted, .readAuthenticated, .writeAuthenticated]
        #expect(service.characteristics.allSatisfy { $0.permissions.intersection(all) == protection })
    }

    @Test func whoMayPairIsServedEncrypted() async throws {
        try await ServerFixture.run(UARTServerOptions(requiresEncryption: true)) { fixture in
            try await fixture.adapter.setPairingAgent(JustWorksPairingAgent())
            let connection = try await fixture.centrals[0].connect(to: fixture.adapter.information.address)
            let uart = try await UARTConnection.attach(to: connection)
            #expect(try await connection.security().level == .medium)
            try await uart.send(pattern(2000))
            #expect(try await uart.read(2000) == pattern(2000))
            await connection.disconnect()
        }
    }

    /// The subscription of a bonded central is stored, so that the central is online again without subscribing, as soon
    /// as the link is encrypted if that is required.
    @Test(arguments: [false, true]) func aBondedCentralComesBackOnline(_ requiresEncryption: Bool) async throws {
        let serve: @Sendable (UARTCentral) async throws -> Void = { central in
            try await central.send([0xEE])
            try await ServerFixture.echo(central)
        }
        let options = UARTServerOptions(requiresEncryption: requiresEncryption)
        try await ServerFixture.run(options, serve: serve) { fixture in
            for adapter in [fixture.adapter, fixture.centrals[0]] {
                try await adapter.setPairingAgent(JustWorksPairingAgent())
            }
            var protected = ConnectionOptions()
            protected.security.level = .medium
            let address = fixture.adapter.information.address
            let first = try await fixture.centrals[0].connect(to: address, options: protected)
            let uart = try await UARTConnection.attach(to: first)
            #expect(try await uart.read(1) == [0xEE])
            try await uart.send([1])
            #expect(try await uart.read(1) == [1])
            let service = try #require(try await first.discoverServices(UARTProfile.linble.service).first)
            let characteristics = try await first.discoverCharacteristics(of: service)
            let toDevice = try #require(characteristics.first { $0.uuid == UARTProfile.linble.toDevice })
            await first.disconnect()
            try await fixture.settle { fixture.events.count("offline") == 1 }
            // It reconnects, sends no request, and is greeted.
            for number in 2...3 {
                let again = try await fixture.centrals[0].connect(to: address, options: protected)
                try await fixture.settle { fixture.events.count("online") == number }
                try await again.writeCommand([7, 8], to: toDevice)
                let end = fixture.radio.now.advanced(by: .seconds(10))
                while await again.unwantedValueCount < 2, fixture.radio.now < end {
                    try await fixture.radio.sleep(for: .milliseconds(10))
                }
                #expect(await again.unwantedValueCount == 2)
                await again.disconnect()
                try await fixture.settle { fixture.events.count("offline") == number }
            }
            // All have lost their links, and none was sent a notification below the required security.
            #expect(fixture.events.failures.withLock { $0 } == Array(repeating: .disconnected, count: 3))
        }
    }
}
