/// The parameters that decide how much a link can carry in one direction.
package struct LinkCapacity: Hashable, Sendable {
    /// The connection interval in µs: a multiple of 1250.
    package var interval: Int
    /// The coding of the packets of both directions.
    package var coding: LinkLayerCoding
    /// The largest payload of a sent packet in bytes: 27 to 251.
    package var octets: Int
    /// The longest sent packet in µs: 328 to 17 040; nil for as long as `octets` need.
    package var time: Int?
    /// The largest payload of the other side's packets, which only matters on LE Coded.
    package var receiveOctets: Int
    /// Whether the link is encrypted.
    package var isEncrypted: Bool
    /// The maximum number of packets per direction in a connection event; nil for as many as fit.
    package var packetsPerEvent: Int?

    /// The size of a controller's buffer for ACL data packets, in which the host passes L2CAP PDUs.
    package static let aclByteCount = 251

    /// The parameters of a link in one direction.
    package init(
        interval: Int, coding: LinkLayerCoding, octets: Int, time: Int? = nil, receiveOctets: Int = 27,
        isEncrypted: Bool = false, packetsPerEvent: Int? = nil
    ) {
        self.interval = interval
        self.coding = coding
        self.octets = octets
        self.time = time
        self.receiveOctets = receiveOctets
        self.isEncrypted = isEncrypted
        self.packetsPerEvent = packetsPerEvent
    }

    /// The largest payload of a packet in bytes, within the limits of size and time.
    package var payload: Int {
        let wanted = time ?? LinkLayerTiming.limit(ofPayload: octets, coding)
        let time =
            coding.isCoded
            ? LinkLayerTiming.codedTime(
                wanted, interval: interval, receiveOctets: receiveOctets,
                receiveTime: LinkLayerTiming.limit(ofPayload: receiveOctets, .codedS8))
            : wanted
        return LinkLayerTiming.payload(octets: octets, time: time, coding)
    }

    /// The payloads of the packets that carry an L2CAP PDU: the host cuts it into ACL data packets, the controller
    /// those by the data length.
    package func packets(ofPDU byteCount: Int) -> [Int] {
        let payload = payload
        return stride(from: 0, to: byteCount, by: Self.aclByteCount).flatMap { start in
            let size = min(Self.aclByteCount, byteCount - start)
            return stride(from: 0, to: size, by: payload).map { min(payload, size - $0) }
        }
    }

    /// The bytes a second that an endless stream of notifications or Write Commands of `value` bytes each carries,
    /// while the other side only acknowledges: the values alone, without the headers of ATT (3 bytes) and L2CAP (4).
    ///
    /// A connection event lasts from its anchor point to T_IFS before the next one (Core Vol 6 Part B §4.5.1). It is
    /// as many exchanges as fit of one packet, T_IFS, an empty packet of the other side, and T_IFS.
    package func bytesPerSecond(ofValues value: Int) -> Double {
        let exchanges = packets(ofPDU: value + 7).map { payload in
            LinkLayerTiming.duration(ofPayload: payload, coding, isEncrypted: isEncrypted)
                + LinkLayerTiming.interFrameSpace
                + LinkLayerTiming.duration(ofPayload: 0, coding, isEncrypted: isEncrypted)
        }
        // The pattern of packets over the events repeats when an event begins with the same packet of a PDU.
        var (packet, events, pdus) = (0, 0, 0)
        var firstEvents = [Int: (events: Int, pdus: Int)]()
        while true {
            if let first = firstEvents[packet] {
                let bytes = Double((pdus - first.pdus) * value)
                return bytes * 1_000_000 / Double((events - first.events) * interval)
            }
            firstEvents[packet] = (events, pdus)
            var (time, count) = (0, 0)
            while time + exchanges[packet] <= interval - LinkLayerTiming.interFrameSpace,
                count < packetsPerEvent ?? .max
            {
                time += exchanges[packet] + LinkLayerTiming.interFrameSpace
                count += 1
                packet += 1
                if packet == exchanges.count { (packet, pdus) = (0, pdus + 1) }
            }
            // Only a packet longer than the interval, which the data length excludes.
            guard count > 0 else { return 0 }
            events += 1
        }
    }
}
