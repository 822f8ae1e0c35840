import BluetoothLE

/// The benchmark service, with which a central measures a link.
///
/// All numbers are little-endian. A measurement has a number from 0 to 255, the *run*, which the central chooses.
///
/// | characteristic | UUID | properties | |
/// | --- | --- | --- | --- |
/// | Control | `…0002` | write, read | written: ``BenchmarkControl``; read: ``BenchmarkReport`` |
/// | Sink | `…0003` | write without response | receives ``BenchmarkPacket`` from the central |
/// | Source | `…0004` | notify | sends ``BenchmarkPacket`` to the central |
///
/// Each central has a state of its own, which ends with its link.
enum BenchmarkService {
    static let uuid = own(0x0001)
    static let control = own(0x0002)
    static let sink = own(0x0003)
    static let source = own(0x0004)

    /// The advertised name of `ble serve bench`.
    static let deviceName = "Bench"

    private static func own(_ number: UInt64) -> BluetoothUUID {
        BluetoothUUID(high: 0x8D3A_0000_52C1_4F7E | number << 32, low: 0xA16B_4E90_7CF2_D5B8)
    }
}

/// The characteristics of the benchmark service of a device.
struct BenchmarkCharacteristics: Sendable {
    var control, sink, source: RemoteCharacteristic

    /// Nil if the database has no benchmark service, or not all of it.
    init?(in database: RemoteDatabase) {
        func found(_ uuid: BluetoothUUID) -> RemoteCharacteristic? {
            database.characteristic(uuid, in: BenchmarkService.uuid)
        }
        guard let control = found(BenchmarkService.control), let sink = found(BenchmarkService.sink),
            let source = found(BenchmarkService.source)
        else { return nil }
        (self.control, self.sink, self.source) = (control, sink, source)
    }
}
