/// The radio conditions of a simulation: loss, latency and jitter.
public struct RadioConditions: Equatable, Sendable {
    /// The maximum number of Link Layer packets per direction in a connection event; nil for as many as fit into the
    /// connection interval.
    ///
    /// Real controllers differ: many close an event after four or six packets, others only when the next event is due.
    /// Without a limit a link carries what its interval, PHY and data length allow; set one to imitate such a
    /// controller.
    public var packetsPerConnectionEvent: Int?
    /// The probability, 0 to 1, that a Link Layer packet of a link, also an empty one, is received with an invalid CRC.
    ///
    /// It is sent again, in the same connection event if that continues. Two in a row close the event (Core Vol 6 Part B
    /// §4.5.6).
    public var packetLoss = 0.0
    /// The probability, 0 to 1, that a listener misses an advertisement.
    public var advertisementLoss = 0.0
    /// The probability, 0 to 1, that a scan request or its scan response is lost.
    public var scanResponseLoss = 0.0
    /// The additional latency of every packet.
    public var latency = Duration.zero
    /// The maximum additional random latency; the packets of a link stay in order.
    public var jitter = Duration.zero
    /// Whether a simulation fails when a socket's receive buffer has overflowed, which a real kernel does not report.
    public var failsOnOverflow = false
    /// The random variation of an advertisement's RSSI up and down, in dB.
    public var signalVariation: Int8 = 3

    /// Creates the conditions of a quiet room.
    public init() {}
}

/// The counters of a simulation: everything that a real kernel or radio loses without a report.
public struct SimulationStatistics: Equatable, Sendable {
    /// Packets dropped because a socket's receive buffer was full.
    public var receiveOverflows = 0
    /// Packets that arrived for a channel that was not open, or not ready.
    public var packetsWithoutChannel = 0
    /// Packets longer than the receiver's MTU.
    public var oversizedPackets = 0
    /// HCI and management packets dropped because a socket's receive buffer was full.
    public var eventOverflows = 0
    /// Packets in transit when their link ended.
    public var packetsLostWithLink = 0
    /// SDUs dropped because their channel was closed before the peer had granted credits for them.
    public var packetsWithoutCredits = 0
    /// Packets received over links, however they were processed.
    public var packetsDelivered = 0
    /// Advertisements sent while there was a listener.
    public var advertisementsSent = 0

    /// Creates zero counters.
    public init() {}
}
