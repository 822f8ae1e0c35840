import BluetoothKernel
import BluetoothPrimitives
import Logging

/// An L2CAP connection-oriented channel on LE: two streams of bytes with flow control, beside the attributes of the same
/// link (Core Vol 3 Part A §3.4, §10).
///
/// What is written arrives whole and in order, in SDUs whose boundaries the reader sees. Each side gives the other
/// credits as far as it has room: a reader that does not read lets the peer's writes wait, and ``write(_:timeout:)``
/// waits while the peer does not read. Nothing is kept in this process meanwhile and nothing is lost; the kernel's
/// buffers are the bound.
///
/// The channel lives until ``close()``, until its last reference goes, until the peer closes it, or until the link ends.
/// There is no half-closed state: closing ends both directions. The kernel drops a link two seconds after its last
/// channel, attribute channel included, was closed.
public actor ConnectionOrientedChannel: LoopActor {
    /// The loop the channel lives on; a task that prefers it as its executor saves two thread switches a call.
    public nonisolated let loop: EventLoop
    /// The device at the other end.
    public nonisolated let peer: BluetoothAddress
    /// The service's number: its Protocol/Service Multiplexer.
    public nonisolated let psm: UInt16
    /// The largest SDU that this side receives.
    public private(set) var maximumTransmissionUnit = 0
    /// The largest SDU that the peer receives, and so the longest that ``send(_:timeout:)`` takes.
    public private(set) var peerMaximumTransmissionUnit = 0

    private let log: Logger
    /// Whose link it is on; nil where no adapter has made it, and after the end.
    private var adapter: AdapterSession?
    private(set) var socket: (any L2CAPSocket)?
    private var opening: Promise<Void, BluetoothError>?
    private var isEstablished = false
    private(set) var end: BluetoothError?
    /// Whether the end is one that a reader may take for the end of what the peer had to say.
    private var isRegularEnd = false
    private var endWaiters = WaiterList<BluetoothError, BluetoothError>()

    /// Who waits for an SDU, first first.
    private var readers = WaiterList<[UInt8]?, BluetoothError>()
    /// What was taken out of the kernel and found no reader: one SDU whose reader was cancelled, or what was there when
    /// the channel ended.
    private var leftovers = RingBuffer<[UInt8]>()
    private var isReading = true

    /// What waits to be written, first first.
    var writers = RingBuffer<ChannelWrite>()
    var isSocketFull = false
    /// Whether the socket has just said that it can send.
    private(set) var isToldWritable = false

    init(to peer: BluetoothAddress, psm: UInt16, by adapter: AdapterSession?, on loop: EventLoop, log: Logger) {
        self.adapter = adapter
        self.peer = peer
        self.psm = psm
        self.loop = loop
        self.log = log
    }

    /// A channel over a socket that is connected already, such as one of a pair that stands for a link in a test.
    /// - Parameters:
    ///   - connect: hands over the socket and is given the handler of its events; called once, on `loop`.
    ///   - peer: the device at the other end.
    ///   - psm: the service's number.
    ///   - loop: the loop that owns the socket.
    ///   - log: where the channel's end is told.
    public init(
        over connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, psm: UInt16, on loop: EventLoop, log: Logger = Logger(label: "bluetooth.channel")
    ) async throws(KernelError) {
        self.init(to: peer, psm: psm, by: nil, on: loop, log: log)
        socket = try connect { [weak self] event in self?.assumeIsolated(with: event) { $0.handle($1) } }
        establish()
    }

    func operation(_ name: String) -> BluetoothError.Operation { BluetoothError.Operation(name, peer: peer) }

    // MARK: Opening

    /// Asks the peer for the channel; returns when it is open.
    func open(
        from adapter: BluetoothAddress, on kernel: any BluetoothKernel, options: ChannelOptions
    ) async throws(BluetoothError) {
        let operation = operation("open a channel to PSM \(hexadecimal(psm))")
        if Task.isCancelled { throw .cancelled(operation) }
        if let end { throw end }
        let call = Promise<Void, BluetoothError>()
        opening = call
        do {
            socket = try kernel.connectL2CAP(
                to: peer, channel: .dynamic(psm: psm), from: adapter, options: options.socketOptions
            ) { [weak self] event in self?.assumeIsolated(with: event) { $0.handle($1) } }
        } catch {
            throw .openingChannel(operation, psm, error)
        }
        do {
            try await call.value(operation, timeout: options.timeout, on: loop)
        } catch {
            // Closing the socket is what cancels the attempt in the kernel.
            finish(error)
            throw error
        }
    }

    /// Gives up an attempt that is under way; an open channel stays.
    func endOpening(_ reason: BluetoothError) {
        if !isEstablished { finish(reason) }
    }

    /// Takes over a channel that a peer has opened; says who takes its events.
    func adopt(_ socket: any L2CAPSocket) -> SocketHandler {
        self.socket = socket
        establish()
        return { [weak self] event in self?.assumeIsolated(with: event) { $0.handle($1) } }
    }

    private func establish() {
        guard let socket, !isEstablished else { return }
        isEstablished = true
        if let units = try? socket.maximumTransmissionUnits() {
            maximumTransmissionUnit = Int(units.receive)
            peerMaximumTransmissionUnit = Int(units.send)
        }
        setReading(false)
    }

    private func handle(_ event: SocketEvent) {
        switch event {
        case .readable: receive()
        case .writable:
            if !isEstablished {
                establish()
                opening?.succeed()
                opening = nil
            }
            isSocketFull = false
            isToldWritable = true
            defer { isToldWritable = false }
            writeOut()
        case .closed(let error):
            // What arrived before is still good.
            while isEstablished, takeOne({ leftovers.append($0) }) {}
            closed(with: error)
        }
    }

    /// The socket has ended, which may be the adapter's doing.
    private func closed(with error: KernelError) {
        let other =
            isEstablished
            ? BluetoothError.channelEnded(peer, error)
            : .openingChannel(operation("open a channel to PSM \(hexadecimal(psm))"), psm, error)
        let end: @Sendable (isolated ConnectionOrientedChannel, BluetoothError) -> Void = { channel, reason in
            channel.isRegularEnd =
                channel.isEstablished && error.number == .connectionReset && !reason.concernsAdapter
            channel.finish(reason)
        }
        guard let adapter else { return end(self, other) }
        let reason = adapter.assumeIsolated { adapter in
            adapter.reasonOfEnd(error, otherwise: other, isLocal: false) { [weak self] reason in
                self?.assumeIsolated { end($0, reason) }
            }
        }
        if let reason { end(self, reason) }
    }

    // MARK: The end

    private func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        adapter = nil
        opening?.fail(reason)
        opening = nil
        serveReaders()
        // What readers are told after the last SDU.
        readers.resolveAll(isRegularEnd ? .success(nil) : .failure(reason.during(operation("read"))))
        while let writer = writers.popFirst() { writer.fail(reason) }
        socket?.close()
        socket = nil
        endWaiters.succeedAll(reason)
        log.debug("channel ended: \(reason.message)", metadata: ["peer": "\(peer)", "psm": "\(hexadecimal(psm))"])
    }

    /// Closes the channel at once, in both directions. Calls under way fail with ``BluetoothError/Code/disconnected``.
    ///
    /// What has been written and the peer has given no credits for yet is dropped by the kernel: wait for
    /// ``flush(timeout:)`` first where that matters. A second call does nothing.
    public func close() {
        leftovers = RingBuffer()
        finish(
            BluetoothError(.disconnected, operation("use the channel"), "The channel was closed by this program."))
    }

    /// Whether the channel is open.
    public var isOpen: Bool { isEstablished && end == nil }

    /// Waits for the end of the channel and tells why it ended; a cancelled task is told so instead.
    public func closed() async -> BluetoothError {
        if let end { return end }
        let call = endWaiters.makePromise()
        do {
            return try await call.value(operation("wait for the end"), timeout: nil, on: loop)
        } catch {
            return error
        }
    }

    /// The link's protection now (`getsockopt(BT_SECURITY)`).
    /// - Throws: `.disconnected` after the end.
    public func security() throws(BluetoothError) -> LinkSecurity {
        if let end { throw end.during(operation("read the security level")) }
        do throws(KernelError) {
            guard let socket else { throw KernelError("getsockopt", .notConnected) }
            return try socket.security()
        } catch {
            throw .channelEnded(peer, error)
        }
    }
}

