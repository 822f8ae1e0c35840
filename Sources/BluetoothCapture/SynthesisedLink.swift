import BluetoothPrimitives
import BluetoothHCI

/// A link in a capture, with HCI packets synthesised from PDUs.
///
/// A program on L2CAP sockets never receives HCI packets. Wireshark and btmon understand its PDUs in this form: first
/// the connection event with the peer's address, then ACL packets, then the disconnection event.
public struct SynthesisedLink: Hashable, Sendable {
    /// The connection handle.
    public let handle: ConnectionHandle
    /// The peer's address.
    public let peer: BluetoothAddress
    /// The role of this device.
    public let role: LEConnectionRole

    /// A link with a peer.
    public init(handle: ConnectionHandle, peer: BluetoothAddress, role: LEConnectionRole) {
        self.handle = handle
        self.peer = peer
        self.role = role
    }

    /// The payload of the LE Enhanced Connection Complete event at the beginning of the link
    /// (Core Vol 4 Part E §7.7.65.10). The default parameters are placeholders for unknown ones: an interval of 30 ms,
    /// no latency and a supervision timeout of 420 ms.
    public func connectionComplete(
        _ parameters: LEActiveConnectionParameters = LEActiveConnectionParameters(
            interval: 24, latency: 0, supervisionTimeout: 42)
    ) -> [UInt8] {
        Self.payload(
            LEEnhancedConnectionComplete(
                LEConnectionComplete(handle: handle, role: role, peer: LEPeerAddress(peer), parameters: parameters)))
    }

    /// The payload of the Disconnection Complete event at the end of the link (Core Vol 4 Part E §7.7.5).
    public func disconnectionComplete(_ reason: HCIStatus) -> [UInt8] {
        Self.payload(HCIDisconnectionComplete(handle: handle, reason: reason))
    }

    /// An event without its packet indicator, as in captures.
    private static func payload(_ event: some HCIEvent) -> [UInt8] {
        // Both events always fit.
        Array((try? event.packet())?.dropFirst() ?? [])
    }

    /// The size of the ACL and L2CAP headers before a PDU in bytes.
    static var headerByteCount: Int { 8 }

    /// Appends the payload of an ACL packet with one PDU of an L2CAP channel, unfragmented as with sufficiently large
    /// controller buffers (Core Vol 4 Part E §5.4.2, Vol 3 Part A §3.1).
    ///
    /// - Throws: ``BufferFull`` when `writer` has no room for it or the PDU exceeds 65531 bytes; the writer is then
    ///   unchanged.
    public func encode(
        _ pdu: RawSpan, channel: UInt16, isSent: Bool, into writer: inout ByteWriter
    ) throws(BufferFull) {
        guard let length = UInt16(exactly: pdu.byteCount + 4) else {
            throw BufferFull(needed: pdu.byteCount + 4, available: Int(UInt16.max))
        }
        try writer.ensure(Self.headerByteCount + pdu.byteCount)
        // The packet boundary flag of a first fragment: non-flushable from the host, flushable from the controller.
        try writer.write(handle.rawValue | (isSent ? 0 : 0x2000))
        try writer.write(length)
        try writer.write(length - 4)
        try writer.write(channel)
        try writer.write(pdu)
    }
}

extension SynthesisedLink {
    /// The LE signaling channel (Core Vol 3 Part A §2.1).
    static var signallingChannel: UInt16 { 0x0005 }
    /// The maximum payload of a frame in one ACL packet, in bytes.
    private static var maximumFramePayload: Int { 65000 }

    /// Appends the payload of an ACL packet with the LE Credit Based Connection Request that opens a channel
    /// (Core Vol 3 Part A §4.22); readers of captures need it to know the channel's identifiers and its PSM.
    public func encodeChannelRequest(
        psm: UInt16, source: UInt16, maximumTransmissionUnit: UInt16, isSent: Bool, into writer: inout ByteWriter
    ) throws(BufferFull) {
        try encodeSignal(
            0x14, [psm, source, maximumTransmissionUnit, UInt16(Self.maximumFramePayload), .max], isSent, &writer)
    }

    /// Appends the payload of an ACL packet with the LE Credit Based Connection Response that accepts a channel
    /// (Core Vol 3 Part A §4.23).
    public func encodeChannelResponse(
        destination: UInt16, maximumTransmissionUnit: UInt16, isSent: Bool, into writer: inout ByteWriter
    ) throws(BufferFull) {
        try encodeSignal(
            0x15, [destination, maximumTransmissionUnit, UInt16(Self.maximumFramePayload), .max, 0], isSent, &writer)
    }

    private func encodeSignal(
        _ code: UInt8, _ parameters: [UInt16], _ isSent: Bool, _ writer: inout ByteWriter
    ) throws(BufferFull) {
        var command = ByteWriter(capacity: 14)
        try command.write([code, 1, 10, 0])
        for parameter in parameters { try command.write(parameter) }
        try encode(command.span, channel: Self.signallingChannel, isSent: isSent, into: &writer)
    }

    /// Calls `body` with the payloads of the ACL packets of an SDU on a connection-oriented channel: one, or two for
    /// the longest SDUs. The first frame begins with the SDU's length (Core Vol 3 Part A §3.4.3).
    public func encodeFrames(
        of sdu: RawSpan, channel: UInt16, isSent: Bool, _ body: (RawSpan) -> Void
    ) throws(BufferFull) {
        guard let length = UInt16(exactly: sdu.byteCount) else {
            throw BufferFull(needed: sdu.byteCount, available: Int(UInt16.max))
        }
        var rest = sdu
        var isFirst = true
        while isFirst || rest.byteCount > 0 {
            let part = rest.extracting(first: Self.maximumFramePayload)
            rest = rest.extracting(droppingFirst: part.byteCount)
            var frame = ByteWriter(capacity: part.byteCount + 2)
            if isFirst { try frame.write(length) }
            try frame.write(part)
            var writer = ByteWriter(capacity: frame.count + Self.headerByteCount)
            try encode(frame.span, channel: channel, isSent: isSent, into: &writer)
            body(writer.span)
            isFirst = false
        }
    }
}
