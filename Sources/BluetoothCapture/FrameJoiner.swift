import BluetoothPrimitives

/// A frame of an L2CAP channel, reassembled from ACL packets (Core Vol 3 Part A §3.1).
package struct CapturedFrame: Hashable, Sendable {
    /// The channel identifier of the receiver.
    package var channel: UInt16
    /// The payload, as far as the capture contains it.
    package var payload: [UInt8]
    /// The number of bytes missing at the end of the payload.
    package var missingByteCount: Int
}

/// The reassembly of L2CAP frames from the ACL packets of a capture, for each link and direction.
///
/// Memory is bounded: beyond ``capacity`` incomplete frames, one is dropped and reported as a problem.
package struct FrameJoiner: Sendable {
    /// A direction of a link.
    package struct Path: Hashable, Sendable {
        /// The index of the adapter.
        package var adapter: UInt16
        /// The connection handle.
        package var handle: UInt16
        /// Whether the host sends the packets.
        package var isSent: Bool
    }

    /// The result of an ACL packet.
    package enum Outcome: Hashable, Sendable {
        /// A complete frame, or as much of it as the capture contains.
        case frame(CapturedFrame)
        /// An error of the packet or of the one before it.
        case problem(String)
    }

    struct Partial {
        var bytes: [UInt8] = []
        /// The number of bytes after ``bytes`` that the capture lacks, or that follow missing ones.
        var missing = 0

        var count: Int { bytes.count + missing }
        /// The length with the header; nil before the header is complete.
        var total: Int? { bytes.count >= 4 ? 4 + Int(bytes[0]) + Int(bytes[1]) << 8 : nil }
        var channel: UInt16 { UInt16(bytes[2]) | UInt16(bytes[3]) << 8 }

        var frame: CapturedFrame {
            CapturedFrame(channel: channel, payload: Array(bytes.dropFirst(4)), missingByteCount: missing)
        }

        mutating func append(_ data: [UInt8], missing count: Int) {
            if missing == 0 { bytes += data } else { missing += data.count }
            missing += count
        }
    }

    /// The maximum number of incomplete frames.
    package static let capacity = 128

    private(set) var partials: [Path: Partial] = [:]

    /// A joiner without frames.
    package init() {}

    /// Processes an ACL packet without its packet indicator.
    ///
    /// - Parameters:
    ///   - packet: The packet, as far as the capture contains it.
    ///   - adapter: The index of the adapter.
    ///   - isSent: Whether the host sent it.
    /// - Returns: The link's handle, nil if the packet is too short for one, and the results in order.
    package mutating func receive(
        _ packet: [UInt8], adapter: UInt16, isSent: Bool
    ) -> (handle: UInt16?, outcomes: [Outcome]) {
        guard packet.count >= 4 else {
            return (nil, [.problem("ACL packet of \(packet.count) bytes without a complete header")])
        }
        let head = UInt16(packet[0]) | UInt16(packet[1]) << 8
        let length = Int(packet[2]) | Int(packet[3]) << 8
        let path = Path(adapter: adapter, handle: head & 0x0FFF, isSent: isSent)
        var outcomes: [Outcome] = []
        let excess = packet.count - 4 - length
        if excess > 0 {
            outcomes.append(.problem("\(excess) bytes after the end of an ACL packet"))
        }
        let data = Array(packet[4..<min(packet.count, 4 + length)])
        var partial: Partial
        if head >> 12 & 3 == 1 {
            guard let known = partials.removeValue(forKey: path) else {
                outcomes.append(.problem("continuation of a frame whose beginning is missing"))
                return (path.handle, outcomes)
            }
            partial = known
        } else {
            if let known = partials.removeValue(forKey: path) { outcomes.append(Self.incomplete(known)) }
            partial = Partial()
        }
        partial.append(data, missing: max(0, -excess))
        finish(partial, of: path, &outcomes)
        return (path.handle, outcomes)
    }

    private mutating func finish(_ partial: Partial, of path: Path, _ outcomes: inout [Outcome]) {
        guard let total = partial.total else {
            if partial.missing > 0 {
                outcomes.append(.problem("frame whose header is missing in the capture"))
            } else {
                store(partial, of: path, &outcomes)
            }
            return
        }
        if partial.count > total {
            outcomes.append(.problem("frame of \(partial.count) bytes with a length of \(total) bytes"))
        } else if partial.count == total {
            outcomes.append(.frame(partial.frame))
        } else {
            store(partial, of: path, &outcomes)
        }
    }

    private mutating func store(_ partial: Partial, of path: Path, _ outcomes: inout [Outcome]) {
        if partials.count >= Self.capacity, let (path, dropped) = partials.first {
            partials[path] = nil
            outcomes.append(Self.incomplete(dropped))
        }
        partials[path] = partial
    }

    private static func incomplete(_ partial: Partial) -> Outcome {
        let total = partial.total.map { " of \($0)" } ?? ""
        return .problem("incomplete frame: \(partial.count)\(total) bytes")
    }

    /// Drops the incomplete frames of a link that ended, or of all links of an adapter.
    package mutating func removeFrames(adapter: UInt16, handle: UInt16?) {
        partials = partials.filter { $0.key.adapter != adapter || handle != nil && $0.key.handle != handle }
    }
}
