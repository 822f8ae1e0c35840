import BluetoothAdvertising
import BluetoothLE
import BluetoothPrimitives
import BluetoothSimulation
import LINBLE
import LINBLESample
import LINBLESimulation

/// The simulated radio of --simulate, in real time: a machine whose adapter is off, a LINBLE with the microcontroller of
/// the vendor's samples, a LINBLE that echoes, a heart rate sensor, and some beacons.
enum SimulatedWorld {
    static func makeKernel(adapterCount: Int = 1) -> any AdapterSource { makeKernels(adapterCount: adapterCount).own }

    /// The machine, and a second one in range whose adapter is on.
    static func makeKernels(adapterCount: Int = 1) -> (own: any AdapterSource, visitor: any AdapterSource) {
        let radio = SimulatedRadio(time: .real, seed: 0x11B1E)
        _ = SimulatedLINBLE(
            on: radio,
            .init(
                name: "LINBLE-Z1", address: BluetoothAddress(0xC098_E512_3456, kind: .random),
                attached: SampleMicrocontroller(), splitsAtRandom: true, signalStrength: -58))
        _ = SimulatedLINBLE(
            on: radio,
            .init(
                name: "LINBLE-ECHO", address: BluetoothAddress(0xC098_E512_3457, kind: .random), signalStrength: -63))
        SimulatedSensor.put(on: radio)
        for (index, field) in beacons.enumerated() {
            var data = AdvertisementDataBuilder()
            // Each fits into a legacy advertisement together with the flags.
            try? data.add(.flags(.brEDRNotSupported))
            try? data.add(field)
            SimulatedPeripheral(
                on: radio, advertisements: [.beacon(data.bytes, interval: .milliseconds(200 + 150 * index))],
                signalStrength: Int8(clamping: -66 - 7 * index))
        }
        return (radio.makeKernel(adapters: Array(repeating: .fresh, count: adapterCount)), radio.makeKernel())
    }

    /// The machine's stored bond, with a device out of range.
    static let bonds = MemoryBondStore(
        [
            Bond(
                identity: BluetoothAddress(0xC098_E512_3460, kind: .random),
                longTermKeys: [
                    LongTermKey(
                        address: BluetoothAddress(0xC098_E512_3460, kind: .random), kind: .authenticated,
                        isCentral: true, value: key(0x5E))
                ],
                identityResolvingKey: key(0x1D), name: "Door lock", time: 1_790_000_000)
        ], of: BluetoothAddress(0x00AA_0100_0001, kind: .public))

    /// The bonds of a machine that has just begun.
    static let noBonds = MemoryBondStore()

    private static func key(_ byte: UInt8) -> SecurityKey {
        SecurityKey([UInt8](repeating: byte, count: SecurityKey.byteCount)) ?? .zero
    }

    private static var beacons: [ADField] {
        let uuid: BluetoothUUID = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
        let beacon = IBeacon(proximityUUID: uuid, major: 7, minor: 42, measuredPower: -59)
        return [
            .manufacturerData(beacon.manufacturerData),
            .serviceData(
                ServiceData(service: Eddystone.service, data: [0x10, 0xEB, 0x03] + Array("swift".utf8) + [0x08])),
            .localName("Thermometer"),
        ]
    }
}
