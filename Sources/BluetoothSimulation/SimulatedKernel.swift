import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The Bluetooth kernel of a simulated machine: adapters on a ``SimulatedRadio``, behind the same sockets as the real
/// kernel's.
///
/// Two kernels on one radio are two machines in each other's range. Use ``SimulatedRadio/makeKernel(adapters:)`` to
/// create one.
@dynamicMemberLookup
public final class SimulatedKernel: AdapterSource, BluetoothKernel {
    /// The radio of the adapters.
    public let radio: SimulatedRadio
    let number: Int

    init(radio: SimulatedRadio, number: Int) {
        self.radio = radio
        self.number = number
    }

    /// The radio's loop.
    public var loop: EventLoop { radio.loop }
    /// The kernel, as the content of a source of adapters.
    public var hostSource: HostSource { HostSource(self) }

    func withHost<Result: Sendable, Failure: Error>(
        _ body: @Sendable (HostKernel) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try radio.withWorld { world throws(Failure) in try body(world.kernels[number]) }
    }

    /// The adapters that are plugged in, lowest index first.
    package func adapters() throws(KernelError) -> [KernelAdapter] {
        try withHost { host throws(KernelError) in
            if let error = host.conditions.socketError { throw error }
            return host.adapters.map {
                KernelAdapter(index: $0.index, address: $0.controller.publicAddress, isUp: $0.isRunning)
            }.sorted { $0.index < $1.index }
        }
    }

    /// The place in the controller's description; the adapter's name if it has none.
    package func port(ofAdapter index: UInt16) -> String {
        withHost { $0.adapter(index)?.controller.configuration.place } ?? "hci\(index)"
    }

    /// The handles of an adapter's links that the kernel knows.
    package func linkHandles(ofAdapter index: UInt16) throws(KernelError) -> [UInt16] {
        try withHost { host throws(KernelError) in
            guard let adapter = host.adapter(index) else { throw KernelError("HCIGETCONNLIST", .noSuchDevice) }
            return adapter.connections.all.compactMap { $0.end?.handle.rawValue }
        }
    }

    /// The machine's environment, as configured.
    package func environment() -> HostEnvironment {
        withHost { host in
            HostEnvironment(
                socketError: host.conditions.socketError, hasNetRaw: host.conditions.hasNetRaw,
                hasNetAdmin: host.conditions.hasNetAdmin, executablePath: host.conditions.executablePath,
                isBluetoothDaemonRunning: host.conditions.isBluetoothDaemonRunning,
                radioSwitches: host.adapters.sorted { $0.index < $1.index }.map {
                    HostEnvironment.RadioSwitch(
                        name: "hci\($0.index)", isSoftBlocked: $0.power.isSoftBlocked,
                        isHardBlocked: $0.power.isHardBlocked)
                }, kernelRelease: host.conditions.kernelRelease,
                isSecureExecution: host.conditions.isSecureExecution)
        }
    }

    /// Intervenes in the control of an adapter: at once, or after ten seconds if its controller hangs.
    package func control(
        _ control: AdapterControl, adapter index: UInt16, then completion: @escaping (KernelError?) -> Void
    ) {
        let completion = LoopBound(completion, on: loop)
        let call = control.call
        withHost { host in
            let failure: ErrorNumber?
            var delay = Duration.milliseconds(5)
            if !host.conditions.hasNetAdmin {
                failure = .notPermitted
            } else if let adapter = host.adapter(index) {
                failure = adapter.control(control)
                if failure == .timedOut { delay = SimulatedAdapter.controllerPatience }
                if control == .rebind { host.rebind(adapter) }
            } else {
                failure = .noSuchDevice
            }
            let error = failure.map { KernelError(call, $0) }
            host.world.schedule(after: delay) { [world = host.world] in
                world.post(.completion { completion.value(error) })
            }
        }
    }

    // MARK: Sockets

    /// Opens a socket whose handler is called on the loop.
    private func open<Handler, Result: Sendable>(
        _ handler: Handler, _ body: @Sendable (HostKernel, LoopBound<Handler>) throws(KernelError) -> Result
    ) throws(KernelError) -> Result {
        let handler = LoopBound(handler, on: loop)
        return try withHost { host throws(KernelError) in
            if let error = host.conditions.socketError { throw error }
            return try body(host, handler)
        }
    }

    /// Opens the management socket.
    package func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        let identifier = try open(handler) { host, handler in
            ManagementSocketState(kernel: host, handler: handler).identifier
        }
        return SimulatedHCISocket(radio: radio, identifier: identifier)
    }

    /// Opens a raw HCI socket of an adapter.
    package func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket {
        let identifier = try open(handler) { host, handler throws(KernelError) in
            guard let adapter = host.adapter(adapter) else { throw KernelError("bind", .noSuchDevice) }
            return HCISocketState(kernel: host, adapter: adapter, handler: handler).identifier
        }
        return SimulatedHCISocket(radio: radio, identifier: identifier)
    }

    /// Opens the monitor.
    package func openMonitor(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        let identifier = try open(handler) { host, handler throws(KernelError) in
            guard host.conditions.hasNetRaw else { throw KernelError("bind", .notPermitted) }
            return MonitorSocketState(kernel: host, handler: handler).identifier
        }
        return SimulatedHCISocket(radio: radio, identifier: identifier)
    }

    /// Starts to connect an L2CAP channel.
    package func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket {
        let identifier = try open(handler) { host, handler throws(KernelError) in
            try host.l2cap.connect(to: peer, channel: channel, from: adapter, options: options, handler).identifier
        }
        return SimulatedL2CAPSocket(radio: radio, identifier: identifier, peer: peer)
    }

    /// Listens for L2CAP channels that peers open.
    package func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener {
        let (identifier, channel) = try open(accept) { host, accept throws(KernelError) in
            let listener = try host.l2cap.listen(channel: channel, on: adapter, options: options, accept)
            return (listener.identifier, listener.channel)
        }
        return SimulatedListener(radio: radio, identifier: identifier, channel: channel)
    }
}

extension SimulatedRadio {
    /// Creates a machine with adapters on this radio, in the order of their indexes.
    public func makeKernel(adapters: [SimulatedController] = [SimulatedController()])
        -> SimulatedKernel
    {
        SimulatedKernel(radio: self, number: withWorld { $0.addKernel(adapters: adapters) })
    }
}

extension AdapterControl {
    /// The name of the system call or file.
    fileprivate var call: String {
        switch self {
        case .reset: "HCIDEVRESET"
        case .down: "HCIDEVDOWN"
        case .up: "HCIDEVUP"
        case .rebind: "bind"
        }
    }
}
