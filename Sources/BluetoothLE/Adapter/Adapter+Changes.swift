import BluetoothKernel
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
        let kernel = try chosenKernel(kernel, .init("list adapters"))
        let management = ManagementClient(on: kernel, log: Logger(label: "bluetooth.adapter"))
        let keeper = BondKeeper(
            bonds, management: management, on: kernel, log: Logger(label: "bluetooth.adapter"))
        let directory = AdapterDirectory(kernel: kernel, management: management, bonds: keeper)
        return await directory.knowingStaticAddresses(try await directory.all())
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
        let kernel = try chosenKernel(kernel, operation)
        let log = Logger(label: "bluetooth.adapter")
        let monitor = AdapterMonitor(on: kernel, management: ManagementClient(on: kernel, log: log), log: log)
        let channel = StreamChannel<AdapterChange>(
            capacity: 1024, policy: .fail, operation: operation, from: kernel.loop)
        await monitor.follow({ channel.send($0) }, onEnd: { channel.finish($0) })
        try await monitor.start()
        return BoundedStream(channel: channel) { [loop = kernel.loop] in
            loop.execute { monitor.assumeIsolated { $0.close(.cancelled(operation)) } }
        }
    }
}
