import BluetoothKernel

/// A simulated kernel for one story.
struct SimulatedRig {
    let kernel: any BluetoothKernel
    /// Lets time pass.
    let begin: () -> Void
    /// Stops time and the kernel's loop.
    let end: () -> Void
}

/// A fresh simulated kernel with two adapters in range of each other; nil as long as there is none.
func simulatedKernel() -> SimulatedRig? { nil }
