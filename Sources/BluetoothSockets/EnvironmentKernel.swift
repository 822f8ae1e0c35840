import Synchronization

/// The kernel that the environment has selected for this process instead of the machine's own.
package enum EnvironmentKernel {
    private static let selected = Mutex<ObjectIdentifier?>(nil)

    /// Records the selection, whose kernel is never released.
    package static func select(_ kernel: any BluetoothKernel) { selected.withLock { $0 = ObjectIdentifier(kernel) } }

    package static func isSelected(_ kernel: any BluetoothKernel) -> Bool {
        selected.withLock { $0 == ObjectIdentifier(kernel) }
    }
}
