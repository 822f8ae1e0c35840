import BluetoothHCI
import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// The settings of a link that its options request.
@Suite struct LinkSettingsTests {
    private static let slow = ConnectionParameterRequest(
        interval: .milliseconds(100)...(.milliseconds(100)), latency: 1, supervisionTimeout: .seconds(3))

    private static func device(_ fixture: Fixture) throws -> SimulatedPeripheral {
        SimulatedPeripheral(on: fixture.radio, gatt: try SimulatedGATTServer([]))
    }

    private static func interval(of connection: Connection) async -> Duration? { await connection.parameters?.interval }

    @Test func theParametersHoldFromTheFirstConnectionEvent() async throws {
        for family in [HCICommandFamily.legacy, .extended] {
            try await Fixture.run([SimulatedController(family: family)]) { fixture in
                let device = try Self.device(fixture)
                // They are not requested later.
                device.setParameterRefusal(.unacceptableConnectionParameters)
                let adapter = try await Adapter.open(on: fixture.kernel)
                let options = ConnectionOptions(parameters: Self.slow)
                let connection = try await adapter.connect(to: device.address, options: options)
                let parameters = await connection.parameters
                #expect(
                    parameters
                        == ConnectionParameters(
                            interval: .milliseconds(100), latency: 1, supervisionTimeout: .seconds(3)))
                await connection.disconnect()
                // The kernel has forgotten them.
                let next = try await adapter.connect(to: device.address)
                #expect(await Self.interval(of: next) == .milliseconds(30))
                await next.disconnect()
            }
        }
    }

    @Test func theParametersOfSeveralDevicesDoNotReplaceEachOther() async throws {
        try await Fixture.run { fixture in
            let (absent, present) = (try Self.device(fixture), try Self.device(fixture))
            absent.setHidden(true)
            for device in [absent, present] { device.setParameterRefusal(.unacceptableConnectionParameters) }
            // Two objects for the same adapter.
            let (adapter, other) = (
                try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: fixture.kernel)
            )
            let waiting = fixture.begin {
                try await adapter.connect(to: absent.address, options: ConnectionOptions(parameters: Self.slow))
            }
            try await fixture.radio.sleep(for: .seconds(1))
            let fast = try await other.connect(
                to: present.address, options: ConnectionOptions(parameters: .lowLatency))
            #expect(await Self.interval(of: fast) == .microseconds(7500))
            absent.setHidden(false)
            let late = try await waiting.value
            #expect(await Self.interval(of: late) == .milliseconds(100))
            await fast.disconnect()
            await late.disconnect()
        }
    }

    @Test func aCancelledAttemptLeavesNoParameters() async throws {
        try await Fixture.run { fixture in
            let device = try Self.device(fixture)
            device.setHidden(true)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let waiting = fixture.begin {
                try await adapter.connect(to: device.address, options: ConnectionOptions(parameters: Self.slow))
            }
            try await fixture.radio.sleep(for: .seconds(1))
            waiting.cancel()
            #expect(await failure { _ = try await waiting.value }?.code == .cancelled)
            device.setHidden(false)
            let connection = try await adapter.connect(to: device.address)
            #expect(await Self.interval(of: connection) == .milliseconds(30))
            await connection.disconnect()
        }
    }

    @Test func withoutThePrivilegeTheParametersAreRequestedOfTheLink() async throws {
        try await Fixture.run { fixture in
            fixture.kernel.hasNetAdmin = false
            let device = try Self.device(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let options = ConnectionOptions(parameters: Self.slow)
            let connection = try await adapter.connect(to: device.address, options: options)
            #expect(await Self.interval(of: connection) == .milliseconds(100))
            await connection.disconnect()
            // A peer that refuses has a link as it is.
            device.setParameterRefusal(.unacceptableConnectionParameters)
            let next = try await adapter.connect(to: device.address, options: options)
            #expect(await Self.interval(of: next) == .milliseconds(30))
            await next.disconnect()
            // Neither can be done without CAP_NET_RAW.
            fixture.kernel.hasNetRaw = false
            let plain = try await Adapter.open(on: fixture.kernel)
            let last = try await plain.connect(to: device.address, options: options)
            #expect(await last.parameters == nil)
            await last.disconnect()
        }
    }

    @Test func aUseChoosesEverySetting() async throws {
        try await Fixture.run { fixture in
            let device = try Self.device(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(
                to: device.address, options: ConnectionOptions(use: .throughput))
            #expect(await Self.interval(of: connection) == .milliseconds(15))
            #expect(try await connection.phys() == LinkPHYs(transmit: .le2M, receive: .le2M))
            try await fixture.settle { await connection.dataLength?.transmitOctets == 251 }
            try await connection.adapt(to: .lowPower)
            let slow = await connection.parameters
            #expect(slow?.interval == .milliseconds(100) && slow?.latency == 2)
            // What it does not choose stays.
            #expect(try await connection.phys().transmit == .le2M)
            try await connection.adapt(to: .balanced)
            #expect(await Self.interval(of: connection) == .milliseconds(30))
            await connection.disconnect()
        }
    }

    @Test func aSettingOfItsOwnPrecedesThatOfTheUse() async throws {
        try await Fixture.run { fixture in
            let device = try Self.device(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(
                to: device.address,
                options: ConnectionOptions(parameters: Self.slow, phys: .le1M, dataLength: 100, use: .throughput))
            #expect(await Self.interval(of: connection) == .milliseconds(100))
            #expect(try await connection.phys().transmit == .le1M)
            try await fixture.settle { await connection.dataLength?.transmitOctets == 100 }
            await connection.disconnect()
        }
    }

    @Test func invalidSettingsAreRefusedBeforeAnythingIsChanged() async throws {
        let options: [ConnectionOptions] = [
            ConnectionOptions(parameters: .init(interval: .milliseconds(1)...(.milliseconds(2)))),
            ConnectionOptions(parameters: .init(interval: .seconds(4)...(.seconds(4)), latency: 499)),
            ConnectionOptions(phys: []), ConnectionOptions(phys: LEPHYSet(rawValue: 8)),
            ConnectionOptions(dataLength: 26), ConnectionOptions(dataLength: 252, use: .throughput),
        ]
        try await Fixture.run { fixture in
            let device = try Self.device(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            for options in options {
                let error = await failure { _ = try await adapter.connect(to: device.address, options: options) }
                #expect(error?.code == .invalidArgument && error?.operation.peer == device.address)
            }
            let connection = try await adapter.connect(to: device.address)
            let error = await failure { _ = try await connection.setPHYs(transmit: [], receive: nil) }
            #expect(error?.code == .invalidArgument)
            await connection.disconnect()
        }
    }
}
