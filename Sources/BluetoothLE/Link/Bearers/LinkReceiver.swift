import BluetoothHost
import BluetoothPrimitives

/// The receiver of one of a link's bearers, which does not retain the link: releasing its last handle ends it.
final class LinkReceiver: ChannelReceiver {
    private weak var link: Link?
    /// The number of an enhanced bearer; nil for the attribute channel.
    private let bearer: UInt64?

    init(_ link: Link, bearer: UInt64? = nil) { (self.link, self.bearer) = (link, bearer) }

    func receive(_ packet: RawSpan) {
        guard let link else { return }
        if let bearer { link.enhancedBearers[bearer]?.receive(packet) } else { link.receive(packet) }
    }

    func channelIsWritable() {
        guard let link else { return }
        if let bearer { link.enhancedBearers.channelIsWritable(bearer, link) } else { link.channelIsWritable() }
    }

    func channelEnded(_ reason: BluetoothError) {
        guard let link else { return }
        if let bearer { link.enhancedBearers.channelEnded(bearer, reason, link) } else { link.channelEnded(reason) }
    }
}
