import BluetoothLE

/// A central that uses the UART this machine offers: a stream of bytes both ways; see ``UARTServer``.
///
/// It is there from the moment the central subscribes ("online") until that ends its subscription or the link ends. What
/// a central writes before goes nowhere, as with a LINBLE.
///
/// The bytes are a stream: they arrive cut at arbitrary places. ``frames(_:)`` finds what belongs together.
public actor UARTCentral {
    /// The link beneath.
    public nonisolated let connection: Connection

    private let characteristic: AttributeHandle
    private let options: UARTServerOptions
    private let turns = TurnQueue()
    private var pace: Pace
    private nonisolated let buffer: ReceiveBuffer

    /// How many bytes have been handed to the kernel.
    public private(set) var sentByteCount = 0
    /// How many bytes have been received.
    public nonisolated var receivedByteCount: Int { buffer.total }

    /// It lives where the connection lives, so that a chunk costs no change of threads.
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

    /// The most bytes that go into one notification now: what the link takes, or less where the options say so.
    public var maximumChunkLength: Int {
        get async {
            var length = await connection.maximumCommandLength
            if let limit = options.maximumChunkLength { length = min(length, limit) }
            return max(1, length)
        }
    }

    /// Sends bytes in notifications; returns when the kernel has taken the last of them.
    ///
    /// Suspends while the link takes no more, and by the pacing, so nothing is lost however slowly the central listens.
    /// Bytes of one call stay together even when several tasks send.
    /// - Throws: `notSubscribed` when the central has ended its subscription, `disconnected` with the end of the link.
    public func send(_ bytes: [UInt8]) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("send", peer: peer)
        let cancelled = BluetoothError(.cancelled, operation, "The task was cancelled.")
        guard await turns.enter() else { throw cancelled }
        defer { turns.leave() }
        let chunkLength = await maximumChunkLength
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(chunkLength))
            if let moment = pace.moment(for: chunk.count, now: connection.loop.now) {
                try await connection.loop.wait(until: moment, ifCancelled: cancelled)
            }
            // It may have subscribed anew meanwhile, and is another stream then.
            if let end = buffer.end {
                throw end ?? BluetoothError(.notSubscribed, operation, "The central has ended its subscription.")
            }
            try await connection.notify(chunk, of: characteristic)
            sentByteCount &+= chunk.count
            rest = rest.dropFirst(chunk.count)
        }
    }

    // MARK: Receiving

    /// Gives the bytes that have arrived, waiting for the first if there are none; nil after the end of the subscription.
    ///
    /// One task may read at a time. Throws `timedOut` when nothing arrives in time, and once all that came before has been
    /// read why the link ended: `overflow` when more bytes waited to be read than ``UARTServerOptions/receiveCapacity``.
    public func read(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) -> [UInt8]? {
        try await receivingEnd.read(timeout: timeout, isolation: isolation)
    }

    private nonisolated var receivingEnd: ReceivingEnd {
        ReceivingEnd(buffer: buffer, loop: connection.loop, peer: peer, owner: self)
    }

    /// The bytes as they arrive, cut at arbitrary places.
    public nonisolated var received: UARTReceived { UARTReceived(end: receivingEnd) }

    /// The frames that `framer` finds in the bytes that arrive.
    public nonisolated func frames<F: Framer>(_ framer: F) -> UARTFrames<F> {
        UARTFrames(end: receivingEnd, framer: framer)
    }

    // MARK: The end

    /// Ends the link. What has been received before can still be read.
    public func disconnect() async {
        await connection.disconnect()
    }

    /// Whether no more bytes will come.
    nonisolated var hasEnded: Bool { buffer.end != nil }

    /// Takes what the central has written. On the loop.
    ///
    /// Nothing makes a central wait that sends Write Commands, so one that sends more than there is room for loses its link
    /// rather than some of its bytes. A Write Request is refused in place of that.
    nonisolated func take(_ write: AttributeWrite, isRequest: Bool) -> ATTErrorCode? {
        guard !buffer.take(write.value), buffer.end == nil else { return nil }
        if isRequest { return .insufficientResources }
        finish(
            BluetoothError(
                .overflow, .init("receive", peer: peer),
                "More than \(options.receiveCapacity) bytes were waiting to be read; the link was ended.",
                remedy:
                    "Read faster, or have the central send less at a time: a UART over Bluetooth LE has no flow control "
                    + "in this direction."))
        connection.disconnectNow()
        return nil
    }

    /// No more bytes will come; only the first reason counts.
    nonisolated func finish(_ reason: BluetoothError?) { buffer.finish(reason) }
}
