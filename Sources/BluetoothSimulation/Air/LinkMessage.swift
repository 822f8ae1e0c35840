import BluetoothHCI
import BluetoothHost

/// A change of a link.
enum SimulatedLinkChange {
    case parameters
    case dataLength
    case phy
    case security
}

/// The key of a link's channel.
enum ChannelKey: Hashable {
    /// A fixed channel's identifier.
    case fixed(UInt16)
    /// A connection-oriented channel, by a number common to both sides.
    case dynamic(Int)

    var number: Int {
        switch self {
        case .fixed(let identifier): return Int(identifier)
        case .dynamic(let number): return number
        }
    }
}

/// What a link reports to the device at one of its ends.
enum LinkNotice {
    case packet([UInt8], channel: ChannelKey)
    /// There is room for another message.
    case room
    /// The peer requests other connection parameters.
    case parametersRequested(LEConnectionParameters)
    /// A frame of an SDU that is not its last.
    case frame(ChannelKey)
    case credits(Int, ChannelKey)
    case channelClosed(ChannelKey)
    /// The peer requests a channel to a PSM; a device that does not answer keeps silent.
    indirect case channelRequested(psm: UInt16, ChannelKey, ChannelTerms, answer: (ChannelAnswer) -> Void)
    /// The peer has sent its features.
    case featuresReceived
    /// The link's parameters, data length, PHYs or security have changed.
    case changed(SimulatedLinkChange)
}

/// A message that a link carries, in one or several Link Layer packets.
struct LinkMessage {
    enum Content {
        /// A packet of an L2CAP channel.
        case data(ChannelKey, [UInt8])
        /// A procedure of a protocol below the kernel seam (link layer, L2CAP signalling, pairing), executed on
        /// arrival.
        case procedure(() -> Void)
    }

    let content: Content
    /// The size of the L2CAP PDU with its header, or of the Link Layer control PDU.
    let byteCount: Int

    /// The size of the header of an L2CAP PDU.
    static let headerByteCount = 4
    /// The approximate size of a Link Layer control PDU, and of an L2CAP signalling PDU.
    static let controlByteCount = 12
    /// The size of most PDUs of the Security Manager: a code and 16 bytes.
    static let pairingByteCount = 21

    /// A packet of an L2CAP channel; `byteCount` is the size of its PDUs where that is not one with the packet.
    static func data(_ key: ChannelKey, _ packet: [UInt8], byteCount: Int? = nil) -> LinkMessage {
        LinkMessage(content: .data(key, packet), byteCount: byteCount ?? packet.count + headerByteCount)
    }

    /// A procedure whose PDU has this size.
    static func procedure(_ byteCount: Int = controlByteCount, _ action: @escaping () -> Void) -> LinkMessage {
        LinkMessage(content: .procedure(action), byteCount: byteCount)
    }

    /// The number of HCI ACL data packets in which a host passes it to its controller.
    var aclPacketCount: Int { (byteCount + LinkCapacity.aclByteCount - 1) / LinkCapacity.aclByteCount }
}

/// The messages that a controller has to send.
struct SendQueue {
    private var messages: [LinkMessage] = []
    /// The number of HCI ACL data packets of the messages.
    private(set) var aclPacketCount = 0

    var isEmpty: Bool { messages.isEmpty }
    var count: Int { messages.count }

    /// What there is to send at the beginning of an exchange.
    var backlog: ConnectionEvent.Backlog {
        ConnectionEvent.Backlog(first: messages.first?.byteCount ?? 0, hasMore: messages.count > 1)
    }

    mutating func append(_ message: LinkMessage) {
        messages.append(message)
        aclPacketCount += message.aclPacketCount
    }

    mutating func removeFirst() -> LinkMessage? {
        guard !messages.isEmpty else { return nil }
        let message = messages.removeFirst()
        aclPacketCount -= message.aclPacketCount
        return message
    }

    mutating func removeAll() {
        messages = []
        aclPacketCount = 0
    }
}
