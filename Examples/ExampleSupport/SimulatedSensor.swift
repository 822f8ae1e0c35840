import BluetoothLE
import BluetoothSimulation

/// The peripheral of --simulate, with one of everything a database can have: a heart rate sensor with a thermometer and
/// a custom service.
public enum SimulatedSensor {
    /// The advertised name.
    public static let name = "Pulse-Z1"
    /// The passkey it displays while pairing.
    public static let passkey: UInt32 = 123_456
    /// The static random address.
    public static let address = BluetoothAddress(0xC098_E512_3458, kind: .random)

    private static func own(_ number: UInt32) -> BluetoothUUID {
        BluetoothUUID(high: UInt64(number) << 32 | 0x1234_5678, low: 0x9ABC_DEF0_1234_5678)
    }

    private static let bodyLocation: [UInt8] = [2]
    private static let heartRate: BluetoothUUID = "2A37"
    private static let temperature: BluetoothUUID = "2A1C"

    static func put(on radio: SimulatedRadio) {
        guard let server = try? SimulatedGATTServer(services) else { return }
        server.onRead { _, _ in .refuse(.insufficientAuthentication) }
        // Heart Rate Service §3.3.1: 1 resets the energy expended; any other value is an application error.
        server.onWrite { writes, _ in
            writes.allSatisfy { $0.value == [1] } ? .accept : .refuse(ATTErrorCode(0x80))
        }
        beat(server, on: radio)
        guard
            let advertisement = try? SimulatedAdvertisement(
                fields: [.flags([.leGeneralDiscoverable, .brEDRNotSupported]), .localName(name)],
                scanResponse: [.services(["180D", "1809", "180F"])])
        else { return }
        let peripheral = SimulatedPeripheral(
            on: radio, address: address, advertisements: [advertisement], signalStrength: -55, gatt: server)
        // Displays the passkey to a central with a keyboard.
        peripheral.setSecurity(SimulatedSecurity(ioCapability: .displayOnly, passkey: passkey))
    }

    /// Sends a heart rate and a temperature every half second while there are subscribers.
    private static func beat(_ server: SimulatedGATTServer, on radio: SimulatedRadio) {
        guard let rate = server.handle(of: heartRate, in: "180D"),
            let warmth = server.handle(of: temperature, in: "1809")
        else { return }
        server.onSubscription { handle, configuration, _ in
            guard !configuration.isEmpty, handle == rate || handle == warmth else { return }
            Task {
                var count: UInt8 = 0
                while true {
                    try await radio.sleep(for: .milliseconds(500))
                    let kind: ClientCharacteristicConfiguration = handle == rate ? .notification : .indication
                    guard !server.subscribers(of: handle, as: kind).isEmpty else { return }
                    if handle == rate {
                        await server.notify([0, 72 + count % 5], of: handle)
                    } else {
                        // From 36.5 °C, as a mantissa with the exponent −1.
                        await server.indicate([0, 0x6D + count % 5, 0x01, 0, 0xFF], of: handle)
                    }
                    count &+= 1
                }
            }
        }
    }

    private static var services: [GATTService] {
        [
            GATTService(
                .genericAccess,
                characteristics: [
                    GATTCharacteristic(.deviceName, properties: .read, value: .stored(Array(name.utf8))),
                    GATTCharacteristic(.appearance, properties: .read, value: .stored([0x41, 0x03])),
                    GATTCharacteristic(
                        .peripheralPreferredConnectionParameters, properties: .read,
                        value: .stored([6, 0, 40, 0, 0, 0, 0xF4, 0x01])),
                ]),
            GATTService(
                .genericAttribute,
                characteristics: [GATTCharacteristic(.serviceChanged, properties: .indicate, value: .dynamic)]),
            GATTService(
                "180D", includedServices: ["180F"],
                characteristics: [
                    GATTCharacteristic(heartRate, properties: .notify),
                    GATTCharacteristic("2A38", properties: .read, value: .stored(bodyLocation)),
                    GATTCharacteristic("2A39", properties: .write, valueLengths: 1...1),
                ]),
            GATTService("1809", characteristics: [GATTCharacteristic(temperature, properties: .indicate)]),
            GATTService(
                "180F",
                characteristics: [
                    GATTCharacteristic(
                        "2A19", properties: [.read, .notify], value: .stored([97]),
                        descriptors: [
                            GATTDescriptor(
                                .characteristicPresentationFormat, value: .stored([0x04, 0, 0xAD, 0x27, 1, 0, 0]))
                        ])
                ]),
            GATTService(
                "180A",
                characteristics: [
                    GATTCharacteristic("2A29", properties: .read, value: .stored(Array("Simulated".utf8))),
                    GATTCharacteristic("2A24", properties: .read, value: .stored(Array("Z1".utf8))),
                ]),
            ownService, secondary,
        ]
    }

    private static var ownService: GATTService {
        func label(_ text: String) -> GATTDescriptor {
            GATTDescriptor(.characteristicUserDescription, value: .stored(Array(text.utf8)))
        }
        return GATTService(
            own(0x5E01_0000), includedServices: [.uuid(own(0x5E02_0000))],
            characteristics: [
                GATTCharacteristic(
                    own(0xCA01_0001), properties: [.read, .write], value: .stored(Array("note".utf8)),
                    descriptors: [label("a note of up to 512 bytes")]),
                GATTCharacteristic(
                    own(0xCA01_0002), properties: [.read, .writeWithoutResponse], value: .stored([]),
                    descriptors: [label("writable by command")]),
                GATTCharacteristic(
                    own(0xCA01_0003), properties: [.read, .write], extendedProperties: .reliableWrite,
                    value: .stored([0, 0]), descriptors: [label("written reliably")]),
                GATTCharacteristic(
                    own(0xCA01_0004), properties: .read,
                    value: .stored((0..<300).map { UInt8(truncatingIfNeeded: $0) }),
                    descriptors: [label("a long value")]),
                GATTCharacteristic(
                    own(0xCA01_0005), properties: .read, permissions: [.read, .readEncrypted],
                    value: .stored(Array("secret".utf8)), descriptors: [label("requires pairing")]),
            ])
    }

    private static var secondary: GATTService {
        GATTService(
            own(0x5E02_0000), isPrimary: false,
            characteristics: [GATTCharacteristic(own(0xCA02_0001), properties: .read, value: .stored([1, 2, 3]))])
    }
}
