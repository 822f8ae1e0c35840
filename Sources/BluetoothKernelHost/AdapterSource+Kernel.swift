import BluetoothHost
import BluetoothLinux
import BluetoothLoop
import BluetoothSockets

/// The source to use: the given one, or this machine's kernel.
package func chosenSource(
    _ source: (any AdapterSource)?, _ operation: BluetoothError.Operation
) throws(BluetoothError) -> any AdapterSource {
    if let source { return source }
    do {
        return try LinuxKernel.shared
    } catch {
        throw BluetoothError(
            .failed, operation, "This process has no file descriptor left for the Bluetooth event loop.",
            remedy: "Close some, or allow more: ulimit -n 4096", cause: .kernel(error))
    }
}

extension AdapterSource {
    /// Whether the program has left the choice of its source to the environment.
    package var isEnvironments: Bool {
        self is LinuxKernel || (hostSource.content as? any BluetoothKernel).map(EnvironmentKernel.isSelected) ?? false
    }

    /// Whether the adapters are this machine's, so that their devices exist again the next time the program runs.
    package var isMachine: Bool { hostSource.content is LinuxKernel }

    /// The kernel, if the source is one.
    package func kernel(_ operation: BluetoothError.Operation) throws(BluetoothError) -> any BluetoothKernel {
        if let kernel = hostSource.content as? any BluetoothKernel { return kernel }
        throw BluetoothError(.unsupported, operation, "This source of adapters is no kernel.")
    }

    /// The provider of the source's hosts.
    /// - Parameter trace: records the packets of a kernel's adapters.
    package func provider(recordedBy trace: PacketSynthesis? = nil) -> any HostProvider {
        switch hostSource.content {
        case let provider as any HostProvider: return provider
        case let kernel as any BluetoothKernel: return KernelProvider(kernel, trace: trace)
        default: preconditionFailure("Only a kernel or a provider of hosts is a source of adapters.")
        }
    }
}
