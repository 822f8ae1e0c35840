import BluetoothLE
import SimulatedKernel
import TestSupport
import Testing

/// Docs/Guide/Bonds.md
@Suite struct BondsStories {
    private static let identity = BluetoothAddress(0xC0DE_0000_0001, kind: .random)

    /// A device that has told its identity and is bonded with.
    private static func bonded(_ world: World, _ adapter: Adapter) async throws -> (SimulatedPeripheral, Bond) {
        let device = SimulatedPeripheral(
            on: world.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random), signalStrength: -40)
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

    @Test func keepingBonds() async throws {
        try await World.run(stallGrace: .seconds(300)) { world in
            try await BondsPage.keepingBonds()
            #expect(world.lines == ["loaded"])
        }
    }

    @Test func howManyBonds() async throws {
        try await World.run { world in
            try await BondsPage.howManyBonds()
            #expect(world.lines.isEmpty)
        }
    }

    @Test func lookingAndRemoving() async throws {
        try await World.withAdapter { world, adapter in
            let (_, bond) = try await Self.bonded(world, adapter)
            try await BondsPage.lookingAndRemoving(adapter, bond.identity)
            #expect(world.lines == ["\(bond)"])
            #expect(await adapter.bonds().isEmpty)
        }
    }

    @Test func followingChanges() async throws {
        try await World.withAdapter { world, adapter in
            let following = world.begin { try await BondsPage.followingChanges(adapter) }
            try await world.radio.sleep(for: .seconds(1))
            let (_, bond) = try await Self.bonded(world, adapter)
            try await world.settle(printed: 1)
            try await adapter.removeBond(with: bond.identity)
            try await world.settle(printed: 2)
            #expect(world.lines == ["bonded with \(bond.identity)", "forgot \(bond.identity)"])
            following.cancel()
            #expect(await code { try await following.value } == .cancelled)
        }
    }

    @Test func hidingOurOwnAddress() async throws {
        try await World.run { world in
            try await BondsPage.hidingOurOwnAddress()
            #expect(world.lines.count == 1 && world.lines[0].hasPrefix("true "))
        }
    }

    @Test func devicesThatHideTheirAddress() async throws {
        try await World.withAdapter { world, adapter in
            let (device, _) = try await Self.bonded(world, adapter)
            let address = try #require(device.makePrivateAddress())
            device.setAdvertisements([SimulatedAdvertisement(address: address)])
            try await BondsPage.devicesThatHideTheirAddress(adapter, Self.identity)
            #expect(world.lines == ["true true"])
        }
    }
}
