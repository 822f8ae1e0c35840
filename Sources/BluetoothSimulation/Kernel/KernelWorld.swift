import BluetoothLoop
import BluetoothPrimitives

/// The state of a simulated radio with machines: their kernels, and the sockets of programs.
final class KernelWorld: World {
    private(set) var kernels: [HostKernel] = []
    /// The open sockets and listeners by the numbers that the program's objects hold.
    var sockets: [Int: SocketState] = [:]
    var listeners: [Int: ListenerState] = [:]
    /// The watches on kernels' radio switches.
    private(set) var radioSwitchWatches: [Int: (kernel: HostKernel, handler: LoopBound<() -> Void>)] = [:]

    // MARK: Machines

    /// Adds a machine with adapters, in the order of their indexes; returns its number.
    func addKernel(adapters: [SimulatedController]) -> Int {
        let kernel = HostKernel(world: self, conditions: MachineConditions())
        kernels.append(kernel)
        for controller in adapters { kernel.plug(controller, address: address(for: controller), isSettled: true) }
        return kernels.count - 1
    }

    /// A controller's own address, or the next free one.
    func address(for controller: SimulatedController) -> BluetoothAddress {
        if let address = controller.address { return address }
        let count = kernels.reduce(0) { $0 + $1.pluggedCount }
        return BluetoothAddress(0x00AA_0100_0001 + UInt64(count), kind: .public)
    }

    // MARK: Open sockets

    /// Closes all sockets and listeners, oldest first.
    func closeAll() {
        for socket in sockets.sorted(by: { $0.key < $1.key }) { socket.value.close() }
        for listener in listeners.sorted(by: { $0.key < $1.key }) { listener.value.close() }
    }

    /// The open sockets and listeners, for the report of a stalled simulation.
    var openThings: [String] {
        kernels.flatMap(\.adapters).flatMap(\.connections.all).map { connection in
            let sockets = connection.channels.sockets.count
            return "hci\(connection.adapter.index) \(connection.peer.digits) \(connection.state), \(sockets) sockets"
        }
    }

    // MARK: Radio switches

    /// Adds a watch on the switches of `kernel`; returns its number.
    func watchRadioSwitches(of kernel: HostKernel, _ handler: LoopBound<() -> Void>) -> Int {
        let identifier = makeIdentifier()
        radioSwitchWatches[identifier] = (kernel, handler)
        return identifier
    }

    func endRadioSwitchWatch(_ identifier: Int) {
        if let watch = radioSwitchWatches.removeValue(forKey: identifier) { release(watch.handler) }
    }

    /// Notifies the watches of a machine's switches; several changes may be reported as one.
    func radioSwitchesChanged(of kernel: HostKernel) {
        for (identifier, watch) in radioSwitchWatches.sorted(by: { $0.key < $1.key }) where watch.kernel === kernel {
            post(.radioSwitches(identifier))
        }
    }
}
