import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// A kernel's L2CAP: connects sockets, and gives listeners the channels that peers open.
final class L2CAPSockets {
    private unowned let kernel: HostKernel
    /// Newest first.
    var listeners: [ListenerState] = []

    init(kernel: HostKernel) {
        self.kernel = kernel
    }

    /// Implements `bind` and `connect`.
    func connect(
        to peer: BluetoothAddress, channel: L2CAPChannel, from source: BluetoothAddress, options: L2CAPOptions,
        _ handler: LoopBound<SocketHandler>
    ) throws(KernelError) -> L2CAPSocketState {
        try check(channel, options)
        guard let adapter = kernel.route(from: source, to: peer) else {
            throw KernelError("connect", kernel.isSettling(source) ? .connectionRefused : .hostUnreachable)
        }
        guard adapter.controller.configuration.hasLE else { throw KernelError("connect", .operationNotSupported) }
        guard adapter.settings.isLEEnabled else { throw KernelError("connect", .connectionRefused) }
        let existing = adapter.connections.connection(with: peer)
        if case .fixed = channel, existing?.channels.has(channel) == true {
            throw KernelError("connect", .busy)
        }
        // An attempt that became directed advertising blocks all others.
        if adapter.advertising.isSettingOn, adapter.connections.isInitiating {
            throw KernelError("connect", .busy)
        }
        let connection = existing ?? HostConnection(adapter: adapter, peer: peer, isCentral: true)
        let socket = L2CAPSocketState(
            adapter: adapter, connection: connection, channel: channel, options: options, handler: handler)
        connection.join(socket)
        socket.startConnecting(timeout: options.connectTimeout)
        if existing == nil {
            adapter.connections.add(connection)
        } else if connection.state == .connected, let end = connection.end {
            socket.linkReady(end)
        }
        return socket
    }

    /// Implements `bind` and `listen`.
    func listen(
        channel: L2CAPChannel, on source: BluetoothAddress, options: L2CAPOptions,
        _ accept: LoopBound<L2CAPAcceptHandler>
    ) throws(KernelError) -> ListenerState {
        try check(channel, options)
        var channel = channel
        if case .dynamic(let psm) = channel {
            if psm != 0, psm < 0x80, !kernel.conditions.hasNetBindService { throw KernelError("bind", .accessDenied) }
            // The kernel assigns a PSM if none is given, and each PSM to one listener.
            let taken = listeners.map(\.channel)
            if psm == 0 {
                guard let free = (0x80...0xFF).first(where: { !taken.contains(.dynamic(psm: $0)) }) else {
                    throw KernelError("bind", .invalidArgument)
                }
                channel = .dynamic(psm: free)
            } else if listeners.contains(where: { $0.channel == channel && $0.source == source }) {
                throw KernelError("bind", .addressInUse)
            }
        }
        let listener = ListenerState(
            kernel: kernel, channel: channel, source: source, options: options, accept: accept)
        listeners.insert(listener, at: 0)
        return listener
    }

    /// The listeners for an adapter's links, newest first.
    func listeners(of adapter: SimulatedAdapter) -> [ListenerState] {
        listeners.filter { $0.matches(adapter) }
    }

    private func check(_ channel: L2CAPChannel, _ options: L2CAPOptions) throws(KernelError) {
        switch channel {
        case .fixed(let identifier): if identifier != 4 { throw KernelError("bind", .invalidArgument) }
        case .dynamic(let psm): if psm > 0xFF { throw KernelError("bind", .invalidArgument) }
        }
        if options.flowControl == .enhancedCreditBased, !kernel.conditions.hasEnhancedFlowControl {
            throw KernelError("setsockopt(BT_MODE)", .protocolOptionNotAvailable)
        }
    }
}

/// A listening L2CAP socket.
final class ListenerState {
    let identifier: Int
    let kernel: HostKernel
    let channel: L2CAPChannel
    let source: BluetoothAddress
    let options: L2CAPOptions
    var accept: LoopBound<L2CAPAcceptHandler>?

    init(
        kernel: HostKernel, channel: L2CAPChannel, source: BluetoothAddress, options: L2CAPOptions,
        accept: LoopBound<L2CAPAcceptHandler>
    ) {
        self.kernel = kernel
        self.channel = channel
        self.source = source
        self.options = options
        self.accept = accept
        identifier = kernel.world.makeIdentifier()
        kernel.world.listeners[identifier] = self
    }

    func close() {
        guard let accept else { return }
        self.accept = nil
        kernel.world.release(accept)
        kernel.world.listeners[identifier] = nil
        kernel.l2cap.listeners.removeAll { $0 === self }
    }

    /// Whether it accepts the links of `adapter`.
    func matches(_ adapter: SimulatedAdapter) -> Bool {
        // Zero means any adapter, but its type must still be that of the adapter's own address.
        source.isZero ? source.kind == adapter.identityAddress.kind : source == adapter.identityAddress
    }
}
