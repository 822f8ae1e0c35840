import BluetoothPrimitives

// The values of descriptors that services define.

/// Which report a characteristic is (0x2908, HID Service §2.5.3.2).
public struct ReportReference: Hashable, Sendable {
    /// What a report is for. An open set.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The byte in the descriptor.
        public let rawValue: UInt8

        /// The kind with that number.
        @inlinable
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// From the device.
        public static let input = Kind(rawValue: 1)
        /// To the device.
        public static let output = Kind(rawValue: 2)
        /// Settings of the device, both ways.
        public static let feature = Kind(rawValue: 3)
    }

    /// The report's number in the report map; 0 where there is only one.
    public var identifier: UInt8
    /// What it is for.
    public var kind: Kind

    /// A reference from its parts.
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
            switch kind {
            case .input: "input"
            case .output: "output"
            case .feature: "feature"
            default: "kind 0x" + hexadecimal(kind.rawValue, digits: 2)
            }
        return "\(name) report \(identifier)"
    }
}

/// When a value counts as changed (0x290A, Automation IO Service §3.1.2.1).
public enum ValueTriggerSetting: Hashable, Sendable {
    /// Whenever it changes.
    case changed
    /// When an analog value crosses this one.
    case crossed(UInt16)
    /// When an analog value reaches this one.
    case reached(UInt16)
    /// When an analog value has changed by more than this.
    case changedByMoreThan(UInt16)
    /// When one of the digital values in the mask has changed; two bits for each, as in the value.
    case mask([UInt8])
    /// When an analog value enters or leaves a range.
    case crossedRange(lower: UInt16, upper: UInt16)
    /// When an analog value reaches an end of a range.
    case reachedRange(lower: UInt16, upper: UInt16)
    /// Never.
    case never
    /// A condition that is not known here, with the bytes behind it.
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
        case .mask(let mask): "when what \(mask.hexadecimal) masks changes"
        case .crossedRange(let lower, let upper): "when it enters or leaves \(lower) to \(upper)"
        case .reachedRange(let lower, let upper): "when it reaches \(lower) or \(upper)"
        case .never: "never"
        case .other(let condition, let bytes):
            "condition 0x" + hexadecimal(condition, digits: 2) + (bytes.isEmpty ? "" : " " + bytes.hexadecimal)
        }
    }
}

/// How often a change is told (0x290E, Automation IO Service §3.1.2.2).
public enum TimeTriggerSetting: Hashable, Sendable {
    /// As often as the value trigger says.
    case none
    /// Every so many seconds, changed or not.
    case every(seconds: UInt32)
    /// Not more often than every so many seconds.
    case atMostEvery(seconds: UInt32)
    /// Every so many changes.
    case everyCount(UInt16)
    /// A condition that is not known here, with the bytes behind it.
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
        case .other(let condition, let bytes):
            "condition 0x" + hexadecimal(condition, digits: 2) + (bytes.isEmpty ? "" : " " + bytes.hexadecimal)
        }
    }
}

/// How several triggers of a characteristic work together (0x290B, Environmental Sensing Service §3.1.2.3). An open set.
public struct EnvironmentalSensingConfiguration: RawRepresentable, Hashable, Sendable {
    /// The byte in the descriptor.
    public let rawValue: UInt8

    /// The configuration with that number.
    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A value is sent when all triggers are met.
    public static let all = Self(rawValue: 0x00)
    /// A value is sent when one trigger is met.
    public static let any = Self(rawValue: 0x01)
}

extension EnvironmentalSensingConfiguration: CustomStringConvertible {
    /// `all triggers`, `any trigger`, or the number in hexadecimal.
    public var description: String {
        switch self {
        case .all: "all triggers"
        case .any: "any trigger"
        default: "0x" + hexadecimal(rawValue, digits: 2)
        }
    }
}

/// How a value is measured (0x290C, Environmental Sensing Service §3.1.2.1).
public struct EnvironmentalSensingMeasurement: Hashable, Sendable {
    /// Flags of which none is assigned.
    public var flags: UInt16
    /// How values come from measurements: 1 instantaneous, 2 arithmetic mean, 3 root mean square, 4 maximum, 5 minimum,
    /// 6 accumulated, 7 count; 0 not told.
    public var samplingFunction: UInt8
    /// Over how many seconds is measured; 0 not told.
    public var measurementPeriod: UInt32
    /// How many seconds are between values; 0 not told.
    public var updateInterval: UInt32
    /// Where or what for is measured, as a number of the service; 0 not told, 1 air, 2 water, 4 soil, 0x13 outdoor,
    /// 0x14 indoor.
    public var application: UInt8
    /// How far a value may be off, in percent; nil when it is not told.
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
            nil, "instantaneous", "arithmetic mean", "root mean square", "maximum", "minimum", "accumulated", "count",
        ]
        var text =
            Int(samplingFunction) < functions.count
            ? functions[Int(samplingFunction)] ?? "measured"
            : "sampling function 0x" + hexadecimal(samplingFunction, digits: 2)
        if measurementPeriod != 0 { text += " over \(measurementPeriod) s" }
        if updateInterval != 0 { text += ", every \(updateInterval) s" }
        if application != 0 { text += ", application 0x" + hexadecimal(application, digits: 2) }
        if let uncertainty { text += ", ± \(uncertainty) %" }
        return text
    }
}

/// When a value is notified (0x290D, Environmental Sensing Service §3.1.2.2).
public enum EnvironmentalSensingTriggerSetting: Hashable, Sendable {
    /// How a value compares with that of the trigger.
    public enum Comparison: UInt8, Hashable, Sendable {
        /// It is less.
        case less = 0x04
        /// It is less or equal.
        case lessOrEqual = 0x05
        /// It is greater.
        case greater = 0x06
        /// It is greater or equal.
        case greaterOrEqual = 0x07
        /// It is equal.
        case equal = 0x08
        /// It is another one.
        case notEqual = 0x09
    }

    /// Never by this trigger.
    case inactive
    /// Every so many seconds.
    case every(seconds: UInt32)
    /// When it changes, at most every so many seconds.
    case atMostEvery(seconds: UInt32)
    /// When it changes.
    case changed
    /// While it compares so with a value in the format of the characteristic.
    case compares(Comparison, [UInt8])
    /// A condition that is not known here, with the bytes behind it.
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
        case .other(let condition, let bytes):
            "condition 0x" + hexadecimal(condition, digits: 2) + (bytes.isEmpty ? "" : " " + bytes.hexadecimal)
        }
    }
}
