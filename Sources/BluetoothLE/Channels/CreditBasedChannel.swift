import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The component behind ``ConnectionOrientedChannel``.
///
/// Owned by its handle, and until the end by the host's channel.
// Holds more than ten variables: reader, writer and host's channel begin and end as one state.
final class CreditBasedChannel: ChannelReceiver {
    private let mark: ComponentCount.Mark
    private enum State {
        case opening(Promise<Void, BluetoothError>?)
        case open
        /// A regular end is the peer's, so that readers see the end of the sequence. The timer limits how long the host's
        /// channel stays open until the peer has granted credits for what was written.
        case ended(BluetoothError, isRegular: Bool, closing: LoopTimer?)
    }

    /// The time for which a closed channel waits for credits, the kernel's own for a link without channels.
    static let closingLimit = Duration.seconds(2)

    /// The device at the other end.
    let peer: BluetoothAddress
    /// The service's Protocol/Service Multiplexer.
    let psm: UInt16
    /// The sizes in bytes of the largest SDUs that this side and the peer receive.
    private(set) var maximumTransmissionUnits = (receive: 0, send: 0)

    let loop: EventLoop
    private let log: Logger
    /// The session, retained while the channel is open; nil for a channel that no adapter made.
    private var session: (any AnyObject & Sendable)?
    private var channel: (any HostChannel)?
    private var state = State.opening(nil)
    private var reader = ChannelReader()
    private var writer = ChannelWriter()
    private var endWaiters = WaiterList<BluetoothError, BluetoothError>()

    init(
        to peer: BluetoothAddress, psm: UInt16, of session: (any AnyObject & Sendable)? = nil, on loop: EventLoop,
        log: Logger
    ) {
        mark = loop.components.mark("CreditBasedChannel")
        self.session = session
        self.peer = peer
        self.psm = psm
        self.loop = loop
        self.log = log
    }

    private func operation(_ name: String) -> BluetoothError.Operation { BluetoothError.Operation(name, peer: peer) }

    // MARK: Opening

    /// Requests the channel from the peer; returns when it is open.
    nonisolated(nonsending) func open(
        by host: any HostChannels, options: ChannelOptions
    ) async throws(BluetoothError) {
        let operation = operation("open a channel to PSM \(hexadecimal(psm))")
        if Task.isCancelled { throw .cancelled(operation) }
        if case .ended(let reason, _, _) = state { throw reason }
        let call = Promise<Void, BluetoothError>()
        state = .opening(call)
        let request = LinkRequest(
            to: peer, .dynamic(psm: psm), operation, options.socketOptions,
            until: options.timeout.map { loop.now.advanced(by: $0) })
        channel = try host.connect(request, self)
        do {
            try await call.value(operation, timeout: options.timeout, on: loop)
        } catch {
            finish(error)
            throw error
        }
    }

    /// Ends an attempt that is under way; has no effect on an open channel.
    func endOpening(_ reason: BluetoothError) {
        if case .opening = state { finish(reason) }
    }

    /// Takes ownership of a channel that is connected already, such as one that a peer has opened.
    func adopt(_ channel: any HostChannel) {
        self.channel = channel
        establish()
    }

    private func establish() {
        guard let channel, case .opening(let call) = state else { return }
        state = .open
        if let units = channel.maximumTransmissionUnits { maximumTransmissionUnits = units }
        reader.pause(channel)
        call?.succeed()
    }

    func receive(_ sdu: RawSpan) {
        if isOpen, let channel { reader.receive(sdu, from: channel) }
    }

    func channelIsWritable() {
        guard let channel else { return }
        if case .ended = state { return release() }
        establish()
        writer.channelCanSend(channel, upTo: maximumTransmissionUnits.send)
    }

    func channelEnded(_ reason: BluetoothError) {
        guard channel != nil else { return }
        if case .ended = state { return release() }
        finish(reason, isRegular: isOpen && reason.disconnectReason == .remote)
    }

    // MARK: The end

    private func finish(_ reason: BluetoothError, isRegular: Bool = false, closing: LoopTimer? = nil) {
        if case .ended = state { return }
        if case .opening(let call) = state { call?.fail(reason) }
        state = .ended(reason, isRegular: isRegular, closing: closing)
        reader.end(isRegular ? .success(nil) : .failure(reason.during(operation("read"))))
        writer.end(reason)
        if closing == nil { release() }
        endWaiters.succeedAll(reason)
        log.debug("channel ended: \(reason.message)", metadata: ["peer": "\(peer)", "psm": "\(hexadecimal(psm))"])
    }

