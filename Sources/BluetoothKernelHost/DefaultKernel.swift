import BluetoothHost
import BluetoothSockets
import BluetoothLinux

/// Whether the program has left the choice of its kernel to the environment.
package func isEnvironments(_ kernel: any BluetoothKernel) -> Bool {
    kernel is LinuxKernel || EnvironmentKernel.isSelected(kernel)
}

/// The kernel to use: the given one, or the machine's own.
package func chosenKernel(
    _ kernel: (any BluetoothKernel)?, _ operation: BluetoothError.Operation
) throws(BluetoothError) -> any BluetoothKernel {
    if let kernel { return kernel }
    do {
        return try LinuxKernel.shared
    } catch {
        throw BluetoothError(
            .failed, operation, "This process has no file descriptor left for the Bluetooth event loop.",
            remedy: "Close some, or allow more: ulimit -n 4096", cause: .kernel(error))
    }
}
