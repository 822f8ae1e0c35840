import BluetoothATT
import BluetoothPrimitives

/// The decoded value of a descriptor.
///
/// Decoding is lenient: a value of an unknown descriptor, or without the format of its descriptor, becomes
/// ``other(_:_:)``, and bytes after a value are ignored.
public enum DescriptorValue: Hashable, Sendable {
    /// The extended properties of the characteristic (0x2900, Core Vol 3 Part G §3.3.3.1).
    case extendedProperties(CharacteristicExtendedProperties)
    /// The user description (0x2901, Core Vol 3 Part G §3.3.3.2).
    case userDescription(String)
    /// The configuration for this client (0x2902, Core Vol 3 Part G §3.3.3.3).
    case clientConfiguration(ClientCharacteristicConfiguration)
    /// The configuration for all clients (0x2903, Core Vol 3 Part G §3.3.3.4).
    case serverConfiguration(ServerCharacteristicConfiguration)
    /// The format, exponent and unit of the value (0x2904, Core Vol 3 Part G §3.3.3.5).
    case presentationFormat(PresentationFormat)
    /// The handles of the presentation formats of an aggregate value, in order (0x2905, Core Vol 3 Part G §3.3.3.6).
    case aggregateFormat([AttributeHandle])
    /// The minimum and the maximum, each in the format of the characteristic (0x2906).
    case validRange(lower: [UInt8], upper: [UInt8])
    /// The characteristic of another service that a report refers to (0x2907, HID Service).
    case externalReportReference(BluetoothUUID)
    /// The report ID and report type of the characteristic (0x2908, HID Service).
    case reportReference(ReportReference)
    /// The number of digital inputs or outputs in the value (0x2909, Automation IO Service).
    case numberOfDigitals(Int)
    /// The condition under which a value counts as changed (0x290A, Automation IO Service).
    case valueTrigger(ValueTriggerSetting)
    /// The combination of several trigger settings (0x290B, Environmental Sensing Service).
    case environmentalSensingConfiguration(EnvironmentalSensingConfiguration)
    /// The method of measurement (0x290C, Environmental Sensing Service).
    case environmentalSensingMeasurement(EnvironmentalSensingMeasurement)
    /// The condition under which a value is notified (0x290D, Environmental Sensing Service).
    case environmentalSensingTrigger(EnvironmentalSensingTriggerSetting)
    /// The frequency of notifications (0x290E, Automation IO Service).
    case timeTrigger(TimeTriggerSetting)
    /// The transport block data of the BR/EDR transport (0x290F, Transport Discovery Service).
    case transportBlockData([UInt8])
    /// The value of an unknown descriptor, or one without the format of its descriptor.
    case other(BluetoothUUID, [UInt8])

    /// Decodes `bytes` as the value of the descriptor `uuid`; never fails.
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

    /// The descriptor UUID.
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
    /// The decoded value as text, or the UUID and the value in hexadecimal.
    public var description: String {
        switch self {
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
        case .other(let uuid, let bytes): "\(uuid): \(bytes.isEmpty ? "-" : bytes.hexadecimal)"
        }
    }
}
