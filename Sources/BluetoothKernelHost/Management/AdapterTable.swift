import BluetoothLoop
import BluetoothPrimitives
import Synchronization

/// A value of ``AdapterTable``.
protocol AdapterTableValue {
    /// The value that an adapter begins with.
    init()
    /// Whether the value says nothing, so that it need not be kept.
    var isEmpty: Bool { get }
}

extension Array: AdapterTableValue {}

/// One value for each adapter, shared by all of this process's objects for it.
///
/// Thread-safe.
final class AdapterTable<Value: AdapterTableValue & Sendable>: Sendable {
    /// An adapter, among those of all kernels.
    struct Key: Hashable {
        private let loop: ObjectIdentifier
        private let address: BluetoothAddress
        private let index: UInt16?

        init(_ address: BluetoothAddress, on loop: EventLoop) {
            (self.loop, self.address, index) = (ObjectIdentifier(loop), address, nil)
        }

        /// An adapter that has its address only while it has its index.
        init(_ index: UInt16, _ address: BluetoothAddress, on loop: EventLoop) {
            (self.loop, self.address, self.index) = (ObjectIdentifier(loop), address, index)
        }
    }

    private let values = Mutex<[Key: Value]>([:])

    /// Reads or changes an adapter's value.
    func with<Result: Sendable>(_ key: Key, _ body: (inout Value) -> Result) -> Result {
        values.withLock { values in
            var value = values[key] ?? Value()
            let result = body(&value)
            values[key] = value.isEmpty ? nil : value
            return result
        }
    }
}
