import BluetoothLoop
import BluetoothPrimitives
import Synchronization

/// One value for each adapter, shared by all of this process's objects for it.
///
/// Thread-safe.
final class AdapterTable<Value: Sendable>: Sendable {
    /// An adapter, among those of all kernels.
    struct Key: Hashable {
        private let loop: ObjectIdentifier
        private let address: BluetoothAddress

        init(_ address: BluetoothAddress, on loop: EventLoop) {
            (self.loop, self.address) = (ObjectIdentifier(loop), address)
        }
    }

    private let initial: Value
    private let isUnused: @Sendable (Value) -> Bool
    private let values = Mutex<[Key: Value]>([:])

    /// - Parameters:
    ///   - initial: what an adapter begins with.
    ///   - isUnused: whether a value says nothing, so that it need not be kept.
    init(_ initial: Value, isUnused: @escaping @Sendable (Value) -> Bool) {
        (self.initial, self.isUnused) = (initial, isUnused)
    }

    /// Reads or changes an adapter's value.
    func with<Result: Sendable>(_ key: Key, _ body: (inout Value) -> Result) -> Result {
        values.withLock { values in
            var value = values[key] ?? initial
            let result = body(&value)
            values[key] = isUnused(value) ? nil : value
            return result
        }
    }
}
