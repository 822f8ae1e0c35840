import Advertising
import BluetoothKernel
import BluetoothPrimitives
import HCI

/// One consumer of what a controller hears.
struct ScanSession {
    let id: UInt64
    let settings: ScanSettings
    let channel: StreamChannel<Advertisement>
    private let duplicates: ScanOptions.Duplicates
}
