import BluetoothHost
import Testing

struct LinkLayerTimingTests {
    /// The durations of packets in µs, without and with a message integrity code. Those with one are the limits of the
    /// data length in Core Vol 6 Part B §4.5.10: 328, 2120, 1064 (LE 2M), 2704 and 17040 µs.
    private static let table: [(LinkLayerCoding, payload: Int, plain: Int, encrypted: Int)] = [
        (.le1M, 0, 80, 80), (.le1M, 1, 88, 120), (.le1M, 27, 296, 328), (.le1M, 251, 2088, 2120),
        (.le2M, 0, 44, 44), (.le2M, 27, 152, 168), (.le2M, 251, 1048, 1064),
        (.codedS2, 0, 462, 462), (.codedS2, 27, 894, 958), (.codedS2, 251, 4478, 4542),
        (.codedS8, 0, 720, 720), (.codedS8, 27, 2448, 2704), (.codedS8, 251, 16784, 17040),
    ]

    @Test func packetsTakeTheTimeOfTheSpecification() {
        for (coding, payload, plain, encrypted) in Self.table {
            #expect(LinkLayerTiming.duration(ofPayload: payload, coding, isEncrypted: false) == plain)
            #expect(LinkLayerTiming.duration(ofPayload: payload, coding, isEncrypted: true) == encrypted)
            guard payload > 1 else { continue }
            #expect(LinkLayerTiming.limit(ofPayload: payload, coding) == encrypted)
            #expect(LinkLayerTiming.payload(octets: 251, time: encrypted, coding) == payload)
            #expect(LinkLayerTiming.payload(octets: 251, time: encrypted - 1, coding) == payload - 1)
        }
    }

    @Test func packetsAreLimitedBySizeAndTime() {
        #expect(LinkLayerTiming.payload(octets: 100, time: 17040, .le1M) == 100)
        // The time of 27 bytes on LE 1M is that of 67 on LE 2M.
        #expect(LinkLayerTiming.payload(octets: 251, time: 328, .le2M) == 67)
        #expect(LinkLayerTiming.payload(octets: 27, time: 328, .le2M) == 27)
    }

    @Test func onLECodedTheOtherSidesPacketsHaveRoom() {
        func time(_ interval: Int, _ octets: Int) -> Int {
            LinkLayerTiming.codedTime(
                17040, interval: interval, receiveOctets: octets,
                receiveTime: LinkLayerTiming.limit(ofPayload: octets, .codedS8))
        }
        // connInterval - 2 T_IFS - the other side's packet, at least 2704 µs.
        #expect(time(7500, 27) == 7500 - 300 - 2704)
        #expect(time(30000, 251) == 30000 - 300 - 17040)
        #expect(time(15000, 251) == 2704)
        #expect(time(100_000, 251) == 17040)
        // The limits of the other PHYs are at least that of 27 bytes.
        #expect(LinkLayerTiming.codedTime(328, interval: 30000, receiveOctets: 27, receiveTime: 328) == 2704)
    }

    @Test func pdusAreCutByACLDataPacketsAndDataLength() {
        let long = LinkCapacity(interval: 30_000, coding: .le1M, octets: 251)
        #expect(long.packets(ofPDU: 251) == [251])
        #expect(long.packets(ofPDU: 521) == [251, 251, 19])
        let short = LinkCapacity(interval: 30_000, coding: .le1M, octets: 27)
        #expect(short.packets(ofPDU: 27) == [27])
        #expect(short.packets(ofPDU: 251) == [Int](repeating: 27, count: 9) + [8])
        #expect(short.packets(ofPDU: 260) == [Int](repeating: 27, count: 9) + [8, 9])
    }

    /// Values of 244 bytes fill packets of 251. On LE 1M an exchange takes 2088 + 150 + 80 µs, and 150 µs to the next;
    /// 12 of them fit into 30 ms; with message integrity codes, 2120 µs, 12 fit just so.
    @Test func aLinkCarriesWhatFitsIntoItsEvents() {
        func rate(_ capacity: LinkCapacity, _ value: Int = 244) -> Int {
            Int(capacity.bytesPerSecond(ofValues: value).rounded())
        }
        var link = LinkCapacity(interval: 30_000, coding: .le1M, octets: 251)
        #expect(rate(link) == 12 * 244 * 100 / 3)
        link.isEncrypted = true
        #expect(rate(link) == 12 * 244 * 100 / 3)
        link.coding = .le2M
        // (29 850 + 150) / (1064 + 150 + 44 + 150) = 21.3.
        #expect(rate(link) == 21 * 244 * 100 / 3)
        link.packetsPerEvent = 6
        #expect(rate(link) == 6 * 244 * 100 / 3)
        // Packets of 27 bytes carry 20 bytes of value each: 30 000 / (296 + 150 + 80 + 150) = 44.4.
        let short = LinkCapacity(interval: 30_000, coding: .le1M, octets: 27)
        #expect(rate(short, 20) == 29_333)
        // Events of 7.5 ms carry 11 packets, of 10 for each value: ten events carry 11 values (the last packet of each,
        // of 8 bytes, is shorter, which makes no room for another one).
        let quick = LinkCapacity(interval: 7500, coding: .le1M, octets: 27)
        #expect(rate(quick) == 35_787)
    }
}
