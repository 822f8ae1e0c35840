import BluetoothPrimitives

/// Whether a scan asks advertisers for more.
public struct LEScanType: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A type of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Only listens.
    public static let passive = LEScanType(rawValue: 0x00)
    /// Asks scannable advertisers for their scan response, which tells them that somebody scans.
    public static let active = LEScanType(rawValue: 0x01)
}

extension LEScanType: CustomStringConvertible {
    /// The type in words.
    public var description: String {
        switch self {
        case .passive: return "passive"
        case .active: return "active"
        default: return "scan type 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// Whose advertisements a scan reports.
public struct LEScanFilterPolicy: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A policy of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Everybody's, except directed ones for somebody else.
    public static let all = LEScanFilterPolicy(rawValue: 0x00)
    /// Only those of devices on the filter accept list.
    public static let acceptList = LEScanFilterPolicy(rawValue: 0x01)
    /// As ``all``, with directed ones to private addresses that the controller cannot resolve.
    public static let allAndUnresolvedDirected = LEScanFilterPolicy(rawValue: 0x02)
    /// As ``acceptList``, with directed ones to private addresses that the controller cannot resolve.
    public static let acceptListAndUnresolvedDirected = LEScanFilterPolicy(rawValue: 0x03)
}

extension LEScanFilterPolicy: CustomStringConvertible {
    /// The policy in words.
    public var description: String {
        switch self {
        case .all: return "all advertisers"
        case .acceptList: return "accept list"
        case .allAndUnresolvedDirected: return "all advertisers and unresolved directed"
        case .acceptListAndUnresolvedDirected: return "accept list and unresolved directed"
        default: return "filter policy 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The rhythm of a scan on one PHY.
public struct LEScanTiming: Hashable, Sendable {
    /// Passive or active.
    public var type: LEScanType
    /// From the start of one window to the next, in units of 0.625 ms, from 4; up to 0x4000 with legacy commands.
    public var interval: UInt16
    /// How long of it the radio listens, in units of 0.625 ms, not above ``interval``.
    public var window: UInt16

    /// A scan that listens for `window` out of every `interval`, both in units of 0.625 ms.
    public init(type: LEScanType, interval: UInt16, window: UInt16) {
        self.type = type
        self.interval = interval
        self.window = window
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        type = LEScanType(rawValue: try reader.readUInt8())
        interval = try reader.readUInt16()
        window = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(type.rawValue)
        try writer.write(interval)
        try writer.write(window)
    }
}

/// LE Set Scan Parameters (Core Vol 4 Part E §7.8.10).
public struct LEScanParameters: Hashable, Sendable {
    /// How to scan.
    public var timing: LEScanTiming
    /// The address in scan requests.
    public var ownAddressType: LEOwnAddressType
    /// Whose advertisements to report.
    public var filterPolicy: LEScanFilterPolicy

    /// Parameters of a legacy scan.
    public init(
        timing: LEScanTiming, ownAddressType: LEOwnAddressType = .public, filterPolicy: LEScanFilterPolicy = .all
    ) {
        self.timing = timing
        self.ownAddressType = ownAddressType
        self.filterPolicy = filterPolicy
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        timing = try LEScanTiming(reading: &reader)
        ownAddressType = LEOwnAddressType(rawValue: try reader.readUInt8())
        filterPolicy = LEScanFilterPolicy(rawValue: try reader.readUInt8())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try timing.write(to: &writer)
        try writer.write(ownAddressType.rawValue)
        try writer.write(filterPolicy.rawValue)
    }
}

/// LE Set Extended Scan Parameters (Core Vol 4 Part E §7.8.64).
public struct LEExtendedScanParameters: Hashable, Sendable {
    /// The address in scan requests.
    public var ownAddressType: LEOwnAddressType
    /// Whose advertisements to report.
    public var filterPolicy: LEScanFilterPolicy
    /// How to scan on LE 1M; nil does not.
    public var le1M: LEScanTiming?
    /// How to scan on LE Coded; nil does not.
    public var leCoded: LEScanTiming?

    /// Parameters of an extended scan; at least one PHY has to be given.
    public init(
        ownAddressType: LEOwnAddressType = .public, filterPolicy: LEScanFilterPolicy = .all, le1M: LEScanTiming?,
        leCoded: LEScanTiming? = nil
    ) {
        self.ownAddressType = ownAddressType
        self.filterPolicy = filterPolicy
        self.le1M = le1M
        self.leCoded = leCoded
    }

    /// The PHYs that are scanned.
    public var phys: LEPHYSet { [le1M == nil ? [] : .le1M, leCoded == nil ? [] : .leCoded] }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        ownAddressType = LEOwnAddressType(rawValue: try reader.readUInt8())
        filterPolicy = LEScanFilterPolicy(rawValue: try reader.readUInt8())
        let phys = LEPHYSet(rawValue: try reader.readUInt8())
        le1M = phys.contains(.le1M) ? try LEScanTiming(reading: &reader) : nil
        leCoded = phys.contains(.leCoded) ? try LEScanTiming(reading: &reader) : nil
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(ownAddressType.rawValue)
        try writer.write(filterPolicy.rawValue)
        try writer.write(phys.rawValue)
        try le1M?.write(to: &writer)
        try leCoded?.write(to: &writer)
    }
}

/// Whether a device that was reported is reported again.
public struct LEDuplicateFilter: RawRepresentable, Hashable, Sendable {
    /// The byte in the packet.
    public let rawValue: UInt8

    /// A filter of any value.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Every advertisement is reported.
    public static let disabled = LEDuplicateFilter(rawValue: 0x00)
    /// Each device once in a scan; later changes of signal strength or data are not seen.
    public static let enabled = LEDuplicateFilter(rawValue: 0x01)
    /// Each device once in every period; extended scans only.
    public static let resetEachPeriod = LEDuplicateFilter(rawValue: 0x02)
}

extension LEDuplicateFilter: CustomStringConvertible {
    /// The filter in words.
    public var description: String {
        switch self {
        case .disabled: return "all reports"
        case .enabled: return "each device once"
        case .resetEachPeriod: return "each device once a period"
        default: return "duplicate filter 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// LE Set Extended Scan Enable (Core Vol 4 Part E §7.8.65).
public struct LEExtendedScanEnable: Hashable, Sendable {
    /// On or off.
    public var isEnabled: Bool
    /// Whether a device is reported again.
    public var duplicates: LEDuplicateFilter
    /// How long to scan, in units of 10 ms; zero is until disabled.
    public var duration: UInt16
    /// From the start of one scan to the next, in units of 1.28 s; zero scans once.
    public var period: UInt16

    /// Switches scanning on or off.
    public init(isEnabled: Bool, duplicates: LEDuplicateFilter = .disabled, duration: UInt16 = 0, period: UInt16 = 0) {
        self.isEnabled = isEnabled
        self.duplicates = duplicates
        self.duration = duration
        self.period = period
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        isEnabled = try reader.readBool()
        duplicates = LEDuplicateFilter(rawValue: try reader.readUInt8())
        duration = try reader.readUInt16()
        period = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(isEnabled)
        try writer.write(duplicates.rawValue)
        try writer.write(duration)
        try writer.write(period)
    }
}
