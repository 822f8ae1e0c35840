import Advertising
import BluetoothHost
import BluetoothKernel
import Synchronization

/// What is told of an advertisement, whoever asks.
final class AdvertisingRecord: Sendable {
    let facts = Mutex(AdvertisingFacts())
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
