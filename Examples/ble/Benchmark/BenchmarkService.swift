import BluetoothLE

/// The benchmark service, with which a central measures a link.
///
/// All numbers are little-endian. A measurement has a number from 0 to 255, the *run*, which the central chooses.
///
/// | characteristic | UUID | properties | |
/// | --- | --- | --- | --- |
/// | Control | `…0002` | write, read | written: ``BenchmarkControl``; read: ``BenchmarkReport`` |
/// | Sink | `…0003` | write, write without response | receives ``BenchmarkPacket`` from the central |
/// | Source | `…0004` | notify, indicate | sends ``BenchmarkPacket`` to the central |
/// | Echo | `…0005` | read, write, write without response, notify | reads return the value last written, a Write Command is notified back |
///
/// Each central has a state of its own, which ends with its link.
enum BenchmarkService {
    static let uuid = own(0x0001)
    static let control = own(0x0002)
    static let sink = own(0x0003)
    static let source = own(0x0004)
    static let echo = own(0x0005)

    /// The advertised name of `ble serve bench`.
    static let deviceName = "Bench"

    private static func own(_ number: UInt64) -> BluetoothUUID {
        BluetoothUUID(high: 0x8D3A_0000_52C1_4F7E | number << 32, low: 0xA16B_4E90_7CF2_D5B8)
    }
}

/// How the source sends.
enum BenchmarkSending: UInt8, Sendable, CaseIterable {
    case notifications = 0
    case indications = 1
}