// MARK: - Reading

extension ConnectionOrientedChannel {
    /// The next SDU, whole, as the peer sent it: up to ``maximumTransmissionUnit`` bytes, and possibly none at all.
    ///
    /// Returns nil when the peer has closed the channel – or ended the link, which the kernel tells in the same way –
    /// and everything it sent before has been read. Calls of several tasks are served in turn; one that is cancelled or
    /// timed out takes nothing away.
    /// - Throws: `.disconnected` when the link was lost or this program closed the channel; `.adapterOff`,
    ///   `.adapterBlocked`, `.noAdapter` when the adapter went;
    ///   `.timedOut`, `.cancelled`.
    public func read(timeout: Duration? = nil) async throws(BluetoothError) -> [UInt8]? {
        let operation = operation("read")
        if readers.isEmpty, let waiting = leftovers.popFirst() { return waiting }
        if let end {
            if isRegularEnd { return nil }
            throw end.during(operation)
        }
        if Task.isCancelled { throw .cancelled(operation) }
        if readers.isEmpty {
            var taken: [UInt8]?
            if takeOne({ taken = $0 }) { return taken }
        }
        let reader = readers.makePromise()
        setReading(true)
        return try await reader.value(operation, timeout: timeout, on: loop)
    }

    /// How many reads wait.
    var waitingReadCount: Int { readers.count }

