/// What one side says of itself when a connection-oriented channel is opened (Core Vol 3 Part A §4.22, §4.23).
struct ChannelTerms {
    /// The largest SDU it takes.
    var mtu: UInt16
    /// The largest frame it takes.
    var mps: UInt16
    /// How many frames the other side may send at first.
    var credits: Int
}

/// What becomes of the wish for a connection-oriented channel.
enum ChannelAnswer {
    case accepted(ChannelTerms)
    /// Nobody offers the service, or there is no room.
    case refused
    /// The link is not protected enough.
    case needsSecurity
}
