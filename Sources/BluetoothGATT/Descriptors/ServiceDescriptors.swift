import BluetoothPrimitives

// The values of descriptors defined by services.

/// The report ID and report type of a characteristic (0x2908, HID Service §2.5.3.2).
public struct ReportReference: Hashable, Sendable {
    /// The type of a report. An open set.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The report type field, one byte.
        public let rawValue: UInt8

        /// The report type with the value `rawValue`.
        @inlinable
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// An input report, from the device.
        public static let input = Kind(rawValue: 1)
        /// An output report, to the device.
        public static let output = Kind(rawValue: 2)
        /// A feature report with settings of the device, in both directions.
        public static let feature = Kind(rawValue: 3)
    }

    /// The report ID in the report map; 0 for the only report.
    public var identifier: UInt8
    /// The report type.
    public var kind: Kind

    /// A reference with the given fields.
    public init(identifier: UInt8, kind: Kind) {
        self.identifier = identifier
        self.kind = kind
    }

    @_lifetime(reader: copy reader)
    init(_ reader: inout ByteReader) throws(TruncatedBytes) {
        identifier = try reader.readUInt8()
        kind = Kind(rawValue: try reader.readUInt8())
    }
}

extension ReportReference: CustomStringConvertible {
    /// `input report 1`.
    public var description: String {
        let name =
            codeName(kind.rawValue, ["input", "output", "feature"], from: 1)
            ?? "kind 0x" + hexadecimal(kind.rawValue, digits: 2)
        return "\(name) report \(identifier)"
    }
}

/// The condition under which a value counts as changed (0x290A, Automation IO Service §3.1.2.1).
public enum ValueTriggerSetting: Hashable, Sendable {
    /// Every change.
    case changed
    /// An analog value crosses this value.
    case crossed(UInt16)
    /// An analog value reaches this value.
    case reached(UInt16)
    /// An analog value changes by more than this.
    case changedByMoreThan(UInt16)
    /// One of the masked digital values changes; the mask has two bits for each, as the value has.
    case mask([UInt8])
    /// An analog value enters or leaves a range.
    case crossedRange(lower: UInt16, upper: UInt16)
    /// An analog value reaches a bound of a range.
    case reachedRange(lower: UInt16, upper: UInt16)
    /// No change.
    case never
    /// An unknown condition with its operand.
    case other(condition: UInt8, [UInt8])

    @_lifetime(reader: copy reader)
    init(_ reader: inout ByteReader) throws(TruncatedBytes) {
        let condition = try reader.readUInt8()
        switch condition {
        case 0: self = .changed
        case 1: self = .crossed(try reader.readUInt16())
        case 2: self = .reached(try reader.readUInt16())
        case 3: self = .changedByMoreThan(try reader.readUInt16())
        case 4: self = .mask([UInt8](reader.readRemaining()))
        case 5: self = .crossedRange(lower: try reader.readUInt16(), upper: try reader.readUInt16())
        case 6: self = .reachedRange(lower: try reader.readUInt16(), upper: try reader.readUInt16())
        case 7: self = .never
        default: self = .other(condition: condition, [UInt8](reader.readRemaining()))
        }
    }
}

extension ValueTriggerSetting: CustomStringConvertible {
    /// `when it crosses 100`.
    public var description: String {
        switch self {
        case .changed: "when it changes"
        case .crossed(let value): "when it crosses \(value)"
        case .reached(let value): "when it reaches \(value)"
        case .changedByMoreThan(let value): "when it changes by more than \(value)"
        case .mask(let mask): "when a value in the mask \(mask.hexadecimal) changes"
        case .crossedRange(let lower, let upper): "when it enters or leaves \(lower) to \(upper)"
        case .reachedRange(let lower, let upper): "when it reaches \(lower) or \(upper)"
        case .never: "never"
        case .other(let condition, let bytes): unknownCondition(condition, bytes)
        }
    }
}

/// The frequency of notifications (0x290E, Automation IO Service §3.1.2.2).
public enum TimeTriggerSetting: Hashable, Sendable {
    /// As often as the value trigger setting permits.
    case none
    /// After each interval of this many seconds, changed or not.
    case every(seconds: UInt32)
    /// At most once in this many seconds.
    case atMostEvery(seconds: UInt32)
    /// After this number of changes.
    case everyCount(UInt16)
    /// An unknown condition with its operand.
    case other(condition: UInt8, [UInt8])

    @_lifetime(reader: copy reader)
    init(_ reader: inout ByteReader) throws(TruncatedBytes) {
        let condition = try reader.readUInt8()
        switch condition {
        case 0: self = .none
        case 1: self = .every(seconds: try reader.readUInt24())
        case 2: self = .atMostEvery(seconds: try reader.readUInt24())
        case 3: self = .everyCount(try reader.readUInt16())
        default: self = .other(condition: condition, [UInt8](reader.readRemaining()))
        }
    }
}

extension TimeTriggerSetting: CustomStringConvertible {
    /// `every 10 s`.
    public var description: String {
        switch self {
        case .none: "no time trigger"
        case .every(let seconds): "every \(seconds) s"
        case .atMostEvery(let seconds): "at most every \(seconds) s"
        case .everyCount(let count): "every \(count) changes"
        case .other(let condition, let bytes): unknownCondition(condition, bytes)
        }
    }
}

