import BluetoothLE

/// Options of a UART that outlives links.
public struct KeptUARTOptions: Sendable {
    /// What happens to bytes that are sent while there is no link.
    public enum OfflineBehavior: Hashable, Sendable {
        /// They wait for the next link; `send` suspends while the buffer is full.
        case buffer
        /// They are dropped and counted. Bytes that were buffered before the link ended stay for the next one.
        case drop
    }

    /// The options of each link. Neither ``UARTOptions/scanTimeout`` nor ``UARTOptions/attempts`` is used: an absent
    /// device is waited for, and ``policy`` limits the attempts.
    public var uart: UARTOptions
    /// The delays between attempts, and when to give up.
    public var policy: ReconnectionPolicy
    /// The size of the send buffer in bytes; values below one count as one.
    public var sendCapacity: Int
    /// What happens to bytes that are sent while there is no link.
    public var whileOffline: OfflineBehavior

    /// Creates options; by default with a buffer of 64 KiB, in which bytes wait for the next link.
    public init(
        uart: UARTOptions = UARTOptions(), policy: ReconnectionPolicy = ReconnectionPolicy(),
        sendCapacity: Int = 65_536, whileOffline: OfflineBehavior = .buffer
    ) {
        self.uart = uart
        self.policy = policy
        self.sendCapacity = sendCapacity
        self.whileOffline = whileOffline
    }
}

extension KeptUART {
    /// A search for the device to stay with, by a rule of the program's own, on an adapter.
    public typealias Choice = @Sendable (Adapter) async throws(BluetoothError) -> UARTDevice

    /// An event of a UART that outlives links. An open set: each property is one thing that may happen, nil for the others.
    public struct Event: Sendable {
        package enum Kind: Sendable {
            case connecting(attempt: Int)
            case online(UARTConnection)
            case offline(BluetoothError, unconfirmedByteCount: Int)
            case failed(BluetoothError, retryAfter: Duration)
            case waitingForAdapter(BluetoothError)
        }

        package let kind: Kind

        init(_ kind: Kind) { self.kind = kind }

        /// The number of the attempt that begins, the n-th since the last link, from 1: it scans for the device, unless
        /// that is given by its address, connects and opens the UART.
        public var connecting: Int? { if case .connecting(let attempt) = kind { attempt } else { nil } }
        /// The link on which bytes flow in both directions. They are sent and received by the ``KeptUART``, not by this
        /// link.
        public var online: UARTConnection? { if case .online(let uart) = kind { uart } else { nil } }
        /// The reason for the end of the link. The count is that of the bytes that it leaves unconfirmed, as in
        /// ``Statistics/unconfirmedByteCount``.
        public var offline: (reason: BluetoothError, unconfirmedByteCount: Int)? {
            if case .offline(let reason, let count) = kind { (reason, count) } else { nil }
        }
        /// The reason for which an attempt has failed, or the link was short; the next attempt follows after the delay.
        public var failed: (error: BluetoothError, retryAfter: Duration)? {
            if case .failed(let error, let delay) = kind { (error, delay) } else { nil }
        }
        /// The reason for which the adapter is waited for: it is off, blocked or absent, or has no room for another link
        /// (`.linkLimitReached`); the next attempt follows when it is back, or when a link ends.
        public var waitingForAdapter: BluetoothError? {
            if case .waitingForAdapter(let reason) = kind { reason } else { nil }
        }
    }

    /// The byte counts of a UART that outlives links, over all links.
    public struct Statistics: Hashable, Sendable {
        /// The number of links so far.
        public var linkCount = 0
        /// Bytes handed over to a link: confirmed, unconfirmed or in flight.
        public var sentByteCount = 0
        /// Bytes that the device has confirmed: by the response to their Write Request, or by answering a request that
        /// was sent after their Write Command.
        public var confirmedByteCount = 0
        /// Bytes handed over to a link that ended before they were confirmed. The device may have received them or not;
        /// they are not sent again, so that none arrives twice.
        public var unconfirmedByteCount = 0
        /// Bytes that wait for a link, or for room on it.
        public var bufferedByteCount = 0
        /// Bytes dropped while there was no link (``KeptUARTOptions/OfflineBehavior/drop``).
        public var droppedByteCount = 0
        /// Bytes received.
        public var receivedByteCount = 0

        /// Bytes handed over to the present link that are not yet confirmed.
        public var inFlightByteCount: Int { sentByteCount - confirmedByteCount - unconfirmedByteCount }

        /// Creates counts of zero.
        public init() {}
    }
}

extension KeptUART.Event: CustomStringConvertible {
    /// The kind of event, with what it carries.
    public var description: String { "\(kind)" }
}
