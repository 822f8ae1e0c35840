import BluetoothATT
import BluetoothPrimitives

/// The value of a descriptor, and what it means: each property is the value of one kind of descriptor, nil for the others.
///
/// Decoding is lenient: a value of an unknown descriptor, or without the format of its descriptor, has its ``bytes`` alone,
/// and bytes after a value are ignored.
public struct DescriptorValue: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case extendedProperties(CharacteristicExtendedProperties)
        case userDescription(String)
        case clientConfiguration(ClientCharacteristicConfiguration)
        case serverConfiguration(ServerCharacteristicConfiguration)
        case presentationFormat(PresentationFormat)
        case aggregateFormat([AttributeHandle])
        case validRange(lower: [UInt8], upper: [UInt8])
        case externalReportReference(BluetoothUUID)
        case reportReference(ReportReference)
        case numberOfDigitals(Int)
        case valueTrigger(ValueTriggerSetting)
        case environmentalSensingConfiguration(EnvironmentalSensingConfiguration)
        case environmentalSensingMeasurement(EnvironmentalSensingMeasurement)
        case environmentalSensingTrigger(EnvironmentalSensingTriggerSetting)
        case timeTrigger(TimeTriggerSetting)
        case transportBlockData([UInt8])
        case other
    }

    package let kind: Kind
    /// The descriptor UUID.
    public let uuid: BluetoothUUID
    /// The bytes of the value.
    public let bytes: [UInt8]

    /// Decodes `bytes` as the value of the descriptor `uuid`; never fails.
    public init(_ bytes: [UInt8], of uuid: BluetoothUUID) {
        (self.bytes, self.uuid, kind) = (bytes, uuid, Self.read(bytes, of: uuid) ?? .other)
    }

    /// Whether the value has the format of a known descriptor.
    public var isDecoded: Bool { kind != .other }
    /// The extended properties of the characteristic (0x2900, Core Vol 3 Part G §3.3.3.1).
    public var extendedProperties: CharacteristicExtendedProperties? {
        if case .extendedProperties(let properties) = kind { properties } else { nil }
    }
    /// The user description (0x2901, Core Vol 3 Part G §3.3.3.2).
    public var userDescription: String? { if case .userDescription(let text) = kind { text } else { nil } }
    /// The configuration for this client (0x2902, Core Vol 3 Part G §3.3.3.3).
    public var clientConfiguration: ClientCharacteristicConfiguration? {
        if case .clientConfiguration(let value) = kind { value } else { nil }
    }
    /// The configuration for all clients (0x2903, Core Vol 3 Part G §3.3.3.4).
    public var serverConfiguration: ServerCharacteristicConfiguration? {
        if case .serverConfiguration(let value) = kind { value } else { nil }
    }
    /// The format, exponent and unit of the value (0x2904, Core Vol 3 Part G §3.3.3.5).
    public var presentationFormat: PresentationFormat? {
        if case .presentationFormat(let format) = kind { format } else { nil }
    }
    /// The handles of the presentation formats of an aggregate value, in order (0x2905, Core Vol 3 Part G §3.3.3.6).
    public var aggregateFormat: [AttributeHandle]? {
        if case .aggregateFormat(let handles) = kind { handles } else { nil }
    }
    /// The minimum and the maximum, each in the format of the characteristic (0x2906).
    public var validRange: (lower: [UInt8], upper: [UInt8])? {
        if case .validRange(let lower, let upper) = kind { (lower, upper) } else { nil }
    }
    /// The characteristic of another service that a report refers to (0x2907, HID Service).
    public var externalReportReference: BluetoothUUID? {
        if case .externalReportReference(let uuid) = kind { uuid } else { nil }
    }
    /// The report ID and report type of the characteristic (0x2908, HID Service).
    public var reportReference: ReportReference? {
        if case .reportReference(let reference) = kind { reference } else { nil }
    }
    /// The number of digital inputs or outputs in the value (0x2909, Automation IO Service).
    public var numberOfDigitals: Int? { if case .numberOfDigitals(let count) = kind { count } else { nil } }
    /// The condition under which a value counts as changed (0x290A, Automation IO Service).
    public var valueTrigger: ValueTriggerSetting? { if case .valueTrigger(let value) = kind { value } else { nil } }
    /// The combination of several trigger settings (0x290B, Environmental Sensing Service).
    public var environmentalSensingConfiguration: EnvironmentalSensingConfiguration? {
        if case .environmentalSensingConfiguration(let value) = kind { value } else { nil }
    }
    /// The method of measurement (0x290C, Environmental Sensing Service).
    public var environmentalSensingMeasurement: EnvironmentalSensingMeasurement? {
        if case .environmentalSensingMeasurement(let measurement) = kind { measurement } else { nil }
    }
    /// The condition under which a value is notified (0x290D, Environmental Sensing Service).
    public var environmentalSensingTrigger: EnvironmentalSensingTriggerSetting? {
        if case .environmentalSensingTrigger(let value) = kind { value } else { nil }
    }
    /// The frequency of notifications (0x290E, Automation IO Service).
    public var timeTrigger: TimeTriggerSetting? { if case .timeTrigger(let value) = kind { value } else { nil } }
    /// The transport block data of the BR/EDR transport (0x290F, Transport Discovery Service).
    public var transportBlockData: [UInt8]? { if case .transportBlockData(let bytes) = kind { bytes } else { nil } }

    private static func read(_ bytes: [UInt8], of uuid: BluetoothUUID) -> Kind? {
        var reader = ByteReader(bytes.span.bytes)
        do {
            switch uuid {
            case .characteristicExtendedProperties: return .extendedProperties(.init(rawValue: try reader.readUInt16()))
            case .characteristicUserDescription: return .userDescription(String(decoding: bytes, as: UTF8.self))
            case .clientCharacteristicConfiguration:
                return .clientConfiguration(.init(rawValue: try reader.readUInt16()))
            case .serverCharacteristicConfiguration:
                return .serverConfiguration(.init(rawValue: try reader.readUInt16()))
            case .characteristicPresentationFormat: return .presentationFormat(try PresentationFormat(&reader))
            case .characteristicAggregateFormat:
                guard bytes.count % 2 == 0 else { return nil }
                var handles: [AttributeHandle] = []
                while !reader.isAtEnd { handles.append(try reader.readHandle()) }
                return .aggregateFormat(handles)
            case .validRange:
                guard !bytes.isEmpty, bytes.count % 2 == 0 else { return nil }
                let half = bytes.count / 2
                return .validRange(lower: [UInt8](bytes[..<half]), upper: [UInt8](bytes[half...]))
            case .externalReportReference:
                return BluetoothUUID(attributeValue: bytes.span.bytes).map { .externalReportReference($0) }
            case .reportReference: return .reportReference(try ReportReference(&reader))
            case .numberOfDigitals: return .numberOfDigitals(Int(try reader.readUInt8()))
            case .valueTriggerSetting: return .valueTrigger(try ValueTriggerSetting(&reader))
            case .environmentalSensingConfiguration:
                return .environmentalSensingConfiguration(.init(rawValue: try reader.readUInt8()))
            case .environmentalSensingMeasurement:
                return .environmentalSensingMeasurement(try EnvironmentalSensingMeasurement(&reader))
            case .environmentalSensingTriggerSetting:
                return .environmentalSensingTrigger(try EnvironmentalSensingTriggerSetting(&reader))
            case .timeTriggerSetting: return .timeTrigger(try TimeTriggerSetting(&reader))
            case .completeBREDRTransportBlockData: return .transportBlockData(bytes)
            default: return nil
            }
        } catch {
            return nil
        }
    }
}

