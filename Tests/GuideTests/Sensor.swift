import BluetoothGATT
import BluetoothLE
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

/// The device of the guide: a heart rate sensor with one of everything, named Pulse-Z1.
///
/// ```
/// 0001 service 1800        0003 device name   0005 appearance
/// 0006 service 1801        0008 Service Changed   000B Client Supported Features   000D Database Hash
///                          000F Server Supported Features
/// 0010 service FFE0        0012 FFE1 read, write, write without response
/// ```
final class Sensor: Sendable {
    static let name = "Pulse-Z1"
    let address = BluetoothAddress(0xC098_E512_3458, kind: .random)
    let server: SimulatedGATTServer
    let peripheral: SimulatedPeripheral
    /// The writes to dynamic values.
    private let state = Mutex<[AttributeWrite]>([])

    var writes: [AttributeWrite] { state.withLock { $0 } }

    init(on radio: SimulatedRadio) throws {
        server = try SimulatedGATTServer(Self.services)
        peripheral = SimulatedPeripheral(
            on: radio, address: address,
            advertisements: [
                try SimulatedAdvertisement(
                    fields: [.flags([.leGeneralDiscoverable, .brEDRNotSupported]), .localName(Self.name)],
                    scanResponse: [.services(["180D", "180F"])])
            ], signalStrength: -55, gatt: server, channels: { _ in EchoHandler() })
        peripheral.setService(0x0085, receiveMTU: 512)
        // Enhanced bearers, which need pairing.
        peripheral.setService(0x0027, receiveMTU: 517, security: .medium)
        peripheral.setSecurity(SimulatedSecurity())
        server.onWrite { [weak self] writes, _ in
            self?.state.withLock { $0 += writes }
            return .accept
        }
    }

    /// The handle of a value.
    func handle(of characteristic: BluetoothUUID, in service: BluetoothUUID) -> AttributeHandle {
        server.handle(of: characteristic, in: service) ?? AttributeHandle(0)
    }

    /// Advances the time until there is a subscriber, then sends it a value.
    func notify(_ value: [UInt8], of characteristic: BluetoothUUID, in service: BluetoothUUID, _ fixture: Fixture)
        async throws
    {
        let handle = handle(of: characteristic, in: service)
        try await fixture.settle { !self.server.subscribers(of: handle).isEmpty }
        await server.notify(value, of: handle)
    }

    private static var services: [GATTService] {
        func own(_ uuid: BluetoothUUID, _ properties: CharacteristicProperties, _ value: [UInt8]) -> GATTCharacteristic
        {
            GATTCharacteristic(uuid, properties: properties, value: .stored(value))
        }
        let format: [UInt8] = [0x0E, 0xFE, 0x2F, 0x27, 1, 0, 0]  // sint16 × 10⁻² °C
        return [
            GATTService(
                .genericAccess,
                characteristics: [
                    own(.deviceName, .read, Array(name.utf8)), own(.appearance, .read, [0x41, 0x03]),
                ]),
            GATTService(
                .genericAttribute,
                characteristics: [
                    GATTCharacteristic(.serviceChanged, properties: .indicate, value: .stored([])),
                    GATTCharacteristic(.clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8),
                    own(.databaseHash, .read, []), own(.serverSupportedFeatures, .read, [1]),
                ]),
            GATTService(
                0xFFE0,
                characteristics: [
                    GATTCharacteristic(0xFFE1, properties: [.read, .write, .writeWithoutResponse], value: .stored([1]))
                ]),
            GATTService(
                0x180D, includedServices: [0x180F],
                characteristics: [
                    GATTCharacteristic(0x2A37, properties: .notify), own(0x2A38, .read, [2]),
                    GATTCharacteristic(0x2A39, properties: .write, valueLengths: 1...1),
                ]),
            GATTService(0x180F, characteristics: [own(0x2A19, [.read, .notify], [97])]),
            GATTService(
                0x1812, characteristics: [own(0x2A4D, [.read, .write], [1]), own(0x2A4D, [.read, .write], [2])]),
            GATTService(
                0x181A,
                characteristics: [
                    GATTCharacteristic(
                        0x2A6E, properties: .read, value: .stored([0x42, 0x0E]),
                        descriptors: [GATTDescriptor(.characteristicPresentationFormat, value: .stored(format))])
                ]),
            GATTService(
                0xFFF0,
                characteristics: [
                    GATTCharacteristic(
                        0xFFF1, properties: [.read, .write], extendedProperties: .reliableWrite, value: .stored([0])),
                    own(0xFFF2, [.read, .write], [1, 2, 3, 4, 5, 6]),
                ]),
        ]
    }
}
