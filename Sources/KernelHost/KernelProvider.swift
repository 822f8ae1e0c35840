import BluetoothHost
import BluetoothKernel
import LinuxKernel
import Logging

/// The adapters of a kernel.
package struct KernelProvider: HostProvider {
    package let kernel: any BluetoothKernel
    private let trace: PacketSynthesis?

    package init(_ kernel: any BluetoothKernel, trace: PacketSynthesis? = nil) {
        (self.kernel, self.trace) = (kernel, trace)
    }

    package var loop: EventLoop { kernel.loop }

    package var isMachine: Bool { kernel is LinuxKernel }

    package func makeDirectory(log: Logger) -> any HostDirectory {
        KernelDirectory(on: kernel, log: log, trace: trace)
    }
}
