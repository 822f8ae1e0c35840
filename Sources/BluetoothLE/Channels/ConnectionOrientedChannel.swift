import BluetoothSockets
import BluetoothPrimitives

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
public final class ConnectionOrientedChannel: Sendable {
    /// The device at the other end.
    public let peer: BluetoothAddress
    /// The service's number: its Protocol/Service Multiplexer.
    public let psm: UInt16
    let core: SessionReference<CreditBasedChannel>

    /// A handle of a channel; called on the loop.
    //
    // The channel keeps its adapter's session while it is open; a handle that is kept longer keeps none.
    init(_ channel: CreditBasedChannel) {
        (peer, psm) = (channel.peer, channel.psm)
        core = SessionReference(channel, in: LooseSession(on: channel.loop))
    }

    /// A handle of a channel that its maker gives away to `loop`.
    init(sending channel: sending CreditBasedChannel, to peer: BluetoothAddress, psm: UInt16, on loop: EventLoop) {
        (self.peer, self.psm) = (peer, psm)
        core = SessionReference(sending: channel, in: LooseSession(on: loop))
    }

    deinit {
        core.later { $0.close() }
    }

    /// The loop the channel lives on; a task that prefers it as its executor saves two thread switches a call.
    public var loop: EventLoop { core.loop }

    /// The largest SDU that this side receives.
    public var maximumTransmissionUnit: Int {
        get async { await core { $0.maximumTransmissionUnits.receive } }
    }

    /// The largest SDU that the peer receives, and so the longest that ``send(_:timeout:)`` takes.
    public var peerMaximumTransmissionUnit: Int {
        get async { await core { $0.maximumTransmissionUnits.send } }
    }

    /// Closes the channel at once, in both directions. Calls under way fail with ``BluetoothError/Code/disconnected``.
    ///
    /// What has been written and the peer has given no credits for yet is dropped by the kernel: wait for
    /// ``flush(timeout:)`` first where that matters. A second call does nothing.
    public nonisolated(nonsending) func close() async {
        await core { $0.close() }
    }

    /// As ``close()``; nobody waits for it.
    package func closeSoon() { core.later { $0.close() } }

    /// How many reads wait.
    package var waitingReadCount: Int {
        get async { await core { $0.waitingReadCount } }
    }

    /// Whether the channel is open.
    public var isOpen: Bool {
        get async { await core { $0.isOpen } }
    }

    /// Waits for the end of the channel and tells why it ended; a cancelled task is told so instead.
    public nonisolated(nonsending) func closed() async -> BluetoothError {
        await core { await $0.closed() }
    }

    /// The link's protection now (`getsockopt(BT_SECURITY)`).
    /// - Throws: `.disconnected` after the end.
    public nonisolated(nonsending) func security() async throws(BluetoothError) -> LinkSecurity {
        try await core { (channel) throws(BluetoothError) in try channel.security() }
    }
}

// MARK: - Reading and writing

extension ConnectionOrientedChannel {
    /// The next SDU, whole, as the peer sent it: up to ``maximumTransmissionUnit`` bytes, and possibly none at all.
    ///
    /// Returns nil when the peer has closed the channel – or ended the link, which the kernel tells in the same way –
    /// and everything it sent before has been read. Calls of several tasks are served in turn; one that is cancelled or
    /// timed out takes nothing away.
    /// - Throws: `.disconnected` when the link was lost or this program closed the channel; `.adapterOff`,
    ///   `.adapterBlocked`, `.noAdapter` when the adapter went;
    ///   `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func read(timeout: Duration? = nil) async throws(BluetoothError) -> [UInt8]? {
        try await core { (channel) async throws(BluetoothError) in try await channel.read(timeout: timeout) }
    }

    /// Writes bytes, cut into SDUs of the peer's MTU, and returns when the kernel has the last of them.
    ///
    /// Waits while the peer gives no credits. Calls of several tasks do not mix: each one's bytes stay together. A call
    /// that ends by time-out or cancellation leaves off between two SDUs; the error's message says how many bytes the
    /// kernel had taken, which are sent. No bytes are no SDU: nothing is sent for them.
    /// - Throws: `.disconnected`, `.timedOut`, `.cancelled`, `.overflow` when 1024 calls wait already.
    public nonisolated(nonsending) func write(_ bytes: [UInt8], timeout: Duration? = nil) async throws(BluetoothError) {
        try await core { (channel) async throws(BluetoothError) in try await channel.write(bytes, timeout: timeout) }
    }

    /// Sends one SDU, which the peer reads as it is.
    ///
    /// Waits while the peer gives no credits.
    /// - Throws: `.invalidArgument` for more bytes than ``peerMaximumTransmissionUnit``, or for none, since the kernel
    ///   does not send an empty SDU; besides what ``write(_:timeout:)`` throws.
    public nonisolated(nonsending) func send(_ sdu: [UInt8], timeout: Duration? = nil) async throws(BluetoothError) {
        try await core { (channel) async throws(BluetoothError) in try await channel.send(sdu, timeout: timeout) }
    }

    /// Waits until the peer has given credits for all that was written before, so that closing the channel does not drop
    /// any of it.
    ///
    /// That the peer's program has read it is not known by this; only the program itself can say so.
    /// - Throws: as ``write(_:timeout:)``.
    public nonisolated(nonsending) func flush(timeout: Duration? = nil) async throws(BluetoothError) {
        try await core { (channel) async throws(BluetoothError) in try await channel.flush(timeout: timeout) }
    }
}

/// The SDUs as they come; several loops share them.
extension ConnectionOrientedChannel: AsyncSequence {
    /// What the sequence throws.
    public typealias Failure = BluetoothError

    /// Begins to read. Leaving the loop leaves the channel open.
    public func makeAsyncIterator() -> Iterator { Iterator(channel: self) }

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