extension DescriptorValue: CustomStringConvertible {
    /// The decoded value as text, or the UUID and the value in hexadecimal.
    public var description: String {
        switch kind {
        case .extendedProperties(let properties): "\(properties)"
        case .userDescription(let text): "\"\(text)\""
        case .clientConfiguration(let configuration): "\(configuration)"
        case .serverConfiguration(let configuration): "\(configuration)"
        case .presentationFormat(let format): "\(format)"
        case .aggregateFormat(let handles): "formats at " + handles.map { $0.description }.joined(separator: ", ")
        case .validRange(let lower, let upper): "\(lower.hexadecimal) to \(upper.hexadecimal)"
        case .externalReportReference(let uuid): "report of \(uuid)"
        case .reportReference(let reference): "\(reference)"
        case .numberOfDigitals(let count): "\(count) digitals"
        case .valueTrigger(let setting): "\(setting)"
        case .environmentalSensingConfiguration(let configuration): "\(configuration)"
        case .environmentalSensingMeasurement(let measurement): "\(measurement)"
        case .environmentalSensingTrigger(let setting): "\(setting)"
        case .timeTrigger(let setting): "\(setting)"
        case .transportBlockData(let bytes): "transport block \(bytes.hexadecimal)"
        case .other: "\(uuid): \(bytes.isEmpty ? "-" : bytes.hexadecimal)"
        }
    }
}
