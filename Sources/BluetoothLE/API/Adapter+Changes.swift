import BluetoothKernel
import KernelHost
import Logging

extension Adapter {
    /// All adapters of this machine, lowest index first. Needs no privilege.
    /// - Parameters:
    ///   - bonds: where the static addresses of adapters without a public one are looked up.
    ///   - kernel: whose adapters; nil for the machine's own kernel.
    /// - Throws: `.noBluetooth` when the kernel has no Bluetooth.
    public static func all(
        bonds: BondKeeping = .standard, on kernel: (any BluetoothKernel)? = nil
    ) async throws(BluetoothError) -> [AdapterInformation] {
        let provider = KernelProvider(try chosenKernel(kernel, .init("list adapters")))
        return try await LooseSession(on: provider.loop).all(
            bonds, of: provider, log: Logger(label: "bluetooth.adapter"))
    }

    /// The adapters of this machine as they come, go and change: those that are there come first, as
    /// ``AdapterChange/added(_:)``. Needs no privilege.
    ///
    /// The stream lives until its loop is left; it then finishes nothing but itself. It throws `.overflow` when 1024
    /// changes wait for the consumer, and when the kernel's management interface ends. That a radio switch was released
    /// is told at once where `/dev/rfkill` may be read, otherwise with the adapter's next change.
    /// - Parameter kernel: whose adapters; nil for the machine's own kernel.
    /// - Throws: `.noBluetooth` when the kernel has no Bluetooth.
    public static func changes(
        on kernel: (any BluetoothKernel)? = nil
    ) async throws(BluetoothError) -> BoundedStream<AdapterChange> {
        let operation = BluetoothError.Operation("follow the adapters")
        let provider = KernelProvider(try chosenKernel(kernel, operation))
        return try await LooseSession(on: provider.loop).changes(
            operation, of: provider, log: Logger(label: "bluetooth.adapter"))
    }
}
