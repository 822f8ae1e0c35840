import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothCapture
import BluetoothHCI
import BluetoothManagement
import Synchronization

/// A recorder of packets for a capture, which adds time stamps and hides secrets. Called on any thread.
package protocol PacketRecorder: Sendable {
    func record(_ packet: borrowing CapturedPacket)
}

extension PacketRecorder {
    package func record(_ kind: CapturedPacketKind, _ adapter: UInt16, _ payload: RawSpan) {
        record(CapturedPacket(adapter: adapter, kind: kind, payload: payload))
    }
}

/// A trace of this program's own sockets, in the packets in which their data would travel.
///
/// Senders and receivers have an optional one: without a trace it costs a check for nil.
package final class PacketSynthesis: Sendable {
    private struct State {
        var knownAdapters: Set<UInt16> = []
        var isManagementOpen = false
        /// For links whose handle the kernel does not report.
        var lastHandle: UInt16 = 0x0DFF
        var lastChannel: UInt16 = 0x003F
    }

    fileprivate let writer: any PacketRecorder
    private let state = Mutex(State())
    /// The identifier of this program in the capture.
    private static let cookie: UInt32 = 1

    package init(_ writer: any PacketRecorder) {
        self.writer = writer
        record(
            .systemNote, CapturedPacket.noAdapter,
            MonitorPayload.systemNote("Made from one program's packets; connections and their handles are synthetic"))
    }

    fileprivate func record(_ kind: CapturedPacketKind, _ adapter: UInt16, _ payload: [UInt8]) {
        writer.record(kind, adapter, payload.span.bytes)
    }

    // MARK: Adapters

    /// Records the adapter of the following packets.
    package func opened(_ adapter: AdapterInformation) {
        guard state.withLock({ $0.knownAdapters.insert(adapter.index).inserted }) else { return }
        let index = adapter.index
        record(.newIndex, index, MonitorPayload.newIndex(address: adapter.address, name: adapter.name))
        record(.openedIndex, index, [])
        record(
            .indexInformation, index,
            MonitorPayload.indexInformation(address: adapter.address, manufacturer: adapter.manufacturer))
    }

    /// Records a packet of a raw HCI socket, with its packet type in front. Events of links' beginnings and ends are
    /// omitted, since the links of this program have their own.
    package func hci(_ packet: RawSpan, adapter: UInt16, isSent: Bool) {
        let code = (try? HCIEventPacket(decoding: packet))?.code
        guard
            code != LEConnectionComplete.code, code != LEEnhancedConnectionComplete.code,
            code != HCIDisconnectionComplete.code
        else { return }
        var reader = ByteReader(packet)
        guard let type = try? reader.readUInt8() else { return }
        let kind: CapturedPacketKind
        switch HCIPacketType(rawValue: type) {
        case .command: kind = .command
        case .event: kind = .event
        case .acl: kind = isSent ? .aclSent : .aclReceived
        default: return
        }
        writer.record(kind, adapter, reader.readRemaining())
    }

    /// Records a packet of the management socket.
    package func management(_ packet: RawSpan, isSent: Bool) {
        guard let packet = try? ManagementPacket(decoding: packet) else { return }
        let isFirst = state.withLock { state in
            defer { state.isManagementOpen = true }
            return !state.isManagementOpen
        }
        if isFirst {
            record(
                .controlOpened, CapturedPacket.noAdapter,
                MonitorPayload.controlOpened(
                    cookie: Self.cookie, version: 1, revision: 0, isTrusted: false, program: "bluetooth-le"))
        }
        record(
            isSent ? .controlCommand : .controlEvent, packet.index,
            MonitorPayload.control(cookie: Self.cookie, code: packet.code, parameters: packet.parameters))
    }

    // MARK: Links

    fileprivate func makeHandle() -> ConnectionHandle {
        ConnectionHandle(rawValue: state.withLock { Self.next(in: 0x0E00...0x0EFF, after: &$0.lastHandle) })
    }

    fileprivate func makeChannel() -> UInt16 {
        state.withLock { Self.next(in: 0x0040...0x007F, after: &$0.lastChannel) }
    }

    private static func next(in numbers: ClosedRange<UInt16>, after last: inout UInt16) -> UInt16 {
        last = last >= numbers.upperBound ? numbers.lowerBound : last + 1
        return last
    }
}

