import BluetoothKernel

/// Whom a kernel tells that a switch has changed.
struct RadioSwitchHandler {
    unowned let kernel: HostKernel
    let handler: LoopBound<() -> Void>
}

extension HostKernel {
    /// Tells everybody who follows the switches, one or several changes at once.
    func radioSwitchesChanged() {
        for (identifier, watch) in world.radioSwitchWatches.sorted(by: { $0.key < $1.key }) where watch.kernel === self
        {
            world.outputs.append(.radioSwitches(identifier))
        }
    }
}
