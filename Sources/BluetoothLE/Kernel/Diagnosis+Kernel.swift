import BluetoothKernel
import KernelHost

extension Diagnosis {
    /// Looks at everything. Needs no privilege and changes nothing.
    /// - Parameter kernel: whose Bluetooth; nil for the machine's own kernel.
    public static func run(on kernel: (any BluetoothKernel)? = nil) async -> Diagnosis {
        let chosen: any BluetoothKernel
        do {
            chosen = try chosenKernel(kernel, .init("look"))
        } catch {
            return Diagnosis(findings: [finding("process", error)])
        }
        return await look(at: chosen) { () throws(BluetoothError) in try await Adapter.all(on: chosen) }
    }
}