/// The combination of several trigger settings (0x290B, Environmental Sensing Service §3.1.2.3). An open set.
public struct EnvironmentalSensingConfiguration: RawRepresentable, Hashable, Sendable {
    /// The value of the descriptor, one byte.
    public let rawValue: UInt8

    /// The configuration with the value `rawValue`.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The server notifies a value when all triggers are met.
    public static let all = Self(rawValue: 0x00)
    /// The server notifies a value when any trigger is met.
    public static let any = Self(rawValue: 0x01)
}

extension EnvironmentalSensingConfiguration: CustomStringConvertible {
    /// `all triggers`, `any trigger`, or the value in hexadecimal.
    public var description: String {
        codeName(rawValue, ["all triggers", "any trigger"]) ?? "0x" + hexadecimal(rawValue, digits: 2)
    }
}

/// The method of measurement (0x290C, Environmental Sensing Service §3.1.2.1).
public struct EnvironmentalSensingMeasurement: Hashable, Sendable {
    /// The flags, all reserved.
    public var flags: UInt16
    /// The sampling function: 1 instantaneous, 2 arithmetic mean, 3 root mean square, 4 maximum, 5 minimum, 6
    /// accumulated, 7 count; 0 unspecified.
    public var samplingFunction: UInt8
    /// The measurement period in seconds; 0 unspecified.
    public var measurementPeriod: UInt32
    /// The interval between updates in seconds; 0 unspecified.
    public var updateInterval: UInt32
    /// The application, as defined by the service; 0 unspecified, 1 air, 2 water, 4 soil, 0x13 outdoor, 0x14 indoor.
    public var application: UInt8
    /// The measurement uncertainty in percent; nil when unspecified.
    public var uncertainty: Double?

    @_lifetime(reader: copy reader)
    init(_ reader: inout ByteReader) throws(TruncatedBytes) {
        flags = try reader.readUInt16()
        samplingFunction = try reader.readUInt8()
        measurementPeriod = try reader.readUInt24()
        updateInterval = try reader.readUInt24()
        application = try reader.readUInt8()
        let halfPercents = try reader.readUInt8()
        uncertainty = halfPercents == 0xFF ? nil : Double(halfPercents) / 2
    }
}

extension EnvironmentalSensingMeasurement: CustomStringConvertible {
    /// `arithmetic mean over 10 s, every 60 s, ± 0.5 %`.
    public var description: String {
        let functions = [
            "measured", "instantaneous", "arithmetic mean", "root mean square", "maximum", "minimum", "accumulated",
            "count",
        ]
        var text =
            codeName(samplingFunction, functions)
            ?? "sampling function 0x" + hexadecimal(samplingFunction, digits: 2)
        if measurementPeriod != 0 { text += " over \(measurementPeriod) s" }
        if updateInterval != 0 { text += ", every \(updateInterval) s" }
        if application != 0 { text += ", application 0x" + hexadecimal(application, digits: 2) }
        if let uncertainty { text += ", ± \(uncertainty) %" }
        return text
    }
}

/// The condition under which a value is notified (0x290D, Environmental Sensing Service §3.1.2.2).
public enum EnvironmentalSensingTriggerSetting: Hashable, Sendable {
    /// A comparison with the operand of the trigger.
    public enum Comparison: UInt8, Hashable, Sendable {
        /// Less than the operand.
        case less = 0x04
        /// Less than or equal to the operand.
        case lessOrEqual = 0x05
        /// Greater than the operand.
        case greater = 0x06
        /// Greater than or equal to the operand.
        case greaterOrEqual = 0x07
        /// Equal to the operand.
        case equal = 0x08
        /// Not equal to the operand.
        case notEqual = 0x09
    }

    /// An inactive trigger.
    case inactive
    /// A fixed interval of this many seconds.
    case every(seconds: UInt32)
    /// A change, at most once in this many seconds.
    case atMostEvery(seconds: UInt32)
    /// Every change.
    case changed
    /// A comparison with an operand in the format of the characteristic.
    case compares(Comparison, [UInt8])
    /// An unknown condition with its operand.
    case other(condition: UInt8, [UInt8])

    @_lifetime(reader: copy reader)
    init(_ reader: inout ByteReader) throws(TruncatedBytes) {
        let condition = try reader.readUInt8()
        switch condition {
        case 0: self = .inactive
        case 1: self = .every(seconds: try reader.readUInt24())
        case 2: self = .atMostEvery(seconds: try reader.readUInt24())
        case 3: self = .changed
        default:
            let rest = [UInt8](reader.readRemaining())
            if let comparison = Comparison(rawValue: condition) {
                self = .compares(comparison, rest)
            } else {
                self = .other(condition: condition, rest)
            }
        }
    }
}

extension EnvironmentalSensingTriggerSetting: CustomStringConvertible {
    /// `while greaterOrEqual 6400`.
    public var description: String {
        switch self {
        case .inactive: "inactive"
        case .every(let seconds): "every \(seconds) s"
        case .atMostEvery(let seconds): "when it changes, at most every \(seconds) s"
        case .changed: "when it changes"
        case .compares(let comparison, let value): "while \(comparison) \(value.isEmpty ? "-" : value.hexadecimal)"
        case .other(let condition, let bytes): unknownCondition(condition, bytes)
        }
    }
}

private func unknownCondition(_ condition: UInt8, _ bytes: [UInt8]) -> String {
    "condition 0x" + hexadecimal(condition, digits: 2) + (bytes.isEmpty ? "" : " " + bytes.hexadecimal)
}