    private func release() {
        channel?.close()
        (channel, session) = (nil, nil)
        guard case .ended(let reason, let isRegular, .some) = state else { return }
        state = .ended(reason, isRegular: isRegular, closing: nil)
        endWaiters.succeedAll(reason)
    }

    /// Closes the channel; received data that was not read is dropped. The host's channel is closed once the peer has
    /// granted credits for what was written.
    func close() {
        reader.drop()
        let reason = BluetoothError(
            .disconnected, operation("use the channel"), "The channel was closed by this program.")
        guard isOpen, let channel, writer.mayLackCredits else { return finish(reason) }
        let timer = loop.makeTimer(of: self) { channel in
            channel.log.warning(
                "the peer grants no credits: a closed channel's last data are dropped",
                metadata: ["peer": "\(channel.peer)"])
            channel.release()
        }
        timer.set(after: Self.closingLimit)
        finish(reason, closing: timer)
        channel.setReading(false)
        channel.notifyWhenWritable()
    }

    /// Closes the channel, and waits until the host's is closed.
    nonisolated(nonsending) func closeCompletely() async {
        close()
        guard channel != nil else { return }
        _ = try? await endWaiters.makePromise().value(operation("close the channel"), timeout: nil, on: loop)
    }

    /// Whether the channel is open.
    var isOpen: Bool { if case .open = state { true } else { false } }

    private func checkOpen(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if case .ended(let reason, _, _) = state { throw reason.during(operation) }
    }

    nonisolated(nonsending) func closed() async -> BluetoothError {
        if case .ended(let reason, _, _) = state { return reason }
        let call = endWaiters.makePromise()
        do {
            return try await call.value(operation("wait for the end"), timeout: nil, on: loop)
        } catch {
            return error
        }
    }

    func security() throws(BluetoothError) -> LinkSecurity {
        try checkOpen(operation("read the security level"))
        guard let channel else {
            throw BluetoothError(.disconnected, operation("read the security level"), "The channel is not open yet.")
        }
        return try channel.security()
    }

    // MARK: Reading

    /// The next SDU; nil when the peer has closed the channel.
    nonisolated(nonsending) func read(timeout: Duration?) async throws(BluetoothError) -> [UInt8]? {
        let operation = operation("read")
        if let waiting = reader.next() { return waiting }
        if case .ended(_, isRegular: true, _) = state { return nil }
        try checkOpen(operation)
        if Task.isCancelled { throw .cancelled(operation) }
        if reader.waitingCount == 0, let channel, let taken = channel.takeWaiting() { return taken }
        return try await reader.makePromise(channel).value(operation, timeout: timeout, on: loop)
    }

    /// The number of waiting reads.
    var waitingReadCount: Int { reader.waitingCount }

    // MARK: Writing

    /// Writes bytes as SDUs of the peer's MTU.
    nonisolated(nonsending) func write(_ bytes: [UInt8], timeout: Duration?) async throws(BluetoothError) {
        try await submit(ChannelWrite(bytes, operation("write")), timeout: timeout)
    }

    /// Sends one SDU.
    nonisolated(nonsending) func send(_ sdu: [UInt8], timeout: Duration?) async throws(BluetoothError) {
        let operation = operation("send")
        try checkOpen(operation)
        guard !sdu.isEmpty else { throw .invalidArgument(operation, "The kernel does not send an empty SDU.") }
        let longest = maximumTransmissionUnits.send
        guard sdu.count <= longest else {
            throw .invalidArgument(
                operation, "An SDU has at most \(longest) bytes on this channel, not \(sdu.count).")
        }
        try await submit(ChannelWrite(sdu, operation), timeout: timeout)
    }

    /// Waits until the peer has granted credits for all data written before.
    nonisolated(nonsending) func flush(timeout: Duration?) async throws(BluetoothError) {
        try await submit(ChannelWrite(flush: operation("flush")), timeout: timeout)
    }

    private nonisolated(nonsending) func submit(_ write: ChannelWrite, timeout: Duration?) async throws(BluetoothError)
    {
        try checkOpen(write.operation)
        if Task.isCancelled { throw .cancelled(write.operation) }
        try writer.add(write)
        if let channel { writer.advance(channel, upTo: maximumTransmissionUnits.send) }
        do {
            try await write.call.value(write.operation, timeout: timeout, on: loop)
        } catch {
            throw write.explained(error)
        }
    }
}
