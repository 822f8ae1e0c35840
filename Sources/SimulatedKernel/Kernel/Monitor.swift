import Capture

/// A kernel's monitor: tells those who listen what passes between it, its controllers and programs.
final class Monitor {
    private var sockets: [MonitorSocketState] = []

    var hasListeners: Bool { !sockets.isEmpty }

    func add(_ socket: MonitorSocketState) {
        sockets.append(socket)
    }

    func remove(_ socket: MonitorSocketState) {
        sockets.removeAll { $0 === socket }
    }

    /// Tells all who listen, if there are any.
    func tell(
        _ kind: CapturedPacketKind, adapter: UInt16 = CapturedPacket.noAdapter,
        _ payload: @autoclosure () -> some Sequence<UInt8>
    ) {
        guard hasListeners else { return }
        let payload = Array(payload())
        for socket in sockets { socket.offer(kind, adapter: adapter, payload) }
    }

    func tell(_ kind: CapturedPacketKind, adapter: UInt16) {
        tell(kind, adapter: adapter, [])
    }
}
