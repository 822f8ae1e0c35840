import BluetoothPackets
import BluetoothPrimitives

/// The type of a scan.
public struct LEScanType: PacketCode, Hashable, Sendable {
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
        codeName(rawValue, ["passive", "active"])
            ?? "scan type 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// The filter policy of a scan.
public struct LEScanFilterPolicy: PacketCode, Hashable, Sendable {
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
        codeName(
            rawValue,
            [
                "all advertisers", "accept list", "all advertisers and unresolved directed",
                "accept list and unresolved directed",
            ])
            ?? "filter policy 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// The type, interval and window of a scan on one PHY.
public struct LEScanTiming: PacketField, Hashable, Sendable, CustomStringConvertible {
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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(type: reader.read(), interval: reader.read(), window: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(type, interval, window)
    }

    /// The scan type, window and interval.
    public var description: String { "\(type), \(window) of \(interval) x 0.625 ms" }
}

/// LE Set Scan Parameters (Core Vol 4 Part E §7.8.10).
public struct LESetScanParameters: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x200B, "LE Set Scan Parameters")
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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(timing: reader.read(), ownAddressType: reader.read(), filterPolicy: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(timing, ownAddressType, filterPolicy)
    }

    /// The timing, the address type and the policy.
    public var parameterDescription: String { "\(timing), own address \(ownAddressType), \(filterPolicy)" }
}

/// LE Set Extended Scan Parameters (Core Vol 4 Part E §7.8.64).
public struct LESetExtendedScanParameters: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2041, "LE Set Extended Scan Parameters")
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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        ownAddressType = try reader.read()
        filterPolicy = try reader.read()
        let phys: LEPHYSet = try reader.read()
        le1M = phys.contains(.le1M) ? try reader.read() : nil
        leCoded = phys.contains(.leCoded) ? try reader.read() : nil
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(ownAddressType, filterPolicy, phys)
        try le1M?.write(to: &writer)
        try leCoded?.write(to: &writer)
    }

    /// The timings, the address type and the policy.
    public var parameterDescription: String {
        var parts: [String] = []
        if let le1M { parts.append("LE 1M \(le1M)") }
        if let leCoded { parts.append("LE Coded \(leCoded)") }
        parts.append("own address \(ownAddressType)")
        parts.append("\(filterPolicy)")
        return parts.joined(separator: ", ")
    }
}

/// The filtering of duplicate reports.
public struct LEDuplicateFilter: PacketCode, Hashable, Sendable {
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
        codeName(rawValue, ["all reports", "each device once", "each device once a period"])
            ?? "duplicate filter 0x\(hexadecimal(rawValue, digits: 2))"
    }
}

/// LE Set Scan Enable (Core Vol 4 Part E §7.8.11).
public struct LESetScanEnable: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x200C, "LE Set Scan Enable")
    /// Whether to enable scanning.
    public var isEnabled: Bool
    /// The filtering of duplicate reports.
    public var duplicates: LEDuplicateFilter

    /// The command that enables or disables scanning.
    public init(_ isEnabled: Bool, duplicates: LEDuplicateFilter = .disabled) {
        self.isEnabled = isEnabled
        self.duplicates = duplicates
    }

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(reader.read(), duplicates: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) { try writer.write(isEnabled, duplicates) }

    /// Whether scanning is enabled, and the filter.
    public var parameterDescription: String { "\(onOff(isEnabled)), \(duplicates)" }
}

/// LE Set Extended Scan Enable (Core Vol 4 Part E §7.8.65).
public struct LESetExtendedScanEnable: HCICommand {
    /// The opcode and the name.
    public static let definition = HCICommandDefinition(0x2042, "LE Set Extended Scan Enable")
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

    /// Reads the parameters.
    public init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        try self.init(
            isEnabled: reader.read(), duplicates: reader.read(), duration: reader.read(), period: reader.read())
    }

    /// Writes the parameters.
    public func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(isEnabled, duplicates)
        try writer.write(duration, period)
    }

    /// Whether scanning is enabled, the filter and the times.
    public var parameterDescription: String {
        "\(onOff(isEnabled)), \(duplicates), duration \(duration) x 10 ms, period \(period) x 1.28 s"
    }
}

/// LE Scan Timeout (Core Vol 4 Part E §7.7.65.17).
public struct LEScanTimeout: HCIEvent, EmptyPacket {
    /// The code and the name.
    public static let definition = HCIEventDefinition(subevent: 0x11, "LE Scan Timeout")

    /// The event.
    public init() {}
}
