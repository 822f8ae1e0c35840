import BluetoothKernel
import BluetoothPrimitives
import Logging

/// A connection-oriented channel, which ``ConnectionOrientedChannel`` stands for.
///
/// Owned by its handle, and by its socket until the end.
final class CreditBasedChannel {
    let loop: EventLoop
    /// The device at the other end.
    let peer: BluetoothAddress
    /// The service's number: its Protocol/Service Multiplexer.
    let psm: UInt16
    /// The largest SDU that this side receives.
    private(set) var maximumTransmissionUnit = 0
    /// The largest SDU that the peer receives, and so the longest that ``send(_:timeout:)`` takes.
    private(set) var peerMaximumTransmissionUnit = 0

    private let log: Logger
    /// Explains the end of the link; nil where no adapter has made the channel, and after the end.
    private var linkEnds: LinkEnds?
    private(set) var socket: (any L2CAPSocket)?
    /// Says that the channel keeps its link; nil where no adapter has made it, and after the end.
    private var claim: LinkClaim?
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

    init(to peer: BluetoothAddress, psm: UInt16, of linkEnds: LinkEnds? = nil, on loop: EventLoop, log: Logger) {
        self.linkEnds = linkEnds
        self.peer = peer
        self.psm = psm
        self.loop = loop
        self.log = log
    }

    func operation(_ name: String) -> BluetoothError.Operation { BluetoothError.Operation(name, peer: peer) }

    // MARK: Opening

    /// Asks the peer for the channel; returns when it is open.
    nonisolated(nonsending) func open(
        from adapter: BluetoothAddress, on kernel: any BluetoothKernel, options: ChannelOptions
    ) async throws(BluetoothError) {
        let operation = operation("open a channel to PSM \(hexadecimal(psm))")
        if Task.isCancelled { throw .cancelled(operation) }
        if let end { throw end }
        let call = Promise<Void, BluetoothError>()
        opening = call
        do {
            let socket = try kernel.connectL2CAP(
                to: peer, channel: .dynamic(psm: psm), from: adapter, options: options.socketOptions
            ) { event in self.handle(event) }
            take(socket)
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
        take(socket)
        establish()
        return { event in self.handle(event) }
    }

    /// Takes over a channel that is connected already.
    func adopt(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket
    ) throws(KernelError) {
        socket = try connect { event in self.handle(event) }
        establish()
    }

    private func take(_ socket: any L2CAPSocket) {
        self.socket = socket
        claim = linkEnds?.claimLink(of: socket)
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
        let end = { (reason: BluetoothError) in
            self.isRegularEnd = self.isEstablished && error.number == .connectionReset && !reason.concernsAdapter
            self.finish(reason)
        }
        guard let linkEnds else { return end(other) }
        if let reason = linkEnds.reason(of: error, otherwise: other, isLocal: false, then: end) { end(reason) }
    }

    // MARK: The end

    private func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        linkEnds = nil
        opening?.fail(reason)
        opening = nil
        serveReaders()
        // What readers are told after the last SDU.
        readers.resolveAll(isRegularEnd ? .success(nil) : .failure(reason.during(operation("read"))))
        while let writer = writers.popFirst() { writer.fail(reason) }
        socket?.close()
        socket = nil
        claim = nil
        endWaiters.succeedAll(reason)
        log.debug("channel ended: \(reason.message)", metadata: ["peer": "\(peer)", "psm": "\(hexadecimal(psm))"])
    }

    func close() {
        leftovers = RingBuffer()
        finish(
            BluetoothError(.disconnected, operation("use the channel"), "The channel was closed by this program."))
    }

    var isOpen: Bool { isEstablished && end == nil }

    nonisolated(nonsending) func closed() async -> BluetoothError {
        if let end { return end }
        let call = endWaiters.makePromise()
        do {
            return try await call.value(operation("wait for the end"), timeout: nil, on: loop)
        } catch {
            return error
        }
    }

    func security() throws(BluetoothError) -> LinkSecurity {
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

extension CreditBasedChannel {
    nonisolated(nonsending) func read(timeout: Duration? = nil) async throws(BluetoothError) -> [UInt8]? {
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
