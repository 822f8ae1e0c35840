import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

/// A link to a device with its attribute bearer.
///
/// Every call ends with a value or a ``BluetoothError``: the peer's answer, the time limit, the task's cancellation, or
/// the end of the link, whichever comes first. Calls may be made at the same time from several tasks; requests are sent
/// one after the other, as the Attribute Protocol demands. The link is closed by ``disconnect()`` or when the last
/// reference goes.
public actor Connection: LoopActor {
    /// The loop the connection lives on; a task that prefers it as its executor saves two thread switches a call.
    public nonisolated let loop: EventLoop
    /// The device at the other end.
    public nonisolated let peer: BluetoothAddress

    private let log: Logger
    private let database: AttributeDatabase
    private let receiveMTU: UInt16
    private var opening: PendingCall<Void>?
    private var socket: (any L2CAPSocket)?
    private var establishedBearer: ATTBearer?
    private var end: BluetoothError?
    private var endWaiters: [PendingCall<BluetoothError>] = []

    init(
        to peer: BluetoothAddress, database: AttributeDatabase, receiveMTU: UInt16, on loop: EventLoop, log: Logger
    ) {
        self.peer = peer
        self.database = database
        self.receiveMTU = receiveMTU
        self.loop = loop
        self.log = log
    }

    // MARK: Opening

    /// Connects the attribute channel; returns when the link is up.
    func open(
        from adapter: BluetoothAddress, on kernel: any BluetoothKernel, options: L2CAPOptions, timeout: Duration?
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("connect", peer: peer)
        let call = PendingCall<Void>()
        opening = call
        do {
            socket = try kernel.connectL2CAP(to: peer, channel: .attribute, from: adapter, options: options) {
                [weak self] event in self?.assumeIsolated(with: event) { $0.handle($1) }
            }
        } catch {
            throw .connecting(operation, error)
        }
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            var error = error
            if error.code == .timedOut { error.remedy = BluetoothError.outOfReachRemedy }
            // Closing the socket is what cancels the attempt in the kernel.
            finish(error)
            throw error
        }
    }

    /// Takes over a channel that is connected already, such as one of a pair of sockets in a test.
    func adopt(_ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket) throws(KernelError) {
        socket = try connect { [weak self] event in self?.assumeIsolated(with: event) { $0.handle($1) } }
        establish()
    }

    private func establish() {
        guard let socket else { return }
        establishedBearer = ATTBearer(
            socket, peer: peer, database: database, receiveMTU: receiveMTU, loop: loop, log: log,
            onTimeOut: { [weak self] in self?.assumeIsolated { $0.establishedBearer?.timeOut() } },
            onEnd: { [weak self] reason in self?.assumeIsolated { $0.finish(reason) } })
    }

    private func handle(_ event: SocketEvent) {
        if let bearer = establishedBearer { return bearer.handle(event) }
        switch event {
        case .writable:
            establish()
            opening?.succeed(())
            opening = nil
        case .closed(let error):
            let failure = BluetoothError.connecting(.init("connect", peer: peer), error)
            finish(failure)
        case .readable: break
        }
    }

    // MARK: The end

    private func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        opening?.fail(reason)
        opening = nil
        establishedBearer?.close(reason)
        socket?.close()
        socket = nil
        for waiter in endWaiters { waiter.succeed(reason) }
        endWaiters = []
        log.debug("link ended: \(reason.message)", metadata: ["peer": "\(peer)"])
    }

    /// Ends the link. Calls under way fail with ``BluetoothError/Code/disconnected``, streams end with it.
    ///
    /// The kernel drops the link itself two seconds after its last channel is closed.
    public func disconnect() {
        finish(BluetoothError(.disconnected, .init("disconnect", peer: peer), "The link was closed by this program."))
    }

    /// Whether the link is up.
    public var isConnected: Bool { establishedBearer != nil && end == nil }

    /// Waits for the end of the link and tells why it ended; a cancelled task is told so instead.
    public func closed() async -> BluetoothError {
        if let end { return end }
        let call = PendingCall<BluetoothError>()
        endWaiters.removeAll { $0.isResolved }
        endWaiters.append(call)
        do {
            return try await call.value(.init("wait for the end", peer: peer), timeout: nil, on: loop)
        } catch {
            return error
        }
    }

    /// The bearer, as long as it is of use.
    func bearer(for operation: BluetoothError.Operation) throws(BluetoothError) -> ATTBearer {
        if let end { throw BluetoothError(.closed, operation, bearerEnd: end) }
        guard let establishedBearer else {
            throw BluetoothError(.disconnected, operation, "The link is not up yet.", isRetryable: true)
        }
        return establishedBearer
    }

    // MARK: Facts

    /// The ATT_MTU in force, 23 to 517 bytes (Core Vol 3 Part F §3.2.8).
    public var maximumTransmissionUnit: Int { establishedBearer?.mtu ?? AttributeProtocol.defaultMTU }

    /// The longest value a Write Command or a single Write Request carries: ATT_MTU − 3 bytes, and never more than the
    /// 512 bytes a value can have (Core Vol 3 Part F §3.2.9), beyond which a peer drops it.
    public var maximumCommandLength: Int {
        min(maximumTransmissionUnit - 3, AttributeProtocol.maximumAttributeValueLength)
    }

    /// How many values the peer notified that nobody had subscribed to.
    public var unwantedValueCount: Int { establishedBearer?.subscribers.unwantedCount ?? 0 }

    /// The link's protection now (`getsockopt(BT_SECURITY)`).
    public func security() throws(BluetoothError) -> LinkSecurity {
        let operation = BluetoothError.Operation("read the security level", peer: peer)
        _ = try bearer(for: operation)
        do throws(KernelError) {
            guard let socket else { throw KernelError("getsockopt", .notConnected) }
            return try socket.security()
        } catch {
            throw .disconnected(peer, error)
        }
    }
}
