import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import CBluetoothSockets

/// A listening L2CAP socket.
final class LinuxL2CAPListener: L2CAPListener {
    /// The pause before accepting again when the process has no descriptor left or the system no memory.
    private static let pause = Duration.seconds(1)

    let channel: L2CAPChannel
    private let socket: DescriptorSocket
    private let driver: EpollDriver
    private let options: L2CAPOptions
    private let accept: LoopBound<L2CAPAcceptHandler>
    private let resume: LoopTimer

    init(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions, driver: EpollDriver,
        loop: EventLoop, _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) {
        let descriptor = try FileDescriptor.l2cap()
        try descriptor.bind(sockaddr_l2(adapter, channel))
        try descriptor.apply(options)
        switch channel {
        case .fixed:
            self.channel = channel
            try descriptor.listen(backlog: 16)
        case .dynamic:
            if let security = options.security { try descriptor.setSecurity(security) }
            try descriptor.listen(backlog: 16)
            self.channel = .dynamic(psm: try descriptor.localAddress().psm)
        }
        let socket = DescriptorSocket(descriptor, driver: driver)
        self.socket = socket
        self.driver = driver
        self.options = options
        self.accept = LoopBound(accept, on: loop)
        resume = loop.makeTimer { [weak socket] in socket?.setReading(true) }
        try socket.start { [weak self] event in
            if event == .readable { self?.acceptOne() }
        }
    }

    deinit {
        socket.closeUnused()
    }

    func close() {
        socket.close()
        resume.cancel()
    }

    private func acceptOne() {
        let accepted: LinuxL2CAPSocket
        do throws(KernelError) {
            accepted = try LinuxL2CAPSocket(accepted: try socket.descriptor.accept(), driver: driver)
        } catch {
            switch error.number {
            // Another accept was quicker, or the peer disconnected before it was accepted.
            case .wouldBlock, .connectionAborted, .notConnected: break
            default:
                socket.setReading(false)
                resume.set(after: Self.pause)
            }
            return
        }
        let handler = accept.value(accepted)
        do throws(KernelError) {
            try accepted.socket.start(handler)
            guard accepted.socket.descriptor.isOpen else { return }
            // Accepted sockets have the listener's MTUs but not its buffers.
            try accepted.socket.descriptor.applyBuffers(options)
            try raiseSecurity(of: accepted)
        } catch {
            accepted.socket.fail(with: error)
        }
    }

    /// On fixed channels the kernel does not raise the security of a listener's connections.
    private func raiseSecurity(of accepted: LinuxL2CAPSocket) throws(KernelError) {
        guard case .fixed = channel, let level = options.security else { return }
        if try accepted.security().level < level { try accepted.raiseSecurity(to: level) }
    }
}
