import BluetoothHCI

/// The modulation and coding of a Link Layer packet: the PHY, and on LE Coded also the coding (Core Vol 6 Part B §2).
package enum LinkLayerCoding: Hashable, Sendable, CaseIterable {
    /// LE 1M: 8 µs a byte.
    case le1M
    /// LE 2M: 4 µs a byte.
    case le2M
    /// LE Coded with two symbols a bit, 500 kbit/s: 16 µs a byte.
    case codedS2
    /// LE Coded with eight symbols a bit, 125 kbit/s: 64 µs a byte.
    case codedS8

    /// The coding of a PHY; LE Coded has S=8 unless S=2 is preferred.
    package init(_ phy: LEPHY, prefersS2: Bool = false) {
        switch phy {
        case .le2M: self = .le2M
        case .leCoded: self = prefersS2 ? .codedS2 : .codedS8
        default: self = .le1M
        }
    }

    /// Whether it is one of LE Coded's.
    package var isCoded: Bool { self == .codedS2 || self == .codedS8 }
}

/// The air time of the packets of a connection (Core Vol 6 Part B §2.1, §2.2, §4.1.1).
package enum LinkLayerTiming {
    /// The inter-frame space between two packets of a connection event, T_IFS, in µs.
    package static let interFrameSpace = 150
    /// The size of the message integrity code that a packet with a payload has on an encrypted link, in bytes.
    package static let micByteCount = 4
    /// The minimum and maximum of the data length's payload in bytes (§4.5.10).
    package static let payloadRange = 27...251
    /// The shortest time limit on LE Coded in µs: that of 27 bytes with S=8 (§4.5.10).
    package static let shortestCodedLimit = 2704

    /// The duration of a packet in µs.
    ///
    /// - Parameters:
    ///   - payload: the payload in bytes, without the message integrity code: 0 to 251.
    ///   - isEncrypted: whether the link is encrypted; an empty packet has no message integrity code.
    package static func duration(ofPayload payload: Int, _ coding: LinkLayerCoding, isEncrypted: Bool) -> Int {
        let code = isEncrypted && payload > 0 ? micByteCount : 0
        return overhead(coding) + (payload + code) * byteTime(coding)
    }

    /// The duration in µs that the data length counts for a payload: with a message integrity code (§4.5.10).
    package static func limit(ofPayload payload: Int, _ coding: LinkLayerCoding) -> Int {
        overhead(coding) + (payload + micByteCount) * byteTime(coding)
    }

    /// The time that a payload needs on LE Coded with S=8 as the data length counts it.
    package static func codedDuration(ofPayload payload: Int) -> Duration {
        .microseconds(limit(ofPayload: payload, .codedS8))
    }

    /// The largest payload in bytes of packets within a data length: at most `octets`, for at most `time` µs with the
    /// message integrity code; at least 1.
    package static func payload(octets: Int, time: Int, _ coding: LinkLayerCoding) -> Int {
        max(1, min(octets, (time - overhead(coding)) / byteTime(coding) - micByteCount))
    }

    /// The limit on the duration of the packets sent on LE Coded in µs, which leaves room in a connection event for
    /// the other side's largest packet (§4.5.10, connEffectiveMaxTxTimeCoded).
    ///
    /// - Parameters:
    ///   - time: the limit on the sent packets without that, in µs.
    ///   - interval: the connection interval in µs.
    ///   - receiveOctets: the largest payload that the other side sends.
    ///   - receiveTime: the longest packet that the other side sends, in µs.
    package static func codedTime(_ time: Int, interval: Int, receiveOctets: Int, receiveTime: Int) -> Int {
        let received = min(max(receiveTime, shortestCodedLimit), limit(ofPayload: receiveOctets, .codedS8))
        return max(shortestCodedLimit, min(time, interval - 2 * interFrameSpace - received))
    }

    /// The duration of one byte in µs.
    private static func byteTime(_ coding: LinkLayerCoding) -> Int {
        switch coding {
        case .le1M: 8
        case .le2M: 4
        case .codedS2: 16
        case .codedS8: 64
        }
    }

    /// The duration of all that surrounds a payload, in µs.
    private static func overhead(_ coding: LinkLayerCoding) -> Int {
        let header = 2
        let check = 3
        switch coding {
        // Preamble and access address are 1 and 4 bytes on LE 1M, 2 and 4 on LE 2M (§2.1).
        case .le1M: return (1 + 4 + header + check) * 8
        case .le2M: return (2 + 4 + header + check) * 4
        // The preamble, and with S=8 the access address, coding indicator and first terminator; then the rest with
        // its own coding and a terminator of three bits (§2.2).
        case .codedS2, .codedS8:
            let symbols = coding == .codedS2 ? 2 : 8
            return 80 + 256 + 16 + 24 + (header + check) * 8 * symbols + 3 * symbols
        }
    }
}
