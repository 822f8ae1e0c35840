import BluetoothATT
import BluetoothPrimitives

/// The value of a descriptor in the terms of its kind.
///
/// Reading is lenient: what does not have the form of its kind, and what has no form that is known here, is
/// ``other(_:_:)`` with its bytes, and bytes behind a value are passed over.
public enum DescriptorValue: Hashable, Sendable {
    /// More properties of the characteristic (0x2900, Core Vol 3 Part G §3.3.3.1).
    case extendedProperties(CharacteristicExtendedProperties)
    /// Text for people (0x2901, Core Vol 3 Part G §3.3.3.2).
    case userDescription(String)
    /// What this client wants to be sent (0x2902, Core Vol 3 Part G §3.3.3.3).
    case clientConfiguration(ClientCharacteristicConfiguration)
    /// Whether the server broadcasts the value (0x2903, Core Vol 3 Part G §3.3.3.4).
    case serverConfiguration(ServerCharacteristicConfiguration)
    /// Format, exponent and unit of the value (0x2904, Core Vol 3 Part G §3.3.3.5).
    case presentationFormat(PresentationFormat)
    /// The presentation formats that a composed value has, one after the other (0x2905, Core Vol 3 Part G §3.3.3.6).
    case aggregateFormat([AttributeHandle])
    /// The least and the greatest value, each in the format of the characteristic (0x2906).
    case validRange(lower: [UInt8], upper: [UInt8])
    /// The characteristic of another service that a report comes from (0x2907, HID Service).
    case externalReportReference(BluetoothUUID)
    /// Which report the characteristic is (0x2908, HID Service).
    case reportReference(ReportReference)
    /// How many digital inputs or outputs the value has (0x2909, Automation IO Service).
    case numberOfDigitals(Int)
    /// When a value counts as changed (0x290A, Automation IO Service).
    case valueTrigger(ValueTriggerSetting)
    /// How several triggers work together (0x290B, Environmental Sensing Service).
    case environmentalSensingConfiguration(EnvironmentalSensingConfiguration)
    /// How a value is measured (0x290C, Environmental Sensing Service).
    case environmentalSensingMeasurement(EnvironmentalSensingMeasurement)
    /// When a value is notified (0x290D, Environmental Sensing Service).
    case environmentalSensingTrigger(EnvironmentalSensingTriggerSetting)
    /// How often a change is told (0x290E, Automation IO Service).
    case timeTrigger(TimeTriggerSetting)
    /// What the device offers over Bluetooth Classic (0x290F, Transport Discovery Service).
    case transportBlockData([UInt8])
    /// Bytes of a kind without a form here, or without the form of its kind.
    case other(BluetoothUUID, [UInt8])

    /// The value that `bytes` have as a descriptor of the kind `uuid`; never fails.
    public init(_ bytes: [UInt8], of uuid: BluetoothUUID) {
        self = Self.read(bytes, of: uuid) ?? .other(uuid, bytes)
    }

    private static func read(_ bytes: [UInt8], of uuid: BluetoothUUID) -> DescriptorValue? {
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
                while !reader.isAtEnd { handles.append(AttributeHandle(try reader.readUInt16())) }
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

    /// What kind of descriptor has this value.
    public var uuid: BluetoothUUID {
        switch self {
        case .extendedProperties: .characteristicExtendedProperties
        case .userDescription: .characteristicUserDescription
        case .clientConfiguration: .clientCharacteristicConfiguration
        case .serverConfiguration: .serverCharacteristicConfiguration
        case .presentationFormat: .characteristicPresentationFormat
        case .aggregateFormat: .characteristicAggregateFormat
        case .validRange: .validRange
        case .externalReportReference: .externalReportReference
        case .reportReference: .reportReference
        case .numberOfDigitals: .numberOfDigitals
        case .valueTrigger: .valueTriggerSetting
        case .environmentalSensingConfiguration: .environmentalSensingConfiguration
        case .environmentalSensingMeasurement: .environmentalSensingMeasurement
        case .environmentalSensingTrigger: .environmentalSensingTriggerSetting
        case .timeTrigger: .timeTriggerSetting
        case .transportBlockData: .completeBREDRTransportBlockData
        case .other(let uuid, _): uuid
        }
    }
}

extension DescriptorValue: CustomStringConvertible {
    /// The value in words, or the kind and the bytes in hexadecimal.
    public var description: String {
        switch self {
        case .extendedProperties(let properties): "\(properties)"
        case .userDescription(let text): "\"\(text)\""
        case .clientConfiguration(let configuration): "\(configuration)"
        case .serverConfiguration(let configuration): "\(configuration)"
        case .presentationFormat(let format): "\(format)"
        case .aggregateFormat(let handles): "formats at \(handles.map(\.description).joined(separator: ", "))"
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
        case .other(let uuid, let bytes): "\(uuid): \(bytes.isEmpty ? "-" : bytes.hexadecimal)"
        }
    }
}

/// The descriptors that services define (Assigned Numbers §3.7 "Descriptors"); those of GATT itself are in
/// `GATTIdentifiers`.
extension BluetoothUUID {
    /// The least and the greatest value.
    public static let validRange = BluetoothUUID(0x2906 as UInt16)
    /// The characteristic that a report comes from (HID Service).
    public static let externalReportReference = BluetoothUUID(0x2907 as UInt16)
    /// Which report a characteristic is (HID Service).
    public static let reportReference = BluetoothUUID(0x2908 as UInt16)
    /// How many digital inputs or outputs there are (Automation IO Service).
    public static let numberOfDigitals = BluetoothUUID(0x2909 as UInt16)
    /// When a value counts as changed (Automation IO Service).
    public static let valueTriggerSetting = BluetoothUUID(0x290A as UInt16)
    /// How several triggers work together (Environmental Sensing Service).
    public static let environmentalSensingConfiguration = BluetoothUUID(0x290B as UInt16)
    /// How a value is measured (Environmental Sensing Service).
    public static let environmentalSensingMeasurement = BluetoothUUID(0x290C as UInt16)
    /// When a value is notified (Environmental Sensing Service).
    public static let environmentalSensingTriggerSetting = BluetoothUUID(0x290D as UInt16)
    /// How often a change is told (Automation IO Service).
    public static let timeTriggerSetting = BluetoothUUID(0x290E as UInt16)
    /// What is offered over Bluetooth Classic (Transport Discovery Service).
    public static let completeBREDRTransportBlockData = BluetoothUUID(0x290F as UInt16)
    /// When observations are made.
    public static let observationSchedule = BluetoothUUID(0x2910 as UInt16)
    /// The least and the greatest value, and how exact values are.
    public static let validRangeAndAccuracy = BluetoothUUID(0x2911 as UInt16)
}
