import BluetoothSockets
import BluetoothPrimitives
import BluetoothManagement

/// What a peripheral offers connection-oriented channels for.
struct PeripheralService {
    /// The largest SDU taken.
    var receiveMTU: UInt16
    /// How the link has to be protected.
    var security: SecurityLevel
}

/// A peripheral's connection-oriented channels, and the services they may be opened to.
final class PeripheralChannels {
    private unowned let node: RadioNode
    private var services: [UInt16: PeripheralService] = [:]
    private var channels: [ChannelKey: Channel] = [:]
    /// Whether room is made at once for what has come in.
    private var isGrantingCredits = true

    private struct Channel {
        let link: Link
        let psm: UInt16
        var credits: ChannelCredits

        init(link: Link, psm: UInt16, mtu: UInt16) {
            self.link = link
            self.psm = psm
            credits = ChannelCredits(mtu: mtu, mps: min(mtu, 247))
        }
    }

    /// How much a peripheral takes before its program has to have seen to it; its program takes everything at once.
    private static let room = 4096

    init(node: RadioNode) { self.node = node }

    /// Offers a service, or with nil refuses it from now on.
    func setService(_ psm: UInt16, _ service: PeripheralService?) { services[psm] = service }

    /// Stops or resumes making room; what has come in meanwhile is made room for at once.
    func setGrantingCredits(_ isGranting: Bool) {
        isGrantingCredits = isGranting
        guard isGranting else { return }
        for end in node.world.links(of: node) { for (key, _) in channels(of: end) { grantCredits(key, on: end) } }
    }

    /// Those of a link, oldest first.
    private func channels(of end: LinkEnd) -> [(key: ChannelKey, value: Channel)] {
        channels.filter { $0.value.link === end.link }.sorted { $0.key.number < $1.key.number }
    }

    // MARK: Opening and closing

    /// A central asks for a channel to a service.
    func open(_ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd) -> ChannelAnswer {
        guard let service = services[psm] else { return .refused }
        guard service.security <= end.link.security.level else { return .needsSecurity }
        var channel = Channel(link: end.link, psm: psm, mtu: service.receiveMTU)
        channel.credits.open(with: terms)
        let answer = ChannelAnswer.accepted(channel.credits.terms(room: Self.room))
        channels[key] = channel
        return answer
    }

    /// Closes all channels of a service; the links stay.
    func close(_ psm: UInt16) {
        for end in node.world.links(of: node) {
            for (key, channel) in channels(of: end) where channel.psm == psm {
                channels[key] = nil
                end.send(.procedure { end.other.side.node.channelClosed(key, on: end.other) })
            }
        }
    }

    /// The central has closed a channel.
    func closed(_ key: ChannelKey) { channels[key] = nil }

    func linkEnded(_ end: LinkEnd) { channels = channels.filter { $0.value.link !== end.link } }

    // MARK: Receiving

    /// Records a frame that has come in; says which service's it is.
    func frameArrived(_ key: ChannelKey, on end: LinkEnd) -> UInt16? {
        guard channels[key]?.credits.frameArrived() == true else { return nil }
        grantCredits(key, on: end)
        return channels[key]?.psm
    }

    private func grantCredits(_ key: ChannelKey, on end: LinkEnd) {
        guard isGrantingCredits, let count = channels[key]?.credits.grant(room: Self.room), count > 0 else { return }
        end.send(.procedure { end.other.side.node.creditsGranted(count, key, on: end.other) })
    }

    // MARK: Sending

    /// The channel to a service; the oldest, where a central has opened several.
    func key(of psm: UInt16, on end: LinkEnd) -> ChannelKey? { channels(of: end).first { $0.value.psm == psm }?.key }

    func creditsGranted(_ count: Int, _ key: ChannelKey) { channels[key]?.credits.received(count) }

    /// Sends all frames of an SDU but the last; false when there are not enough credits.
    func sendFrames(ofSDU byteCount: Int, _ key: ChannelKey, on end: LinkEnd) -> Bool {
        guard var credits = channels[key]?.credits, credits.toSend >= credits.frames(of: byteCount) else {
            return false
        }
        while !credits.sendFrame(ofSDU: byteCount) {
            end.send(.procedure { end.other.side.node.frameArrived(key, on: end.other) })
        }
        channels[key]?.credits = credits
        return true
    }
}
