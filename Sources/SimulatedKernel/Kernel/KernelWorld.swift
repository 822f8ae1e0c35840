/// A band with machines on it: their kernels, and what programs have open there.
final class KernelWorld: World {
    var kernels: [HostKernel] = []
    var sockets: [Int: SocketState] = [:]
    var listeners: [Int: ListenerState] = [:]
    var radioSwitchWatches: [Int: RadioSwitchHandler] = [:]

    /// What is open, for whoever wonders why nothing happens.
    var openThings: [String] {
        var all: [String] = []
        for kernel in kernels {
            for adapter in kernel.adapters {
                for connection in adapter.connections {
                    let sockets = connection.channels.count
                    all.append("hci\(adapter.index) \(connection.peer) \(connection.state), \(sockets) sockets")
                }
            }
        }
        return all
    }
}
