import BluetoothPrimitives

/// The type of a scan.
public struct LEScanType: RawRepresentable, Hashable, Sendable {
    /// The type as sent, one byte.
    public let rawValue: UInt8

    /// The type with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Passive scanning, which sends no scan requests.
    public static let passive = LEScanType(rawValue: 0x00)
    /// Active scanning, which sends scan requests to scannable advertisers and thereby reveals the scanner.
    public static let active = LEScanType(rawValue: 0x01)
}

extension LEScanType: CustomStringConvertible {
    /// The name of the type.
    public var description: String {
        switch self {
        case .passive: return "passive"
        case .active: return "active"
        default: return "scan type 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The filter policy of a scan.
public struct LEScanFilterPolicy: RawRepresentable, Hashable, Sendable {
    /// The policy as sent, one byte.
    public let rawValue: UInt8

    /// The policy with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// All advertisements, except directed ones to other devices.
    public static let all = LEScanFilterPolicy(rawValue: 0x00)
    /// Only advertisements of devices on the filter accept list.
    public static let acceptList = LEScanFilterPolicy(rawValue: 0x01)
    /// The same as ``all``, and directed advertisements to unresolved private addresses.
    public static let allAndUnresolvedDirected = LEScanFilterPolicy(rawValue: 0x02)
    /// The same as ``acceptList``, and directed advertisements to unresolved private addresses.
    public static let acceptListAndUnresolvedDirected = LEScanFilterPolicy(rawValue: 0x03)
}

extension LEScanFilterPolicy: CustomStringConvertible {
    /// The name of the policy.
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

/// The type, interval and window of a scan on one PHY.
public struct LEScanTiming: Hashable, Sendable {
    /// The scan type.
    public var type: LEScanType
    /// The scan interval, in units of 0.625 ms, at least 4; at most 0x4000 in legacy commands.
    public var interval: UInt16
    /// The scan window, in units of 0.625 ms, at most ``interval``.
    public var window: UInt16

    /// A scan timing with `interval` and `window` in units of 0.625 ms.
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

/// The parameters of LE Set Scan Parameters (Core Vol 4 Part E §7.8.10).
public struct LEScanParameters: Hashable, Sendable {
    /// The type, interval and window.
    public var timing: LEScanTiming
    /// The type of the address in scan requests.
    public var ownAddressType: LEOwnAddressType
    /// The filter policy.
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

/// The parameters of LE Set Extended Scan Parameters (Core Vol 4 Part E §7.8.64).
public struct LEExtendedScanParameters: Hashable, Sendable {
    /// The type of the address in scan requests.
    public var ownAddressType: LEOwnAddressType
    /// The filter policy.
    public var filterPolicy: LEScanFilterPolicy
    /// The timing on LE 1M; nil disables it.
    public var le1M: LEScanTiming?
    /// The timing on LE Coded; nil disables it.
    public var leCoded: LEScanTiming?

    /// Parameters of an extended scan, for at least one PHY.
    public init(
        ownAddressType: LEOwnAddressType = .public, filterPolicy: LEScanFilterPolicy = .all, le1M: LEScanTiming?,
        leCoded: LEScanTiming? = nil
    ) {
        self.ownAddressType = ownAddressType
        self.filterPolicy = filterPolicy
        self.le1M = le1M
        self.leCoded = leCoded
    }

    /// The PHYs of the scan.
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

/// The filtering of duplicate reports.
public struct LEDuplicateFilter: RawRepresentable, Hashable, Sendable {
    /// The filter as sent, one byte.
    public let rawValue: UInt8

    /// The filter with the value `rawValue`.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Report every advertisement.
    public static let disabled = LEDuplicateFilter(rawValue: 0x00)
    /// Report each device once in a scan; later changes of RSSI or data are not reported.
    public static let enabled = LEDuplicateFilter(rawValue: 0x01)
    /// Report each device once in each period; extended scans only.
    public static let resetEachPeriod = LEDuplicateFilter(rawValue: 0x02)
}

extension LEDuplicateFilter: CustomStringConvertible {
    /// The name of the filter.
    public var description: String {
        switch self {
        case .disabled: return "all reports"
        case .enabled: return "each device once"
        case .resetEachPeriod: return "each device once a period"
        default: return "duplicate filter 0x\(hexadecimal(rawValue, digits: 2))"
        }
    }
}

/// The parameters of LE Set Extended Scan Enable (Core Vol 4 Part E §7.8.65).
public struct LEExtendedScanEnable: Hashable, Sendable {
    /// Whether to enable scanning.
    public var isEnabled: Bool
    /// The filtering of duplicate reports.
    public var duplicates: LEDuplicateFilter
    /// The duration in units of 10 ms; zero for no limit.
    public var duration: UInt16
    /// The period from the start of one scan to the next, in units of 1.28 s; zero for one scan.
    public var period: UInt16

    /// Parameters that enable or disable scanning.
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