/// The recorder of an adapter's links.
package struct AdapterTrace: Sendable {
    package let synthesis: PacketSynthesis
    package let adapter: UInt16

    /// Nil when there is no synthesis.
    package init?(_ synthesis: PacketSynthesis?, adapter: UInt16) {
        guard let synthesis else { return nil }
        self.synthesis = synthesis
        self.adapter = adapter
    }

    /// Records a link that has come up over this socket.
    package func link(over socket: any L2CAPSocket, isCentral: Bool) -> LinkTrace {
        let handle = (try? socket.connectionHandle()).map(ConnectionHandle.init(rawValue:))
        return LinkTrace(
            self,
            SynthesisedLink(
                handle: handle ?? synthesis.makeHandle(), peer: socket.peer, role: isCentral ? .central : .peripheral))
    }
}

/// The recorder of one link: its beginning is written when it is created, its end by ``ended(_:)`` or when it is
/// dropped, since the link is then.
package final class LinkTrace: Sendable {
    private let adapter: AdapterTrace
    private let link: SynthesisedLink
    private let hasEnded = Atomic(false)

    fileprivate init(_ adapter: AdapterTrace, _ link: SynthesisedLink) {
        self.adapter = adapter
        self.link = link
        record(.event, link.connectionComplete())
    }

    deinit {
        end(.connectionTerminatedByLocalHost)
    }

    private func record(_ kind: CapturedPacketKind, _ payload: [UInt8]) {
        adapter.synthesis.record(kind, adapter.adapter, payload)
    }

    /// The recorder of the attribute channel.
    package var attributeChannel: ChannelTrace {
        ChannelTrace(link: self, sentTo: 0x0004, receivedAt: 0x0004, hasLength: false)
    }

    /// The recorder of an opened connection-oriented channel; the channel identifiers of both ends are synthetic.
    package func channel(psm: UInt16, receiveMTU: UInt16, sendMTU: UInt16, isInitiator: Bool) -> ChannelTrace {
        let ours = adapter.synthesis.makeChannel()
        let theirs = adapter.synthesis.makeChannel()
        var request = ByteWriter(capacity: 64)
        try? link.encodeChannelRequest(
            psm: psm, source: isInitiator ? ours : theirs,
            maximumTransmissionUnit: isInitiator ? receiveMTU : sendMTU, isSent: isInitiator, into: &request)
        record(isInitiator ? .aclSent : .aclReceived, request.bytes)
        var response = ByteWriter(capacity: 64)
        try? link.encodeChannelResponse(
            destination: isInitiator ? theirs : ours,
            maximumTransmissionUnit: isInitiator ? sendMTU : receiveMTU, isSent: !isInitiator, into: &response)
        record(isInitiator ? .aclReceived : .aclSent, response.bytes)
        return ChannelTrace(link: self, sentTo: theirs, receivedAt: ours, hasLength: true)
    }

    /// Records the link's end.
    package func ended(_ error: BluetoothError) { end(error.linkEnd) }

    private func end(_ reason: HCIStatus) {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        record(.event, link.disconnectionComplete(reason))
    }

    fileprivate func record(_ pdu: RawSpan, channel: UInt16, hasLength: Bool, isSent: Bool) {
        let kind = isSent ? CapturedPacketKind.aclSent : .aclReceived
        guard hasLength else {
            var writer = ByteWriter(capacity: pdu.byteCount + 8)
            try? link.encode(pdu, channel: channel, isSent: isSent, into: &writer)
            return record(kind, writer.bytes)
        }
        try? link.encodeFrames(of: pdu, channel: channel, isSent: isSent) { frame in
            adapter.synthesis.writer.record(kind, adapter.adapter, frame)
        }
    }
}

/// The recorder of one L2CAP channel.
package struct ChannelTrace: Sendable {
    package let link: LinkTrace
    /// The peer's channel identifier, and ours.
    package let sentTo: UInt16, receivedAt: UInt16
    /// Whether it carries the SDUs of a connection-oriented channel.
    package let hasLength: Bool

    package func sent(_ pdu: RawSpan) {
        link.record(pdu, channel: sentTo, hasLength: hasLength, isSent: true)
    }

    package func received(_ pdu: RawSpan) {
        link.record(pdu, channel: receivedAt, hasLength: hasLength, isSent: false)
    }
}

extension BluetoothError {
    /// The link layer's reason for the end of a link with this error, according to the socket.
    fileprivate var linkEnd: HCIStatus {
        switch cause?.kind {
        case .controller(let status): return status
        case .kernel(let error):
            switch error.number {
            case .timedOut: return .connectionTimeout
            case .connectionReset: return .remoteUserTerminatedConnection
            case .accessDenied: return .authenticationFailure
            default: return .connectionTerminatedByLocalHost
            }
        default: return .connectionTerminatedByLocalHost
        }
    }
}
