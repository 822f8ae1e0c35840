import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Pairing with out-of-band data, in both directions.
@Suite struct OutOfBandTests {
    /// New data of the peripheral.
    private static func made(by peripheral: SimulatedPeripheral, named: Bool = true) throws -> OutOfBandData {
        let values = try #require(peripheral.makeOutOfBandValues())
        return OutOfBandData(
            confirmation: values.confirmation, random: values.random, address: named ? peripheral.address : nil)
    }

    @Test(arguments: [true, false]) func dataOfTheDeviceAuthenticateItWithoutAQuestion(_ named: Bool) async throws {
        try await SecurityFixture.run { fixture in
            let agent = fixture.agent(.noInputNoOutput, .refuses)
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect(.never)
            let outcome = try await connection.pair(with: try Self.made(by: fixture.peripheral, named: named))
            #expect(outcome.security.level == .fips)
            #expect(outcome.isBonded)
            #expect(agent.asked == [])
            #expect(try await connection.read(try fixture.handle(SecurityFixture.authenticated)) == [8])
            #expect(await fixture.adapter.bonds().map(\.isAuthenticated) == [true])
            // The next connection encrypts with the key; the kernel reports the level that it was asked for.
            try await fixture.end(connection)
            let next = try await fixture.connect()
            #expect(try await next.raiseSecurity(to: .high).level == .high)
            try await fixture.end(next)
        }
    }

    @Test func dataOfThisMachineAuthenticateItToTheDevice() async throws {
        try await SecurityFixture.run { fixture in
            let data = try await fixture.adapter.makeOutOfBandData()
            #expect(data.address == fixture.adapter.information.address)
            fixture.peripheral.setOutOfBandValues((data.confirmation, data.random))
            let connection = try await fixture.connect(.never)
            let outcome = try await connection.pair()
            #expect(outcome.security.level == .fips)
            #expect(outcome.isBonded)
            try await fixture.end(connection)
        }
    }

    @Test func newDataReplaceTheFormerOnes() async throws {
        try await SecurityFixture.run { fixture in
            let former = try await fixture.adapter.makeOutOfBandData()
            let data = try await fixture.adapter.makeOutOfBandData()
            #expect(former.confirmation != data.confirmation && former.random != data.random)
            fixture.peripheral.setOutOfBandValues((former.confirmation, former.random))
            let connection = try await fixture.connect(.never)
            #expect(await failureCode { try await connection.pair() } == .pairingFailed)
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            fixture.peripheral.setOutOfBandValues((data.confirmation, data.random))
            let next = try await fixture.connect(.never)
            #expect(try await next.pair().security.level == .fips)
            try await fixture.end(next)
        }
    }

    @Test func wrongDataEndTheLinkAndLeaveNothingBehind() async throws {
        try await SecurityFixture.run { fixture in
            let used = try Self.made(by: fixture.peripheral)
            let data = try Self.made(by: fixture.peripheral)
            for wrong in [used, OutOfBandData(confirmation: data.confirmation, random: used.random)] {
                let connection = try await fixture.connect(.never)
                let error = await failure { try await connection.pair(with: wrong) }
                #expect(error?.pairingFailure == .outOfBandDataRejected, "\(String(describing: error))")
                #expect(error?.remedy?.contains("Transfer new data") == true)
                try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            }
            #expect(await fixture.adapter.bonds().isEmpty)
            // The next pairing without data is not affected.
            try await fixture.pairingWorksNow()
        }
    }

    @Test func dataOfAnotherDeviceChangeNothing() async throws {
        try await SecurityFixture.run { fixture in
            var data = try Self.made(by: fixture.peripheral)
            data.address = BluetoothAddress(0xC0DE_0000_0009, kind: .random)
            let connection = try await fixture.connect(.never)
            #expect(await failureCode { try await connection.pair(with: data) } == .invalidArgument)
            #expect(await connection.isConnected)
            try await fixture.end(connection)
        }
    }

    @Test func dataAreForOnePairing() async throws {
        try await SecurityFixture.run { fixture in
            let data = try Self.made(by: fixture.peripheral)
            try await fixture.adapter.setOutOfBandData(data, of: fixture.peripheral.address)
            let connection = try await fixture.connect(.never)
            #expect(try await connection.pair().security.level == .fips)
            try await fixture.end(connection)
            try await fixture.adapter.removeBond(with: fixture.peripheral.address)
            fixture.peripheral.forgetBonds()
            try await fixture.pairingWorksNow()
        }
    }

    @Test func dataCanBeTakenBackAndHaveALimit() async throws {
        try await SecurityFixture.run { fixture in
            let data = try Self.made(by: fixture.peripheral)
            for index in 0..<64 {
                let peer = BluetoothAddress(0xC0DE_0000_0100 + UInt64(index), kind: .random)
                try await fixture.adapter.setOutOfBandData(data, of: peer)
            }
            let peer = fixture.peripheral.address
            #expect(await failureCode { try await fixture.adapter.setOutOfBandData(data, of: peer) } == .overflow)
            try await fixture.adapter.setOutOfBandData(nil, of: BluetoothAddress(0xC0DE_0000_0100, kind: .random))
            try await fixture.adapter.setOutOfBandData(data, of: peer)
            try await fixture.adapter.setOutOfBandData(nil, of: peer)
            try await fixture.pairingWorksNow()
        }
    }

