import BluetoothSimulation
import Testing

@testable import BluetoothLE

/// The parts of a bond other than the encryption keys.
@Suite struct BondDetailTests {
    private static func device(
        _ fixture: Fixture, _ security: SimulatedSecurity = SimulatedSecurity(), advertisedName: String? = nil,
        deviceName: String = "Thermometer 7"
    ) throws -> SimulatedPeripheral {
        let device = SimulatedPeripheral(
            on: fixture.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random),
            gatt: try SimulatedGATTServer([
                GATTService(
                    .genericAccess,
                    characteristics: [
                        GATTCharacteristic(.deviceName, properties: .read, value: .stored(Array(deviceName.utf8)))
                    ])
            ]))
        device.setSecurity(security)
        if let advertisedName {
            device.setAdvertisements([
                SimulatedAdvertisement(
                    data: [UInt8(advertisedName.utf8.count + 1), 0x09] + Array(advertisedName.utf8),
                    address: device.address)
            ])
        }
        return device
    }

    // MARK: Names

    @Test(arguments: [nil, BluetoothAddress(0xC0DE_0000_0001, kind: .random)])
    func aBondStoresTheAdvertisedName(_ identity: BluetoothAddress?) async throws {
        try await BondFixture.run { fixture in
            let device = try Self.device(
                fixture.base, SimulatedSecurity(identity: identity), advertisedName: "Thermo")
            let central = try await fixture.central.open()
            _ = try await central.firstAdvertisement(timeout: .seconds(5))
            let connection = try await fixture.connect(central, to: device.address)
            // Without an identity the device's address is private, and no bond is stored.
            if identity != nil {
                try await fixture.base.settle { await central.bonds().first?.name == "Thermo" }
                await central.close()
                let kept = try await fixture.central.store.bonds(of: BondFixture.centralAddress)
                #expect(kept.map(\.name) == ["Thermo"])
            } else {
                #expect(await central.bonds().isEmpty)
            }
            await connection.disconnect()
        }
    }

    @Test func theDeviceNameTakesPrecedence() async throws {
        try await BondFixture.run { fixture in
            let device = try Self.device(
                fixture.base, SimulatedSecurity(identity: BluetoothAddress(0xC0DE_0000_0001, kind: .random)),
                advertisedName: "Thermo")
            let central = try await fixture.central.open()
            _ = try await central.firstAdvertisement(timeout: .seconds(5))
            let connection = try await fixture.connect(central, to: device.address)
            try await fixture.base.settle { await central.bonds().first?.name == "Thermo" }
            let name = try #require(try await connection.discover().characteristic(.deviceName, in: .genericAccess))
            #expect(try await connection.read(name) == Array("Thermometer 7".utf8))
            #expect(await central.bonds().map(\.name) == ["Thermometer 7"])
            await connection.disconnect()
            // A name advertised later does not change that.
            _ = try await central.firstAdvertisement(timeout: .seconds(5))
            let again = try await fixture.connect(central, to: BluetoothAddress(0xC0DE_0000_0001, kind: .random))
            #expect(await central.bonds().map(\.name) == ["Thermometer 7"])
            await again.disconnect()
            await central.close()
        }
    }

    @Test func aNameReadBeforePairingIsStoredInTheBond() async throws {
        try await BondFixture.run { fixture in
            let device = try Self.device(
                fixture.base, SimulatedSecurity(identity: BluetoothAddress(0xC0DE_0000_0001, kind: .random)),
                deviceName: "Lamp\0\0")
            let central = try await fixture.central.open()
            let connection = try await central.connect(to: device.address)
            _ = try await connection.readValues(of: .deviceName)
            try await connection.pair()
            try await fixture.base.settle { await central.bonds().first?.name == "Lamp" }
            await connection.disconnect()
            await central.close()
        }
    }

    @Test func theNumberOfCachedNamesIsBounded() {
        let names = DeviceIdentities()
        let addresses = (0..<2000).map { BluetoothAddress(UInt64($0), kind: .random) }
        for address in addresses { names.recordName("\(address)", of: address) }
        #expect(names.name(of: addresses[0]) == nil)
        #expect(names.name(of: addresses[1999]) == "\(addresses[1999])")
        names.recordName("", of: addresses[1999])
        names.recordName(nil, of: addresses[1999])
        #expect(names.name(of: addresses[1999]) == "\(addresses[1999])")
        #expect(names.name(of: BluetoothAddress(1999, kind: .public)) == nil)
    }

    // MARK: A device that does not bond

    @Test func keysOfANonBondingDeviceAreNotStored() async throws {
        try await BondFixture.run { fixture in
            var security = SimulatedSecurity(
                storesKeys: false, identity: BluetoothAddress(0xC0DE_0000_0001, kind: .random))
            security.signs = true
            let device = try Self.device(fixture.base, security)
            let central = try await fixture.central.open()
            let connection = try await fixture.connect(central, to: device.address)
            try await fixture.base.radio.sleep(for: .seconds(5))
            #expect(await central.bonds().isEmpty)
            await connection.disconnect()
            await central.close()
        }
    }
}
