import BluetoothKernel

/// Whom a kernel tells that a switch has changed.
struct RadioSwitchHandler {
    unowned let kernel: HostKernel
    let handler: LoopBound<() -> Void>
}
