import BluetoothPrimitives

/// The reports in one event, decoded during iteration; controllers put several into one event.
///
/// ```swift
/// while let report = try reports.next() { … }
/// ```
///
/// Iteration returns the reports before a malformed one, throws there, and then ends, since the start of the next
/// report is unknown.
public struct AdvertisingReports: ~Escapable {
    /// The layout of the reports, given by the subevent.
    public enum Layout: Sendable {
        /// LE Advertising Report: legacy PDUs (Core Vol 4 Part E §7.7.65.2).
        case legacy
        /// LE Directed Advertising Report: legacy PDUs to addresses the controller could not resolve (§7.7.65.11).
        case directed
        /// LE Extended Advertising Report: PDUs of every kind (§7.7.65.13).
        case extended
    }

    /// The layout of the reports.
    public let layout: Layout
    @usableFromInline var remaining: Int
    @usableFromInline var reader: ByteReader

    /// Begins at Num_Reports, the byte after the subevent code.
    @inlinable @inline(__always)
    @_lifetime(copy reader)
    init(layout: Layout, reading reader: consuming ByteReader) throws(TruncatedBytes) {
        self.layout = layout
        self.remaining = Int(try reader.readUInt8())
        self.reader = reader
    }

    /// The number of remaining reports according to the event; zero after a malformed one.
    @inlinable public var remainingCount: Int { remaining }

    /// The next report, or nil after the last.
    ///
    /// - Throws: ``HCIDecodingError`` for a truncated report or a reserved event type.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func next() throws(HCIDecodingError) -> AdvertisingReport? {
        guard remaining > 0 else { return nil }
        remaining &-= 1
        do throws(TruncatedBytes) {
            switch layout {
            case .extended: return try readExtended()
            case .legacy: if let report = try readLegacy() { return report }
            case .directed: if let report = try readDirected() { return report }
            }
        } catch {
            remaining = 0
            throw .truncated(error)
        }
        remaining = 0
        throw .reservedEventType
    }

    /// Nil for a reserved event type.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readLegacy() throws(TruncatedBytes) -> AdvertisingReport? {
        let eventType = try reader.readUInt8()
        let addressType = try reader.readUInt8()
        let address = try reader.readAddress(LEPeerAddress.kind(ofType: addressType))
        let count = Int(try reader.readUInt8())
        let data = try reader.read(count)
        let rssi = try reader.readInt8()
        guard eventType <= 0x04 else { return nil }
        return AdvertisingReport(
            address: address, isResolvedIdentity: addressType & 0x02 != 0,
            properties: AdvertisingReport.Properties(legacyEventType: eventType), rssi: unlessUnavailable(rssi),
            data: data)
    }

    /// Nil for a reserved event type.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readDirected() throws(TruncatedBytes) -> AdvertisingReport? {
        let eventType = try reader.readUInt8()
        let addressType = try reader.readUInt8()
        let address = try reader.readAddress(LEPeerAddress.kind(ofType: addressType))
        // The type is random or unresolved, which is equivalent: only random addresses are unresolved.
        try reader.skip(1)
        let directAddress = try reader.readAddress(.random)
        let rssi = try reader.readInt8()
        guard eventType == 0x01 else { return nil }
        return AdvertisingReport(
            address: address, isResolvedIdentity: addressType & 0x02 != 0,
            properties: AdvertisingReport.Properties(legacyEventType: eventType), rssi: unlessUnavailable(rssi),
            directAddress: directAddress, isDirectAddressUnresolved: true, data: try reader.read(0))
    }

    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readExtended() throws(TruncatedBytes) -> AdvertisingReport {
        let eventType = try reader.readUInt16()
        let addressType = try reader.readUInt8()
        let address = try reader.readAddress(LEPeerAddress.kind(ofType: addressType))
        let primaryPHY = LEPHY(rawValue: try reader.readUInt8())
        let secondaryPHY = try reader.readUInt8()
        let advertisingSetID = try reader.readUInt8()
        let transmitPower = try reader.readInt8()
        let rssi = try reader.readInt8()
        let periodicInterval = try reader.readUInt16()
        let directAddressType = try reader.readUInt8()
        // Unresolved private addresses have the type 0xFE, which is even.
        let directAddress = try reader.readAddress(
            directAddressType == 0xFE ? .random : LEPeerAddress.kind(ofType: directAddressType))
        let properties = AdvertisingReport.Properties(rawValue: UInt8(truncatingIfNeeded: eventType) & 0x1F)
        let isDirected = properties.contains(AdvertisingReport.Properties(rawValue: 1 << 2))
        let count = Int(try reader.readUInt8())
        return AdvertisingReport(
            address: addressType == 0xFF ? nil : address,
            isResolvedIdentity: addressType == 0x02 || addressType == 0x03, properties: properties,
            dataStatus: AdvertisingReport.DataStatus(extendedEventType: eventType), primaryPHY: primaryPHY,
            secondaryPHY: secondaryPHY == 0 ? nil : LEPHY(rawValue: secondaryPHY),
            advertisingSetID: advertisingSetID == 0xFF ? nil : advertisingSetID,
            transmitPower: unlessUnavailable(transmitPower), rssi: unlessUnavailable(rssi),
            periodicAdvertisingInterval: periodicInterval == 0 ? nil : periodicInterval,
            directAddress: isDirected ? directAddress : nil,
            isDirectAddressUnresolved: isDirected && directAddressType == 0xFE, data: try reader.read(count))
    }

    /// The remaining reports, separated by semicolons.
    public var description: String {
        var walk = self
        var texts: [String] = []
        do throws(HCIDecodingError) {
            while let report = try walk.next() { texts.append(report.description) }
        } catch {
            texts.append("\(error)")
        }
        return texts.joined(separator: "; ")
    }
}

extension AdvertisingReport.Properties {
    /// The properties in an extended report of the same PDU. A legacy scan response does not identify the advertisement
    /// it belongs to; both possible ones are scannable, and one is connectable.
    @inlinable
    init(legacyEventType: UInt8) {
        switch legacyEventType {
        case 0x00: self.init(rawValue: 0x13)
        case 0x01: self.init(rawValue: 0x15)
        case 0x02: self.init(rawValue: 0x12)
        case 0x04: self.init(rawValue: 0x1A)
        default: self.init(rawValue: 0x10)
        }
    }

    /// The event type of a legacy report of this PDU.
    var legacyEventType: UInt8 {
        if contains(.scanResponse) { return 0x04 }
        if contains(.directed) { return 0x01 }
        if contains(.connectable) { return 0x00 }
        return contains(.scannable) ? 0x02 : 0x03
    }
}

extension AdvertisingReport.DataStatus {
    /// The status in bits 5 and 6 of an extended report's event type. The reserved value counts as truncated, since
    /// nothing is certain to follow.
    @inlinable
    init(extendedEventType: UInt16) {
        switch extendedEventType >> 5 & 0x03 {
        case 0: self = .complete
        case 1: self = .moreToCome
        default: self = .truncated
        }
    }
}
