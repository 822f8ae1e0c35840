import BluetoothLE
import BluetoothLoop

/// A UART at the other end of links that come and go: after the end of one, the device is found and connected to again,
/// and the byte streams of both directions go on.
///
/// ```swift
/// let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: adapter)
/// try await uart.send([0x01, 0x00])          // waits in the buffer if there is no link
/// for try await bytes in uart.received { print(bytes.hexadecimal) }
/// ```
///
/// The order of bytes is kept, and none is sent twice. Bytes that were handed over to a link that ended before they were
/// confirmed may be lost, and are counted (``Statistics/unconfirmedByteCount``); no others are. With Write Requests
/// (``UARTProfile/WriteType/request``) that is at most one chunk for each link.
///
/// It ends with ``disconnect(timeout:)``, with its last reference, when the adapter is closed, when its policy gives up,
/// and with an error that another attempt does not repair: `notPermitted`, `unsupported` for a device without the
/// service, `attributeProtocol` when the device refuses access or a write, a failed authentication, and `overflow` when
/// received bytes are not read.
public final class KeptUART: Sendable {
    /// The device.
    public let device: UARTDevice
    /// The options it was created with.
    public let options: KeptUARTOptions
    private let driver: KeptDriver
    private let task: Task<Void, Never>

    init(
        _ device: UARTDevice, on central: some Central, options: KeptUARTOptions,
        choosing choice: KeptDriver.Choice?, progress: (@Sendable (UARTProgress) -> Void)?
    ) {
        self.device = device
        self.options = options
        let driver = KeptDriver(device, options, on: central.loop, choosing: choice, progress: progress)
        self.driver = driver
        // One task for all links.
        task = Task(executorPreference: central.loop) { await driver.run(on: central) }
    }

    deinit {
        task.cancel()
    }

    // MARK: The links

    /// The present link; nil while there is none.
    public nonisolated(nonsending) var connection: UARTConnection? {
        get async { await driver.uart }
    }

    /// The byte counts so far.
    public nonisolated(nonsending) var statistics: Statistics {
        get async { await driver.statistics }
    }

    /// A stream of the events of the links that begins with the latest. Each call creates a separate stream.
    ///
    /// When `bufferCapacity` events wait, the oldest makes room. The stream ends after ``disconnect(timeout:)`` and with
    /// the last reference to this object, which it does not retain, and throws any other reason of the end.
    public nonisolated(nonsending) func events(bufferCapacity: Int = 64) async -> BoundedStream<Event> {
        await driver.events(bufferCapacity)
    }

    // MARK: Sending

    /// Appends bytes to the send buffer; returns when the last of them is in it.
    ///
    /// Suspends while the buffer is full, also while there is no link, unless the options say that bytes are dropped
    /// then. The bytes of one call stay together even when several tasks send. When the task is cancelled meanwhile, the
    /// bytes that are in the buffer already are sent.
    /// - Throws: `cancelled` when the task is cancelled, and after ``disconnect(timeout:)``; the reason of the end.
    public nonisolated(nonsending) func send(_ bytes: [UInt8]) async throws(BluetoothError) {
        try await driver.sender.send(bytes)
    }

    /// Waits until the device has confirmed all bytes sent before, on whichever link.
    ///
    /// The confirmation does not mean that the device's UART has transmitted the bytes. Bytes dropped while there was no
    /// link are not waited for.
    /// - Parameter timeout: the maximum time to wait; nil for no limit, as long as the device is absent.
    /// - Throws: `disconnected` when a link has ended with unconfirmed bytes, which are reported by one call, or by all
    ///   that wait; `timedOut`; `cancelled`; the reason of the end.
    public nonisolated(nonsending) func flush(timeout: Duration? = nil) async throws(BluetoothError) {
        try await driver.sender.flush(timeout: timeout)
    }

    // MARK: Receiving

    /// Returns the buffered bytes, waiting for the first if there are none; nil after the end of the stream, which is
    /// that of ``disconnect(timeout:)`` and not that of a link.
    ///
    /// One task may read at a time. Throws `timedOut` when no byte arrives in time, and, once all earlier bytes have
    /// been read, the reason of the end.
    public func read(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) -> [UInt8]? {
        try await receivingEnd.read(timeout: timeout, isolation: isolation)
    }

    private var receivingEnd: ReceivingEnd {
        ReceivingEnd(buffer: driver.buffer, loop: driver.loop, peer: nil, owner: self)
    }

    /// The bytes as they arrive, in arbitrary pieces, over all links.
    public var received: UARTReceived { UARTReceived(end: receivingEnd) }

    /// The frames that `framer` finds in the received bytes. It is not notified of the end of a link, after which the
    /// rest of a frame may be missing.
    public func frames<F: Framer>(_ framer: F) -> UARTFrames<F> {
        UARTFrames(end: receivingEnd, framer: framer)
    }

    // MARK: The end

    /// Disconnects the device and ends the streams. Bytes received before can still be read; bytes that were not sent
    /// are discarded, unless ``flush(timeout:)`` has waited for them.
    ///
    /// Returns when the link is down, or after `timeout`, as `Connection.disconnect(timeout:)` does.
    public nonisolated(nonsending) func disconnect(timeout: Duration? = .seconds(5)) async {
        await driver.disconnect(cancelling: task, timeout: timeout)
    }
}

extension UARTConnection {
    /// A UART that outlives links: the device is connected to now, or as soon as it is in range, and again after the end
    /// of each link.
    ///
    /// A device is found again by scanning, also if its address has changed, unless it is given by its address.
    /// - Parameters:
    ///   - device: the device to connect to.
    ///   - central: the adapter to use, or several as one, of which the one that suits makes the link; it is waited for
    ///     while it is off, blocked or absent.
    ///   - options: the options of each link, the delays between attempts, and the send buffer.
    ///   - choice: finds the device to stay with on the central, in place of `device`, before the first connection
    ///     attempt, and again after an error that another attempt may repair; nil if `device` says all. It may wait for
    ///     the device as long as it likes. Its task is cancelled at the end.
    ///   - progress: called at every step of each attempt; on any thread.
    public static func keep<C: Central>(
        _ device: UARTDevice, on central: C, options: KeptUARTOptions = KeptUARTOptions(),
        choosing choice: (@Sendable (C) async throws(BluetoothError) -> UARTDevice)? = nil,
        progress: (@Sendable (UARTProgress) -> Void)? = nil
    ) -> KeptUART {
        var ownChoice: KeptDriver.Choice?
        if let choice {
            ownChoice = { () async throws(BluetoothError) -> UARTDevice in try await choice(central) }
        }
        return KeptUART(device, on: central, options: options, choosing: ownChoice, progress: progress)
    }
}