    /// The host has lost them with the adapter.
    @Test func dataOutliveAnAdapterThatIsUnplugged() async throws {
        try await SecurityFixture.run { fixture in
            let kernel = fixture.base.kernel
            let data = try Self.made(by: fixture.peripheral)
            try await fixture.adapter.setOutOfBandData(data, of: fixture.peripheral.address)
            let controller = SimulatedController(address: fixture.adapter.information.publicAddress)
            kernel.unplug(0)
            try await fixture.base.settle { fixture.adapter.state == .absent }
            kernel.plug(controller)
            try await fixture.base.settle { fixture.adapter.state == .poweredOff || fixture.adapter.state.isReady }
            try await fixture.adapter.setPowered(true)
            let connection = try await fixture.connect(.never)
            #expect(try await connection.pair().security.level == .fips)
            try await fixture.end(connection)
        }
    }

    /// At each await: while the kernel gets the settings, the data, and while it pairs.
    @Test(arguments: [0, 1, 2, 5, 10, 20, 50, 100, 200]) func aCancelledPairingLeavesNoData(after delay: Int)
        async throws
    {
        try await SecurityFixture.run(SimulatedSecurity(response: delay % 2 == 0 ? .silence : .accept)) { fixture in
            let data = try Self.made(by: fixture.peripheral)
            let connection = try await fixture.connect(.never)
            let task = fixture.base.begin { try await connection.pair(with: data) }
            try await fixture.base.radio.sleep(for: .milliseconds(delay))
            task.cancel()
            _ = try? await task.value
            await connection.disconnect()
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
            for bond in await fixture.adapter.bonds() { try await fixture.adapter.removeBond(with: bond.identity) }
            fixture.peripheral.forgetBonds()
            // A pairing without data reaches no more than the encryption of Just Works.
            try await fixture.pairingWorksNow()
        }
    }

    @Test func anAdapterWithPrivateAddressesMakesNone() async throws {
        try await Fixture.run { fixture in
            let adapter = try await Adapter.open(
                power: .powerOn, configuration: .init(privacy: .on), on: fixture.kernel)
            let error = await failure { _ = try await adapter.makeOutOfBandData() }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("private addresses") == true)
            await adapter.close()
        }
    }

    /// The kernel refuses that; the opposite direction works.
    @Test func anAdapterWithoutBREDRMakesNone() async throws {
        try await SecurityFixture.run(on: SimulatedController(isDualMode: false)) { fixture in
            let error = await failure { _ = try await fixture.adapter.makeOutOfBandData() }
            #expect(error?.code == .unsupported)
            #expect(error?.message.contains("Secure Simple Pairing") == true)
            #expect(error?.remedy?.contains("ble pair --oob") == true)
            let connection = try await fixture.connect(.never)
            let outcome = try await connection.pair(with: try Self.made(by: fixture.peripheral))
            #expect(outcome.security.level == .fips)
            try await fixture.end(connection)
        }
    }

    @Test func withoutSecureConnectionsThereAreNone() async throws {
        try await SecurityFixture.run { fixture in
            try await fixture.adapter.setPairingAgent(nil, secureConnections: .off)
            #expect(await failureCode { _ = try await fixture.adapter.makeOutOfBandData() } == .unsupported)
        }
    }

    /// A device that does not use the data, such as one without Secure Connections, is not paired with in another way.
    @Test func aDeviceThatIgnoresTheDataIsRefused() async throws {
        try await SecurityFixture.run { fixture in
            let data = try Self.made(by: fixture.peripheral)
            fixture.peripheral.setSecurity(SimulatedSecurity(hasSecureConnections: false))
            let connection = try await fixture.connect(.never)
            let error = await failure { try await connection.pair(with: data) }
            #expect(error?.pairingFailure == .outOfBandDataRejected, "\(String(describing: error))")
            #expect(await fixture.adapter.bonds().isEmpty)
            try await fixture.base.settle { fixture.base.kernel.links(adapter: 0).isEmpty }
        }
    }

    @Test func anUnauthenticatedBondIsNotEnough() async throws {
        try await SecurityFixture.run { fixture in
            let first = try await fixture.connect(.never)
            try await first.pair()
            try await fixture.end(first)
            let connection = try await fixture.connect(.never)
            let error = await failure { try await connection.pair(with: try Self.made(by: fixture.peripheral)) }
            #expect(error?.pairingFailure == .insufficientLevel)
            #expect(error?.remedy?.contains("Remove the device's bond") == true)
            try await fixture.end(connection)
        }
    }

    @Test func anAgentWithADisplayIsNotAsked() async throws {
        try await SecurityFixture.run(SimulatedSecurity(ioCapability: .displayYesNo)) { fixture in
            let agent = fixture.agent(.displayYesNo)
            try await fixture.adapter.setPairingAgent(agent)
            let connection = try await fixture.connect(.never)
            let outcome = try await connection.pair(with: try Self.made(by: fixture.peripheral))
            #expect(outcome.security.level == .fips)
            #expect(agent.asked == [])
            try await fixture.end(connection)
        }
    }
}
