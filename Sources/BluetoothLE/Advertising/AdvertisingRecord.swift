import Advertising
import BluetoothKernel
import Synchronization

/// How an advertisement stands.
public enum AdvertisingState: Hashable, Sendable {
    /// The kernel has it, and sends it as far as links leave room.
    case advertising
    /// It is not sent for now, and why; it goes on by itself.
    case waiting(BluetoothError)
    /// It has ended for good, and why: `.cancelled` when this program stopped it.
    case ended(BluetoothError)
}

/// What is told of an advertisement, whoever asks.
final class AdvertisingRecord: Sendable {
    struct Facts {
        var payloads = AdvertisingPayloads([])
        var transmitPower: Int?
        var instance: UInt8?
    }

    let facts = Mutex(Facts())
    let standing: LatestValue<AdvertisingState>
    let operation: BluetoothError.Operation

    init(_ operation: BluetoothError.Operation, on loop: EventLoop) {
        self.operation = operation
        let notYet = BluetoothError(.busy, operation, "It has not begun yet.", isRetryable: true)
        standing = LatestValue(.waiting(notYet), operation, on: loop)
    }

    /// It has ended; only the first reason counts.
    func end(_ reason: BluetoothError) {
        standing.set(.ended(reason))
        standing.finish()
    }

    var hasEnded: Bool {
        if case .ended = standing.value { true } else { false }
    }
}
