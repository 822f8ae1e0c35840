import BluetoothGATT
import BluetoothLE

/// A central that uses this machine's UART: a byte stream in both directions; see ``UARTServer``.
///
/// It exists from the moment the central subscribes ("online") until it unsubscribes or the link ends. Bytes that a
/// central writes before are discarded, as by a LINBLE.
///
/// The stream arrives in arbitrary pieces; ``frames(_:)`` assembles frames.
public actor UARTCentral {
    /// The underlying connection.
    public nonisolated let connection: Connection

    private let characteristic: AttributeHandle
    private let options: UARTServerOptions
    private let turns = TurnQueue()
    private var pace: Pace
    private nonisolated let buffer: ReceiveBuffer

    /// The number of bytes passed to the kernel.
    public private(set) var sentByteCount = 0
    /// The number of bytes received.
    public nonisolated var receivedByteCount: Int { buffer.total }

    /// The executor of the connection, so that a chunk costs no change of threads.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    /// The central's address.
    public nonisolated var peer: BluetoothAddress { connection.peer }

    init(_ connection: Connection, _ characteristic: AttributeHandle, _ options: UARTServerOptions) {
        self.connection = connection
        self.characteristic = characteristic
        self.options = options
        pace = Pace(bytesPerSecond: options.pacing.bytesPerSecond(for: options.profile))
        buffer = ReceiveBuffer(
            capacity: options.receiveCapacity, operation: .init("receive", peer: connection.peer))
    }

    // MARK: Sending

    /// The maximum size of a notification's value now: the link's, which fills whole packets of the present data length,
    /// or of 251 bytes before that is extended; less if the options say so.
    public var maximumChunkLength: Int {
        get async { chunkLength }
    }

    /// Sends bytes in notifications; returns when the kernel has accepted the last of them.
    ///
    /// Suspends while the link is congested, and for the pacing, so that no byte is lost however slowly the central
    /// reads. The bytes of one call stay together even when several tasks send.
    /// - Throws: `notSubscribed` when the central has unsubscribed, `disconnected` when the link has ended.
    public func send(_ bytes: [UInt8]) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("send", peer: peer)
        let cancelled = BluetoothError.cancelled(operation)
        guard await turns.enter() else { throw cancelled }
        defer { turns.leave() }
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(chunkLength))
            if let moment = pace.moment(for: chunk.count, now: connection.loop.now),
                await !connection.loop.sleep(until: moment)
            {
                throw cancelled
            }
            // The central may have subscribed again meanwhile, which is another stream.
            if let end = buffer.end {
                throw end ?? BluetoothError(.notSubscribed, operation, "The central has unsubscribed.")
            }
            try await connection.notify(chunk, of: characteristic)
            sentByteCount &+= chunk.count
            rest = rest.dropFirst(chunk.count)
        }
    }

    // MARK: Receiving

    /// Returns the buffered bytes, waiting for the first if there are none; nil after the central has unsubscribed.
    ///
    /// One task may read at a time. Throws `timedOut` when no byte arrives in time, and, once all earlier bytes have
    /// been read, the error of the link's end: `overflow` when more bytes were unread than
    /// ``UARTServerOptions/receiveCapacity``.
    public func read(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) -> [UInt8]? {
        try await receivingEnd.read(timeout: timeout, isolation: isolation)
    }

    private nonisolated var receivingEnd: ReceivingEnd {
        ReceivingEnd(buffer: buffer, loop: connection.loop, peer: peer, owner: self)
    }

    /// The bytes as they arrive, in arbitrary pieces.
    public nonisolated var received: UARTReceived { UARTReceived(end: receivingEnd) }

    /// The frames that `framer` finds in the received bytes.
    public nonisolated func frames<F: Framer>(_ framer: F) -> UARTFrames<F> {
        UARTFrames(end: receivingEnd, framer: framer)
    }

    // MARK: The end

    /// Disconnects, and waits until the link is down, at most `timeout`, as `Connection.disconnect(timeout:)` does. Bytes
    /// received before can still be read.
    public func disconnect(timeout: Duration? = .seconds(5)) async {
        await connection.disconnect(timeout: timeout)
    }

    /// Whether the stream has ended.
    nonisolated var hasEnded: Bool { buffer.end != nil }

    /// Receives a write of the central. On the loop.
    ///
    /// A central that sends Write Commands cannot be slowed down, so one that sends more than there is room for loses
    /// its link rather than some of its bytes. A Write Request is refused instead.
    nonisolated func receive(_ write: AttributeWrite, isRequest: Bool) -> ATTErrorCode? {
        guard !buffer.tryAppend(write.value), buffer.end == nil else { return nil }
        if isRequest { return .insufficientResources }
        finish(
            BluetoothError(
                .overflow, .init("receive", peer: peer),
                "More than \(options.receiveCapacity) bytes were unread; the link was ended.",
                remedy:
                    "Read faster, or let the central send less at a time: a UART over Bluetooth LE has no flow control "
                    + "in this direction."))
        connection.disconnectNow()
        return nil
    }

    /// Ends the stream; only the first reason counts.
    nonisolated func finish(_ reason: BluetoothError?) { buffer.finish(reason) }
}

extension UARTCentral {
    private var chunkLength: Int {
        let length = connection.streamLengthNow
        return max(1, options.maximumChunkLength.map { min(length, $0) } ?? length)
    }
}
