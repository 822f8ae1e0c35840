import BluetoothLE

// Holds more than ten variables: most are what it was opened with.
/// A UART at the other end of a Bluetooth link, such as that of a LINBLE: a byte stream in both directions.
///
/// It exists only while it is usable, that is after the device has confirmed the subscription: a LINBLE bridges its
/// UART from then on ("online") and not before.
///
/// ```swift
/// let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: adapter)
/// try await uart.send([0x01, 0x00])
/// for try await bytes in uart.received { print(bytes.hexadecimal) }
/// ```
///
/// The stream arrives in arbitrary pieces; ``frames(_:)`` assembles frames.
public actor UARTConnection {
    /// The underlying connection.
    public nonisolated let connection: Connection
    /// The profile of the device.
    public nonisolated let profile: UARTProfile
    /// The options it was opened with.
    public nonisolated let options: UARTOptions

    private let toDevice: RemoteCharacteristic
    /// Whether it sends Write Requests in place of Write Commands.
    nonisolated let isWrittenByRequest: Bool
    private let turns = TurnQueue()
    private var pace: Pace
    private nonisolated let buffer: ReceiveBuffer
    /// The adaptation of the link to the traffic; nil where the options say so.
    private nonisolated let adaptation: TrafficAdaptation?
    private nonisolated let pump: Task<Void, Never>

    /// The number of bytes passed to the kernel.
    public private(set) var sentByteCount = 0
    /// The number of bytes received.
    public nonisolated var receivedByteCount: Int { buffer.total }

    /// The executor of the connection, so that a chunk costs no change of threads.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    /// The peer's address.
    public nonisolated var peer: BluetoothAddress { connection.peer }

    init(
        connection: Connection, profile: UARTProfile, toDevice: RemoteCharacteristic, isWrittenByRequest: Bool,
        subscription: BoundedStream<[UInt8]>, options: UARTOptions
    ) {
        self.connection = connection
        self.profile = profile
        self.options = options
        self.toDevice = toDevice
        self.isWrittenByRequest = isWrittenByRequest
        pace = Pace(bytesPerSecond: options.pacing.bytesPerSecond(for: profile))
        let buffer = ReceiveBuffer(
            capacity: options.receiveCapacity, operation: .init("receive", peer: connection.peer))
        self.buffer = buffer
        let isAdapted = options.adaptsToTraffic && options.phys == nil
        let adaptation = isAdapted ? TrafficAdaptation(of: connection) : nil
        self.adaptation = adaptation
        pump = Task(executorPreference: connection.loop) {
            do throws(BluetoothError) {
                var values = subscription.makeAsyncIterator()
                while let value = try await values.next(isolation: nil) {
                    adaptation?.moved(value.count)
                    guard await buffer.append(value) else { break }
                }
                buffer.finish(nil)
            } catch {
                buffer.finish(error)
            }
        }
    }

    deinit {
        pump.cancel()
        adaptation?.close()
    }

    // MARK: Sending

    /// The maximum size of a write now: the link's, which fills whole packets of the present data length, or of 251 bytes
    /// before that is extended; less if the profile or the options say so.
    public var maximumChunkLength: Int {
        get async { chunkLength }
    }

    /// Sends bytes in chunks; returns when the kernel has accepted the last of them.
    ///
    /// Suspends while the link is congested, and for the pacing. The bytes of one call stay together even when several
    /// tasks send.
    public func send(_ bytes: [UInt8]) async throws(BluetoothError) {
        guard await turns.enter() else {
            throw .cancelled(.init("send", peer: peer))
        }
        defer { turns.leave() }
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(chunkLength))
            try await waitForPace(chunk.count)
            try await write(chunk)
            rest = rest.dropFirst(chunk.count)
        }
    }

    private func waitForPace(_ count: Int) async throws(BluetoothError) {
        guard let moment = pace.moment(for: count, now: connection.loop.now) else { return }
        if await !connection.loop.sleep(until: moment) { throw .cancelled(.init("send", peer: peer)) }
    }

    private func write(_ chunk: [UInt8]) async throws(BluetoothError) {
        if isWrittenByRequest {
            try await connection.write(chunk, to: toDevice, timeout: options.stepTimeout)
        } else {
            try await connection.writeCommand(chunk, to: toDevice)
        }
        sentByteCount &+= chunk.count
        adaptation?.moved(chunk.count)
    }

    /// Sends one chunk, which must not be longer than ``maximumChunkLength``, and distinguishes whether the device may
    /// have received it.
    func handOver(_ chunk: [UInt8]) async -> Handover {
        guard await turns.enter() else {
            return .notSent(.cancelled(.init("send", peer: peer)))
        }
        defer { turns.leave() }
        do throws(BluetoothError) { try await waitForPace(chunk.count) } catch { return .notSent(error) }
        // From here to the request there is no suspension, so that the link is up when it is sent.
        guard connection.isConnectedNow else { return .notSent(await connection.disconnected()) }
        do throws(BluetoothError) {
            try await write(chunk)
            return isWrittenByRequest ? .confirmed : .accepted
        } catch {
            // A command that fails was not accepted, and a request that is refused not executed.
            let isUncertain = isWrittenByRequest && error.code != .attributeProtocol
            return isUncertain ? .uncertain(error) : .notSent(error)
        }
    }

    /// The outcome of sending one chunk.
    enum Handover: Sendable {
        /// The kernel has accepted the command.
        case accepted
        /// The device has answered the request.
        case confirmed
        /// The device has not received the chunk.
        case notSent(BluetoothError)
        /// The device may have received the chunk.
        case uncertain(BluetoothError)
    }

    /// Waits until the device has received all that the kernel had accepted before the call. Unlike ``flush()``, it does
    /// not keep others from sending meanwhile, and its only time limit is the Attribute Protocol's.
    func confirm() async throws(BluetoothError) {
        _ = try await connection.discoverServices(profile.service)
    }

    /// Waits until the device has received all bytes sent before.
    ///
    /// It sends a request on the same bearer, which the device answers in order. The answer does not mean that the
    /// device's UART has transmitted the bytes.
    public func flush() async throws(BluetoothError) {
        guard await turns.enter() else {
            throw .cancelled(.init("flush", peer: peer))
        }
        defer { turns.leave() }
        _ = try await connection.discoverServices(profile.service, timeout: options.stepTimeout)
    }

    // MARK: Receiving

    /// Returns the buffered bytes, waiting for the first if there are none; nil after the end of the stream.
    ///
    /// One task may read at a time. Throws `timedOut` when no byte arrives in time, and, once all earlier bytes have
    /// been read, the error of the link's end.
    public func read(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) -> [UInt8]? {
        try await receivingEnd.read(timeout: timeout, isolation: isolation)
    }

    nonisolated var receivingEnd: ReceivingEnd {
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
}

extension UARTConnection {
    private var chunkLength: Int {
        var length = connection.streamLengthNow
        for limit in [profile.maximumChunkLength, options.maximumChunkLength] {
            if let limit { length = min(length, limit) }
        }
        return max(1, length)
    }
}
