import BluetoothLE

/// The source of a UART's received bytes, on either side of the link.
struct ReceivingEnd: Sendable {
    let buffer: ReceiveBuffer
    let loop: EventLoop
    /// The device; nil if it may be another one on each link.
    let peer: BluetoothAddress?
    /// Retained by the reader.
    let owner: any AnyObject & Sendable

    func read(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) -> [UInt8]? {
        try await buffer.read(until: timeout.map { loop.now.advanced(by: $0) }, on: loop)
    }

    func violation(_ error: FramingError) -> BluetoothError {
        BluetoothError(.protocolViolation, .init("receive", peer: peer), "The device sent \(error).")
    }
}

/// The bytes of a UART as an asynchronous sequence; it throws the error that ended the link.
public struct UARTReceived: AsyncSequence, Sendable {
    /// A piece of the stream, split at arbitrary places.
    public typealias Element = [UInt8]
    /// The type of its errors.
    public typealias Failure = BluetoothError

    let end: ReceivingEnd

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(end: end) }

    /// An iterator over the pieces.
    public struct Iterator: AsyncIteratorProtocol {
        let end: ReceivingEnd

        /// The next piece.
        public nonisolated(nonsending) mutating func next() async throws(BluetoothError) -> [UInt8]? {
            try await end.read(isolation: #isolation)
        }

        /// The next piece.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BluetoothError) -> [UInt8]? {
            try await end.read(isolation: actor)
        }
    }
}

/// The frames in the bytes of a UART as an asynchronous sequence.
public struct UARTFrames<F: Framer>: AsyncSequence, Sendable {
    /// A whole frame without its length field or delimiter.
    public typealias Element = [UInt8]
    /// The type of its errors: the link's end, or `protocolViolation` for bytes that cannot be framed, after which
    /// reading may continue.
    public typealias Failure = BluetoothError

    let end: ReceivingEnd
    let framer: F

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(end: end, framer: framer) }

    /// An iterator over the frames.
    public struct Iterator: AsyncIteratorProtocol {
        let end: ReceivingEnd
        var framer: F

        /// The next frame; one that is unfinished when the stream ends is discarded.
        public nonisolated(nonsending) mutating func next() async throws(BluetoothError) -> [UInt8]? {
            try await next(isolation: #isolation)
        }

        /// The next frame; one that is unfinished when the stream ends is discarded.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BluetoothError) -> [UInt8]? {
            while true {
                if let frame = try nextFrame() { return frame }
                guard let bytes = try await end.read(isolation: actor) else { return nil }
                try append(bytes)
            }
        }

        private mutating func nextFrame() throws(BluetoothError) -> [UInt8]? {
            do throws(FramingError) { return try framer.next() } catch { throw end.violation(error) }
        }

        private mutating func append(_ bytes: [UInt8]) throws(BluetoothError) {
            do throws(FramingError) { try framer.append(bytes) } catch { throw end.violation(error) }
        }
    }
}
