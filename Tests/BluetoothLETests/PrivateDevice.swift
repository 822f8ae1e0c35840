import BluetoothSimulation
import Testing

@testable import BluetoothLE

/// A device that changes its private address, and the identity by which it is known.
struct PrivateDevice: Sendable {
    /// Its identity address.
    static let own = BluetoothAddress(0xC0DE_0000_0001, kind: .random)

    let device: SimulatedPeripheral
    let identity: DeviceIdentity

    init(_ fixture: Fixture, name: String = "phone") throws {
        device = SimulatedPeripheral(
            on: fixture.radio, address: BluetoothAddress(0x4000_0000_0011, kind: .random),
            advertisements: [], gatt: try SimulatedGATTServer([CachingTests.battery]))
        device.setSecurity(SimulatedSecurity(identity: Self.own))
        identity = DeviceIdentity(name: name, key: try #require(device.identityResolvingKey))
    }

    /// Advertises under a new private address.
    @discardableResult
    func rotate() -> BluetoothAddress? {
        guard let address = device.makePrivateAddress() else { return nil }
        device.setAdvertisements([SimulatedAdvertisement(address: address)])
        return address
    }
}
