import BluetoothSockets
import Synchronization

/// The last reference to a socket.
final class Holder: Sendable {
    private let state: Mutex<(any L2CAPSocket)?>

    init(_ socket: any L2CAPSocket) {
        state = Mutex(socket)
    }

    var socket: (any L2CAPSocket)? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
