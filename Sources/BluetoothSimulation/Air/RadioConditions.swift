/// What the air does to packets.
public struct RadioConditions: Equatable, Sendable {
    /// How many packets of each direction a connection event carries at most.
    public var packetsPerConnectionEvent = 6
    /// The likelihood, 0 to 1, that one packet of a link is not received and sent again at the next connection event.
    public var packetLoss = 0.0
    /// The likelihood, 0 to 1, that one listener misses an advertisement.
    public var advertisementLoss = 0.0
    /// The probability, 0 to 1, that a scan request or its scan response is lost.
    public var scanResponseLoss = 0.0
    /// How much later than on a real link every packet arrives.
    public var latency = Duration.zero
    /// Up to how much more, by chance; packets of a link stay in order.
    public var jitter = Duration.zero
    /// Whether a story fails when a socket's receive buffer overflowed in it, which on a real kernel nobody would notice.
    public var failsOnOverflow = false
    /// How many dB the signal strength of an advertisement varies up and down.
    public var signalVariation: Int8 = 3

    /// A quiet room.
    public init() {}
}

/// What the simulation counts: all that a real kernel or radio loses without telling anybody.
public struct SimulationStatistics: Equatable, Sendable {
    /// Packets dropped because a socket's receive buffer was full.
    public var receiveOverflows = 0
    /// Packets that arrived for a channel that nobody had opened, or that was not ready.
    public var packetsWithoutChannel = 0
    /// Packets longer than the receiver's MTU.
    public var oversizedPackets = 0
    /// HCI and management packets dropped because a socket's receive buffer was full.
    public var eventOverflows = 0
    /// Packets that were on their way when their link ended.
    public var packetsLostWithLink = 0
    /// Packets that were received over links, whatever became of them then.
    public var packetsDelivered = 0
    /// Advertisements sent while somebody listened.
    public var advertisementsSent = 0

    /// Nothing has happened.
    public init() {}
}
