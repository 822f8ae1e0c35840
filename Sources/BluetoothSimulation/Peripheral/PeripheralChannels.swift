import BluetoothPrimitives

/// A PSM that a peripheral accepts channels on.
struct PeripheralService {
    /// The largest SDU accepted.
    var receiveMTU: UInt16
    /// The security level required of the link.
    var security: SecurityLevel
}

/// A peripheral's connection-oriented channels, and the PSMs they may be opened to.
final class PeripheralChannels {
    private unowned let node: RadioNode
    private var services: [UInt16: PeripheralService] = [:]
    private var channels: [ChannelKey: Channel] = [:]
    /// Whether credits are granted at once for received frames.
    private var isGrantingCredits = true

    private struct Channel {
        let link: SimulatedConnection
        let psm: UInt16
        var credits: ChannelCredits
    }

    /// The receive buffer of a channel; the peripheral's handler consumes everything at once.
    private static let room = 4096

    init(node: RadioNode) { self.node = node }

    /// Accepts channels on a PSM, or with nil refuses them from now on.
    func setService(_ psm: UInt16, _ service: PeripheralService?) { services[psm] = service }

    /// Pauses or resumes granting credits; those due are granted at once.
    func setGrantingCredits(_ isGranting: Bool) {
        isGrantingCredits = isGranting
        guard isGranting else { return }
        for end in node.world.links(of: node) { for (key, _) in channels(of: end) { grantCredits(key, on: end) } }
    }

    /// The channels of a link, oldest first.
    private func channels(of end: LinkEnd) -> [(key: ChannelKey, value: Channel)] {
        channels.filter { $0.value.link === end.link }.sorted { $0.key.number < $1.key.number }
    }

    // MARK: Opening and closing

    /// Handles a central's request for a channel.
    func open(_ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd) -> ChannelAnswer {
        guard let service = services[psm] else { return .refused }
        guard service.security <= end.link.security.level else { return .needsSecurity }
        var channel = Channel(link: end.link, psm: psm, credits: ChannelCredits(mtu: service.receiveMTU))
        channel.credits.open(with: terms)
        let answer = ChannelAnswer.accepted(channel.credits.terms(room: Self.room))
        channels[key] = channel
        return answer
    }

    /// Closes all channels of a PSM; the links stay.
    func close(_ psm: UInt16) {
        for end in node.world.links(of: node) {
            for (key, channel) in channels(of: end) where channel.psm == psm {
                channels[key] = nil
                end.tell(.channelClosed(key))
            }
        }
    }

    /// Handles a channel that the central has closed.
    func closed(_ key: ChannelKey) { channels[key] = nil }

    func linkEnded(_ end: LinkEnd) { channels = channels.filter { $0.value.link !== end.link } }

    // MARK: Receiving

    /// Records a received frame; returns its PSM.
    func frameArrived(_ key: ChannelKey, on end: LinkEnd) -> UInt16? {
        guard channels[key]?.credits.frameArrived() == true else { return nil }
        grantCredits(key, on: end)
        return channels[key]?.psm
    }

    private func grantCredits(_ key: ChannelKey, on end: LinkEnd) {
        guard isGrantingCredits, let count = channels[key]?.credits.grant(room: Self.room), count > 0 else { return }
        end.tell(.credits(count, key))
    }

    // MARK: Sending

    /// The channel to a PSM; the oldest, if a central has opened several.
    func key(of psm: UInt16, on end: LinkEnd) -> ChannelKey? { channels(of: end).first { $0.value.psm == psm }?.key }

    func creditsGranted(_ count: Int, _ key: ChannelKey) { channels[key]?.credits.received(count) }

    /// Sends all frames of an SDU but the last, whose size is returned; nil when there are not enough credits.
    func sendFrames(ofSDU byteCount: Int, _ key: ChannelKey, on end: LinkEnd) -> Int? {
        guard var credits = channels[key]?.credits, credits.toSend >= credits.frames(of: byteCount) else {
            return nil
        }
        credits.accept(ofSDU: byteCount)
        var frame = credits.sendFrame(ofSDU: byteCount)
        while !frame.isLast {
            end.tell(.frame(key), byteCount: frame.byteCount)
            frame = credits.sendFrame(ofSDU: byteCount)
        }
        channels[key]?.credits = credits
        return frame.byteCount
    }
}
