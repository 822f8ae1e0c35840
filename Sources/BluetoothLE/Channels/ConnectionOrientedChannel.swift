import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// An L2CAP connection-oriented channel on LE: a stream of bytes in each direction with flow control, beside the
/// attributes of the same link (Core Vol 3 Part A §3.4, §10).
///
/// Data arrives whole and in order, in SDUs whose boundaries the reader sees. Each side grants credits as far as it has
/// room: while a reader does not read, the peer's writes wait, and ``write(_:timeout:)`` waits while the peer does not
/// read. Only the kernel's buffers hold data meanwhile, and nothing is lost.
///
/// The channel lives until ``close()``, until its last reference is released, until the peer closes it, or until the
/// link ends. There is no half-closed state: closing ends both directions. The kernel ends a link two seconds after its
/// last channel, attribute channel included, was closed.
public final class ConnectionOrientedChannel: Sendable {
    /// The device at the other end.
    public let peer: BluetoothAddress
    /// The service's Protocol/Service Multiplexer.
    public let psm: UInt16
    let core: SessionReference<CreditBasedChannel>

    /// Creates a handle of a channel; called on the loop.
    //
    // An open channel retains its adapter's session; a closed one does not, however long its handle lives.
    init(_ channel: CreditBasedChannel) {
        (peer, psm) = (channel.peer, channel.psm)
        core = SessionReference(channel, in: DetachedSession(on: channel.loop))
    }

    /// Creates a handle of a channel whose maker transfers it to `loop`.
    init(sending channel: sending CreditBasedChannel, to peer: BluetoothAddress, psm: UInt16, on loop: EventLoop) {
        (self.peer, self.psm) = (peer, psm)
        core = SessionReference(sending: channel, in: DetachedSession(on: loop))
    }

    deinit {
        core.later { $0.close() }
    }

    /// The channel's event loop; a task that prefers it as its executor saves two thread switches a call.
    public var loop: EventLoop { core.loop }

    /// The size in bytes of the largest SDU that this side receives.
    public nonisolated(nonsending) var maximumTransmissionUnit: Int {
        get async { await core { $0.maximumTransmissionUnits.receive } }
    }

    /// The size in bytes of the largest SDU that the peer receives, and so the maximum for ``send(_:timeout:)``.
    public nonisolated(nonsending) var peerMaximumTransmissionUnit: Int {
        get async { await core { $0.maximumTransmissionUnits.send } }
    }

    /// Closes the channel in both directions. Calls under way fail at once with `BluetoothError.Code.disconnected`.
    ///
    /// Waits until the peer has granted credits for the data written before, so that they are sent, but for two seconds
    /// at most: then the kernel drops the rest. ``flush(timeout:)`` before it reports whether that has happened. A second
    /// call does nothing.
    public nonisolated(nonsending) func close() async {
        await core { await $0.closeCompletely() }
    }

    /// Closes the channel as ``close()``, without waiting.
    package func closeSoon() { core.later { $0.close() } }

    /// The number of waiting reads.
    package var waitingReadCount: Int {
        get async { await core { $0.waitingReadCount } }
    }

    /// Whether the channel is open.
    public nonisolated(nonsending) var isOpen: Bool {
        get async { await core { $0.isOpen } }
    }

    /// Waits for the end of the channel and returns its reason; `.cancelled` if the task is cancelled first.
    public nonisolated(nonsending) func closed() async -> BluetoothError {
        await core { await $0.closed() }
    }

    /// The link's present protection (`getsockopt(BT_SECURITY)`).
    /// - Throws: `.disconnected` after the end.
    public nonisolated(nonsending) func security() async throws(BluetoothError) -> LinkSecurity {
        try await core { (channel) throws(BluetoothError) in try channel.security() }
    }
}

// MARK: - Reading and writing

extension ConnectionOrientedChannel {
    /// Returns the next SDU, whole, as the peer sent it: up to ``maximumTransmissionUnit`` bytes, possibly none.
    ///
    /// Returns nil when the peer has closed the channel – or ended the link, which the kernel reports in the same way –
    /// and everything it sent before has been read. Concurrent calls are served in turn; a cancelled or timed-out call
    /// consumes nothing.
    /// - Throws: `.disconnected` when the link was lost or this program closed the channel; `.adapterOff`,
    ///   `.adapterBlocked`, `.noAdapter` when the adapter became unusable; `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func read(timeout: Duration? = nil) async throws(BluetoothError) -> [UInt8]? {
        try await core { (channel) async throws(BluetoothError) in try await channel.read(timeout: timeout) }
    }

    /// Writes bytes in SDUs of the peer's MTU, and returns when the kernel has the last of them.
    ///
    /// Waits while the peer grants no credits. The bytes of each call stay together when several tasks write. A call
    /// that times out or is cancelled stops between two SDUs; `BluetoothError.sentByteCount` is the number of bytes
    /// that the kernel had accepted, which are sent. Without bytes, no SDU is sent.
    /// - Throws: `.disconnected`, `.timedOut`, `.cancelled`, `.overflow` when 1024 calls wait already.
    public nonisolated(nonsending) func write(_ bytes: [UInt8], timeout: Duration? = nil) async throws(BluetoothError) {
        try await core { (channel) async throws(BluetoothError) in try await channel.write(bytes, timeout: timeout) }
    }

    /// Sends one SDU, whose boundaries the peer sees.
    ///
    /// Waits while the peer grants no credits.
    /// - Throws: `.invalidArgument` for more bytes than ``peerMaximumTransmissionUnit``, or for none, since the kernel
    ///   does not send an empty SDU; otherwise as ``write(_:timeout:)``.
    public nonisolated(nonsending) func send(_ sdu: [UInt8], timeout: Duration? = nil) async throws(BluetoothError) {
        try await core { (channel) async throws(BluetoothError) in try await channel.send(sdu, timeout: timeout) }
    }

    /// Waits until the peer has granted credits for all data written before, so that the kernel sends them even when the
    /// channel is closed at once.
    ///
    /// This does not mean that the peer's program has read the data; only that program can confirm it.
    /// - Throws: as ``write(_:timeout:)``.
    public nonisolated(nonsending) func flush(timeout: Duration? = nil) async throws(BluetoothError) {
        try await core { (channel) async throws(BluetoothError) in try await channel.flush(timeout: timeout) }
    }
}

/// The sequence of received SDUs; concurrent iterations share them.
extension ConnectionOrientedChannel: AsyncSequence {
    /// The error type of the sequence.
    public typealias Failure = BluetoothError

    /// Begins to read. Leaving the loop leaves the channel open.
    public func makeAsyncIterator() -> Iterator { Iterator(channel: self) }

    /// An iterator over the received SDUs.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let channel: ConnectionOrientedChannel

        /// Returns the next SDU, or nil when the peer has closed the channel; as
        /// ``ConnectionOrientedChannel/read(timeout:)``.
        public nonisolated(nonsending) mutating func next() async throws(BluetoothError) -> [UInt8]? {
            try await channel.read()
        }

        /// Returns the next SDU, or nil when the peer has closed the channel; as
        /// ``ConnectionOrientedChannel/read(timeout:)``.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BluetoothError) -> [UInt8]? {
            try await channel.read()
        }
    }
}
