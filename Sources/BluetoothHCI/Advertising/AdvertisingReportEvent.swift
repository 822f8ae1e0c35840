import BluetoothPackets
import BluetoothPrimitives

/// An event with advertising reports, built as a controller does.
public struct AdvertisingReportEvent: Sendable {
    /// The layout of the reports.
    public let layout: AdvertisingReports.Layout
    /// The number of reports.
    public private(set) var count = 0
    /// The event packet with its leading 0x04; empty while there are no reports.
    public private(set) var packet: [UInt8] = []

    /// An event without reports.
    public init(layout: AdvertisingReports.Layout) {
        self.layout = layout
    }

    /// Appends a report; a legacy layout drops fields that it lacks.
    ///
    /// - Throws: `BufferFull` when the report does not fit; the event is then unchanged. Send ``packet`` and begin
    ///   another event.
    public mutating func append(_ report: borrowing AdvertisingReport) throws(BufferFull) {
        var writer = ByteWriter(capacity: HCIEventPacket.maximumByteCount - packet.count)
        if count == 0 {
            try writer.write(HCIPacketType.event, layout.code.code, 0 as UInt8)
            try writer.write(layout.code.subevent, 0 as UInt8)
        }
        switch layout {
        case .legacy, .directed: try writeLegacy(report, to: &writer)
        case .extended: try writeExtended(report, to: &writer)
        }
        packet += writer.bytes
        count += 1
        // The length fits one byte, since the packet has at most 258 bytes, three of which precede the parameters.
        packet[2] = UInt8(truncatingIfNeeded: packet.count - 3)
        packet[4] = UInt8(truncatingIfNeeded: count)
    }

    private func writeLegacy(_ report: borrowing AdvertisingReport, to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(report.properties.legacyEventType)
        try writeAddress(of: report, to: &writer)
        if layout == .directed {
            try writeDirectAddress(of: report, to: &writer)
        } else {
            try writeData(of: report, to: &writer)
        }
        try writer.write(report.rssi ?? powerUnavailable)
    }

    private func writeExtended(_ report: borrowing AdvertisingReport, to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(UInt16(report.properties.rawValue & 0x1F) | UInt16(report.dataStatus.rawValue) << 5)
        try writeAddress(of: report, to: &writer)
        try writer.write(report.primaryPHY.rawValue)
        try writer.write(report.secondaryPHY?.rawValue ?? 0)
        try writer.write(report.advertisingSetID ?? 0xFF)
        try writer.write(report.transmitPower ?? powerUnavailable)
        try writer.write(report.rssi ?? powerUnavailable)
        try writer.write(report.periodicAdvertisingInterval ?? 0)
        try writeDirectAddress(of: report, to: &writer)
        try writeData(of: report, to: &writer)
    }

    private func writeAddress(of report: borrowing AdvertisingReport, to writer: inout ByteWriter) throws(BufferFull) {
        if let address = report.address {
            try LEPeerAddress(address, isResolvedIdentity: report.isResolvedIdentity).write(to: &writer)
        } else {
            try LEFilterAcceptListEntry.anonymousAdvertisers.write(to: &writer)
        }
    }

    private func writeDirectAddress(of report: borrowing AdvertisingReport, to writer: inout ByteWriter)
        throws(BufferFull)
    {
        let address = report.directAddress ?? .zero
        try writer.write(report.isDirectAddressUnresolved ? 0xFE : address.kind.rawValue)
        try writer.write(address)
    }

    private func writeData(of report: borrowing AdvertisingReport, to writer: inout ByteWriter) throws(BufferFull) {
        guard let length = UInt8(exactly: report.data.byteCount) else {
            throw BufferFull(needed: report.data.byteCount, available: writer.remaining)
        }
        try writer.write(length)
        try writer.write(report.data)
    }
}
