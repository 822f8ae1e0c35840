import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// The connection parameters that a peripheral prefers.
@Suite struct PreferredParametersTests {
    private static let slow = ConnectionParameterRequest(
        interval: .milliseconds(100)...(.milliseconds(200)), latency: 1, supervisionTimeout: .seconds(3))
    /// Its value.
    private static let bytes: [UInt8] = [80, 0, 160, 0, 1, 0, 44, 1]

    private static let operation = BluetoothError.Operation("read")

    @Test(
        arguments: [
            (bytes, slow),
            (
                [6, 0, 6, 0, 0, 0, 10, 0],
                .init(interval: .microseconds(7500)...(.microseconds(7500)), supervisionTimeout: .milliseconds(100))
            ),
            (
                [0x80, 0x0C, 0x80, 0x0C, 0, 0, 0x80, 0x0C],
                .init(interval: .seconds(4)...(.seconds(4)), supervisionTimeout: .seconds(32))
            ),
            // Without a shortest or a longest interval, or without a supervision timeout.
            (
                [0xFF, 0xFF, 40, 0, 0, 0, 44, 1],
                .init(interval: .milliseconds(50)...(.milliseconds(50)), supervisionTimeout: .seconds(3))
            ),
            (
                [24, 0, 0xFF, 0xFF, 0, 0, 44, 1],
                .init(interval: .milliseconds(30)...(.milliseconds(30)), supervisionTimeout: .seconds(3))
            ),
            ([24, 0, 40, 0, 0, 0, 0xFF, 0xFF], .balanced),
            (
                [0x80, 0x0C, 0x80, 0x0C, 0, 0, 0xFF, 0xFF],
                .init(interval: .seconds(4)...(.seconds(4)), supervisionTimeout: .milliseconds(8010))
            ),
            // No interval.
            ([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF], nil), ([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 44, 1], nil),
        ] as [([UInt8], ConnectionParameterRequest?)])
    func aValueIsARequest(_ value: [UInt8], _ request: ConnectionParameterRequest?) throws {
        #expect(try ConnectionParameterRequest(preferred: value, Self.operation) == request)
    }

    @Test(
        arguments: [
            [], [80], [80, 0, 160, 0, 1, 0, 44], bytes + [0],
            // Reversed, too short, too long, latency, supervision timeout.
            [160, 0, 80, 0, 1, 0, 44, 1], [5, 0, 40, 0, 0, 0, 44, 1], [6, 0, 0x81, 0x0C, 0, 0, 0x80, 0x0C],
            [0, 0, 0, 0, 0, 0, 0, 0], [6, 0, 6, 0, 0xF4, 1, 0x80, 0x0C], [6, 0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF],
            [6, 0, 6, 0, 0, 0, 9, 0], [6, 0, 6, 0, 0, 0, 0x81, 0x0C], [0x80, 0x0C, 0x80, 0x0C, 0, 0, 44, 1],
        ] as [[UInt8]])
    func anInvalidValueIsReported(_ value: [UInt8]) {
        do throws(BluetoothError) {
            let request = try ConnectionParameterRequest(preferred: value, Self.operation)
            Issue.record("\(request.map { "\($0)" } ?? "nil")")
        } catch {
            #expect(error.code == .protocolViolation)
        }
    }

    @Test func everyValidRequestIsItsValue() throws {
        for request in [Self.slow, .lowLatency, .balanced, .lowPower] {
            let value = try request.parameters(Self.operation).preferredValue
            #expect(try ConnectionParameterRequest(preferred: value, Self.operation) == request)
        }
    }

    // MARK: On a link

    private static func withPair(_ body: @escaping @Sendable (Adapter, Adapter) async throws -> Void) async throws {
        try await Fixture.run { fixture in
            let central = try await Adapter.open(on: fixture.kernel)
            let peripheral = try await Adapter.open(on: fixture.radio.makeKernel())
            try await body(central, peripheral)
        }
    }

    @Test func aCentralReadsWhatAPeripheralPrefers() async throws {
        try await Self.withPair { central, peripheral in
            try await peripheral.setPreferredParameters(.lowPower)
            try await peripheral.setPreferredParameters(Self.slow)
            try await peripheral.publish([LocalService(0x180F)])
            // The value can change once the characteristic is there.
            try await peripheral.setPreferredParameters(.balanced)
            let set = try await peripheral.advertise(AdvertisementContent(localName: "preferring"))
            let connection = try await central.connect { $0.localName == "preferring" }
            #expect(try await connection.preferredParameters() == .balanced)
            try await peripheral.setPreferredParameters(Self.slow)
            #expect(try await connection.preferredParameters() == Self.slow)
            let services = try await connection.discover()
            let access = try #require(services.service(.genericAccess))
            #expect(
                access.characteristics.map(\.uuid) == [
                    .deviceName, .appearance, .peripheralPreferredConnectionParameters,
                ])
            #expect(services.service(0x180F) != nil)
            await connection.disconnect()
            await set.close()
        }
    }

    @Test func aPeripheralWithoutAPreferenceHasNoSuchCharacteristic() async throws {
        try await Self.withPair { central, peripheral in
            let set = try await peripheral.advertise(AdvertisementContent(localName: "indifferent"))
            let connection = try await central.connect { $0.localName == "indifferent" }
            #expect(try await connection.preferredParameters() == nil)
            // Too late: the central may know the handles.
            let late = await failure { try await peripheral.setPreferredParameters(Self.slow) }
            #expect(late?.code == .busy)
            await connection.disconnect()
            await set.close()
        }
    }

    @Test func aPreferenceThatIsInvalidOrTooLateChangesNothing() async throws {
        try await Self.withPair { central, peripheral in
            let invalid = ConnectionParameterRequest(interval: .seconds(4)...(.seconds(4)))
            #expect(await failure { try await peripheral.setPreferredParameters(invalid) }?.code == .invalidArgument)
            let published = try await peripheral.publish([LocalService(0x180F)])
            #expect(await failure { try await peripheral.setPreferredParameters(Self.slow) }?.code == .busy)
            await published.close()
            try await peripheral.setPreferredParameters(Self.slow)
            #expect(await failure { try await peripheral.setPreferredParameters(invalid) }?.code == .invalidArgument)
            let set = try await peripheral.advertise(AdvertisementContent(localName: "preferring"))
            let connection = try await central.connect { $0.localName == "preferring" }
            #expect(try await connection.preferredParameters() == Self.slow)
            await connection.disconnect()
            await set.close()
        }
    }
}