    /// Takes one SDU out of the kernel; says whether there was one.
    private func takeOne(_ take: ([UInt8]) -> Void) -> Bool {
        guard let socket else { return false }
        // An end that the call learns of is told as an event, too, which is where it counts.
        return socket.receive { take([UInt8]($0)) } == .packet
    }

    /// Hands over what has come to who waits; without anybody the rest stays in the kernel, and the peer without credits.
    private func receive() {
        guard !readers.isEmpty else { return setReading(false) }
        guard takeOne({ leftovers.append($0) }) else { return }
        serveReaders()
    }

    private func serveReaders() {
        while let sdu = leftovers.first, readers.succeedFirst(sdu) { _ = leftovers.popFirst() }
    }

    private func setReading(_ isOn: Bool) {
        guard isReading != isOn else { return }
        isReading = isOn
        socket?.setReading(isOn)
    }
}

/// The SDUs as they come; several loops share them.
extension ConnectionOrientedChannel: AsyncSequence {
    /// What the sequence throws.
    public typealias Failure = BluetoothError

    /// Begins to read. Leaving the loop leaves the channel open.
    public nonisolated func makeAsyncIterator() -> Iterator { Iterator(channel: self) }

    /// Takes the SDUs one by one.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let channel: ConnectionOrientedChannel

        /// The next SDU, or nil when the peer has closed the channel; as ``ConnectionOrientedChannel/read(timeout:)``.
        public mutating func next() async throws(BluetoothError) -> [UInt8]? {
            try await channel.read()
        }

        /// The next SDU, or nil when the peer has closed the channel; as ``ConnectionOrientedChannel/read(timeout:)``.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BluetoothError) -> [UInt8]? {
            try await channel.read()
        }
    }
}

extension BluetoothError {
    /// The same end, as it comes to a call.
    func during(_ operation: Operation) -> BluetoothError {
        var error = self
        error.operation = operation
        return error
    }
}

/// `0x0085`.
func hexadecimal(_ psm: UInt16) -> String {
    let digits = String(psm, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
}
