import BluetoothPrimitives
import BluetoothSockets
import BluetoothCapture
import Logging

/// A reader of the monitor channel that writes to a trace's file.
//
// Lives on the loop, with its trace.
package final class MonitorListener {
    private let log: Logger
    private var socket: (any PacketSocket)?
    private var writer: (any PacketRecorder)?

    /// Opens the channel without reading from it.
    package init(_ kernel: any BluetoothKernel, log: Logger) throws(KernelError) {
        self.log = log
        let socket = try kernel.openMonitor { [weak self] event in self?.handle(event) }
        // Packets that arrive before the file is open are queued in the kernel.
        socket.setReading(false)
        self.socket = socket
    }

    package func start(_ writer: any PacketRecorder) {
        self.writer = writer
        socket?.setReading(true)
    }

    private func handle(_ event: SocketEvent) {
        switch event {
        case .readable: _ = socket?.receive { receive($0) }
        case .writable: break
        case .closed(let error):
            log.error("The packet trace has ended: \(error)")
            close()
        }
    }

    private func receive(_ bytes: RawSpan) {
        guard let packet = try? CapturedPacket(monitorPacket: bytes) else {
            return log.debug("ignored a monitor packet of \(bytes.byteCount) bytes")
        }
        writer?.record(packet)
    }

    package func close() {
        socket?.close()
        socket = nil
    }
}
