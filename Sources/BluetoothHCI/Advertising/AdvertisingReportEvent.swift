import BluetoothPackets
import BluetoothPrimitives

/// An event with advertising reports, built as a controller does.
public struct AdvertisingReportEvent: Sendable {
    /// The layout of the reports.
    public let layout: AdvertisingReports.Layout
    /// The number of reports.
    public private(set) var count = 0
    private var writer = ByteWriter(capacity: HCIEventPacket.maximumByteCount)

    /// An event without reports.
    public init(layout: AdvertisingReports.Layout) {
        self.layout = layout
    }

    /// The event packet with its leading 0x04; empty while there are no reports.
    public var packet: [UInt8] { writer.bytes }

    /// Appends a report; a legacy layout drops fields that it lacks.
    ///
    /// - Throws: `BufferFull` when the report does not fit; the event is then unchanged. Send ``packet`` and begin
    ///   another event.
    public mutating func append(_ report: borrowing AdvertisingReport) throws(BufferFull) {
        let start = writer.count
        do throws(BufferFull) {
            if count == 0 {
                try writer.write(HCIPacketType.event, layout.code.code, 0 as UInt8)
                try writer.write(layout.code.subevent, 0 as UInt8)
            }
            switch layout {
            case .legacy, .directed: try writeLegacy(report)
            case .extended: try writeExtended(report)
            }
        } catch {
            writer.truncate(to: start)
            throw error
        }
        count += 1
        // The length fits one byte, since the writer holds 258 bytes, three of which precede the parameters.
        writer.replace(at: 2, with: UInt8(truncatingIfNeeded: writer.count - 3))
        writer.replace(at: 4, with: UInt8(truncatingIfNeeded: count))
    }

    private mutating func writeLegacy(_ report: borrowing AdvertisingReport) throws(BufferFull) {
        try writer.write(report.properties.legacyEventType)
        try writeAddress(of: report)
        if layout == .directed { try writeDirectAddress(of: report) } else { try writeData(of: report) }
        try writer.write(report.rssi ?? powerUnavailable)
    }

    private mutating func writeExtended(_ report: borrowing AdvertisingReport) throws(BufferFull) {
        try writer.write(UInt16(report.properties.rawValue & 0x1F) | UInt16(report.dataStatus.rawValue) << 5)
        try writeAddress(of: report)
        try writer.write(report.primaryPHY.rawValue)
        try writer.write(report.secondaryPHY?.rawValue ?? 0)
        try writer.write(report.advertisingSetID ?? 0xFF)
        try writer.write(report.transmitPower ?? powerUnavailable)
        try writer.write(report.rssi ?? powerUnavailable)
        try writer.write(report.periodicAdvertisingInterval ?? 0)
        try writeDirectAddress(of: report)
        try writeData(of: report)
    }

    private mutating func writeAddress(of report: borrowing AdvertisingReport) throws(BufferFull) {
        if let address = report.address {
            try LEPeerAddress(address, isResolvedIdentity: report.isResolvedIdentity).write(to: &writer)
        } else {
            try LEFilterAcceptListEntry.anonymousAdvertisers.write(to: &writer)
        }
    }

    private mutating func writeDirectAddress(of report: borrowing AdvertisingReport) throws(BufferFull) {
        let address = report.directAddress ?? .zero
        try writer.write(report.isDirectAddressUnresolved ? 0xFE : address.kind.rawValue)
        try writer.write(address)
    }

    private mutating func writeData(of report: borrowing AdvertisingReport) throws(BufferFull) {
        guard let length = UInt8(exactly: report.data.byteCount) else {
            throw BufferFull(needed: report.data.byteCount, available: writer.remaining)
        }
        try writer.write(length)
        try writer.write(report.data)
    }
}
