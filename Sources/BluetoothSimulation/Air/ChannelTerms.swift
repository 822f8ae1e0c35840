/// One side's parameters of a connection-oriented channel (Core Vol 3 Part A §4.22, §4.23).
struct ChannelTerms {
    /// The largest SDU it accepts.
    var mtu: UInt16
    /// The largest frame it accepts.
    var mps: UInt16
    /// The initial credits of the other side.
    var credits: Int
}

/// The answer to a request for a connection-oriented channel.
enum ChannelAnswer {
    case accepted(ChannelTerms)
    /// There is no such PSM, or no room.
    case refused
    /// The link's security level is too low.
    case needsSecurity
}
