import BluetoothLE
import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Bonds.md
@Suite struct BondsStories {
    private static let identity = BluetoothAddress(0xC0DE_0000_0001, kind: .random)

    /// A bonded device that has distributed its identity.
    private static func bonded(_ fixture: Fixture, _ adapter: Adapter) async throws -> (SimulatedPeripheral, Bond) {
        let device = SimulatedPeripheral(
            on: fixture.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random), signalStrength: -40)
        device.setSecurity(SimulatedSecurity(identity: identity))
        let key = try #require(device.identityResolvingKey)
        let bond = Bond(
            identity: identity,
            longTermKeys: [
                LongTermKey(address: identity, kind: .unauthenticated, isCentral: true, value: key)
            ],
            identityResolvingKey: key)
        try await adapter.setBond(bond)
        return (device, bond)
    }

    @Test func storingBonds() async throws {
        try await Fixture.run(stallGrace: .seconds(300)) { fixture in
            try await BondsPage.storingBonds()
            #expect(fixture.lines == ["loaded"])
        }
    }

    @Test func whatABondPromises() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let device = SimulatedPeripheral(
                on: fixture.radio, gatt: try SimulatedGATTServer([GATTService(0x180F, characteristics: [])]))
            let connection = try await adapter.connect(to: device.address)
            #expect(try await connection.pair().isBonded)
            await connection.disconnect()
            try await BondsPage.whatABondPromises(adapter, device.address)
            // A device that has lost its keys.
            device.forgetBonds()
            try await fixture.settle { device.links.isEmpty }
            try await BondsPage.whatABondPromises2(adapter, device.address)
            #expect(fixture.lines == ["confirmed", "unconfirmed"])
        }
    }

    @Test func howManyBonds() async throws {
        try await Fixture.run { fixture in
            try await BondsPage.howManyBonds()
            #expect(fixture.lines.isEmpty)
        }
    }

    @Test func listingAndRemoving() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let (_, bond) = try await Self.bonded(fixture, adapter)
            try await BondsPage.listingAndRemoving(adapter, bond.identity)
            #expect(fixture.lines == ["\(bond)"])
            #expect(await adapter.bonds().isEmpty)
        }
    }

    @Test func followingChanges() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let following = fixture.begin { try await BondsPage.followingChanges(adapter) }
            try await fixture.radio.sleep(for: .seconds(1))
            let (_, bond) = try await Self.bonded(fixture, adapter)
            try await fixture.settle(printed: 1)
            try await adapter.removeBond(with: bond.identity)
            try await fixture.settle(printed: 2)
            #expect(fixture.lines == ["bonded with \(bond.identity)", "forgot \(bond.identity)"])
            following.cancel()
            #expect(await failureCode { try await following.value } == .cancelled)
        }
    }

    @Test func aPrivateAddressForThisMachine() async throws {
        try await Fixture.run { fixture in
            try await BondsPage.aPrivateAddressForThisMachine()
            #expect(fixture.lines.count == 1 && fixture.lines[0].hasPrefix("true "))
        }
    }

    @Test func privateAddressesOfDevices() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let (device, _) = try await Self.bonded(fixture, adapter)
            let address = try #require(device.makePrivateAddress())
            device.setAdvertisements([SimulatedAdvertisement(address: address)])
            try await BondsPage.privateAddressesOfDevices(adapter, Self.identity)
            #expect(fixture.lines == ["true true"])
        }
    }

    @Test func devicesKnownByTheirKey() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            SimulatedPeripheral(
                on: fixture.radio, address: BluetoothAddress(0x4A1B_2C42_AB84, kind: .random), signalStrength: -40,
                gatt: try SimulatedGATTServer([]))
            try await BondsPage.devicesKnownByTheirKey(adapter)
            #expect(fixture.lines == ["phone true", "true"])
        }
    }
}
