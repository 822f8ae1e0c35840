import BluetoothATT
import BluetoothPrimitives

/// The value of a descriptor, and what it means: each property is the value of one kind of descriptor, nil for the others.
///
/// Decoding is lenient: a value of an unknown descriptor, or without the format of its descriptor, has its ``bytes`` alone,
/// and bytes after a value are ignored.
public struct DescriptorValue: Hashable, Sendable {
    /// The descriptor UUID.
    public let uuid: BluetoothUUID
    /// The bytes of the value.
    public let bytes: [UInt8]

    /// The value of the descriptor `uuid`.
    public init(_ bytes: [UInt8], of uuid: BluetoothUUID) {
        (self.bytes, self.uuid) = (bytes, uuid)
    }

    /// Whether the value has the format of a known descriptor.
    public var isDecoded: Bool { decodedText != nil }
    /// The extended properties of the characteristic (0x2900, Core Vol 3 Part G §3.3.3.1).
    public var extendedProperties: CharacteristicExtendedProperties? { bits(.characteristicExtendedProperties) }
    /// The user description (0x2901, Core Vol 3 Part G §3.3.3.2).
    public var userDescription: String? {
        uuid == .characteristicUserDescription ? String(decoding: bytes, as: UTF8.self) : nil
    }
    /// The configuration for this client (0x2902, Core Vol 3 Part G §3.3.3.3).
    public var clientConfiguration: ClientCharacteristicConfiguration? { bits(.clientCharacteristicConfiguration) }
    /// The configuration for all clients (0x2903, Core Vol 3 Part G §3.3.3.4).
    public var serverConfiguration: ServerCharacteristicConfiguration? { bits(.serverCharacteristicConfiguration) }
    /// The format, exponent and unit of the value (0x2904, Core Vol 3 Part G §3.3.3.5).
    public var presentationFormat: PresentationFormat? {
        read(.characteristicPresentationFormat, PresentationFormat.init)
    }
    /// The handles of the presentation formats of an aggregate value, in order (0x2905, Core Vol 3 Part G §3.3.3.6).
    public var aggregateFormat: [AttributeHandle]? {
        read(.characteristicAggregateFormat) { (reader) throws(TruncatedBytes) in
            guard reader.remaining % 2 == 0 else { return nil }
            var handles: [AttributeHandle] = []
            while !reader.isAtEnd { handles.append(try reader.readHandle()) }
            return handles
        }
    }
    /// The minimum and the maximum, each in the format of the characteristic (0x2906).
    public var validRange: (lower: [UInt8], upper: [UInt8])? {
        guard uuid == .validRange, !bytes.isEmpty, bytes.count % 2 == 0 else { return nil }
        let half = bytes.count / 2
        return ([UInt8](bytes[..<half]), [UInt8](bytes[half...]))
    }
    /// The characteristic of another service that a report refers to (0x2907, HID Service).
    public var externalReportReference: BluetoothUUID? {
        uuid == .externalReportReference ? BluetoothUUID(attributeValue: bytes.span.bytes) : nil
    }
    /// The report ID and report type of the characteristic (0x2908, HID Service).
    public var reportReference: ReportReference? { read(.reportReference, ReportReference.init) }
    /// The number of digital inputs or outputs in the value (0x2909, Automation IO Service).
    public var numberOfDigitals: Int? {
        read(.numberOfDigitals) { (reader) throws(TruncatedBytes) in Int(try reader.readUInt8()) }
    }
    /// The condition under which a value counts as changed (0x290A, Automation IO Service).
    public var valueTrigger: ValueTriggerSetting? { read(.valueTriggerSetting, ValueTriggerSetting.init) }
    /// The combination of several trigger settings (0x290B, Environmental Sensing Service).
    public var environmentalSensingConfiguration: EnvironmentalSensingConfiguration? {
        read(.environmentalSensingConfiguration) { (reader) throws(TruncatedBytes) in
            EnvironmentalSensingConfiguration(rawValue: try reader.readUInt8())
        }
    }
    /// The method of measurement (0x290C, Environmental Sensing Service).
    public var environmentalSensingMeasurement: EnvironmentalSensingMeasurement? {
        read(.environmentalSensingMeasurement, EnvironmentalSensingMeasurement.init)
    }
    /// The condition under which a value is notified (0x290D, Environmental Sensing Service).
    public var environmentalSensingTrigger: EnvironmentalSensingTriggerSetting? {
        read(.environmentalSensingTriggerSetting, EnvironmentalSensingTriggerSetting.init)
    }
    /// The frequency of notifications (0x290E, Automation IO Service).
    public var timeTrigger: TimeTriggerSetting? { read(.timeTriggerSetting, TimeTriggerSetting.init) }
    /// The transport block data of the BR/EDR transport (0x290F, Transport Discovery Service).
    public var transportBlockData: [UInt8]? { uuid == .completeBREDRTransportBlockData ? bytes : nil }

    /// What the bytes mean if this is a descriptor of a type.
    private func read<Value>(
        _ type: BluetoothUUID, _ read: (inout ByteReader) throws(TruncatedBytes) -> Value?
    ) -> Value? {
        guard uuid == type else { return nil }
        var reader = ByteReader(bytes.span.bytes)
        return try? read(&reader)
    }

    /// The bits of a descriptor of a type.
    private func bits<Bits: OptionSet>(_ type: BluetoothUUID) -> Bits? where Bits.RawValue == UInt16 {
        read(type) { (reader) throws(TruncatedBytes) in Bits(rawValue: try reader.readUInt16()) }
    }
}

extension DescriptorValue: CustomStringConvertible {
    /// The decoded value; the UUID and the bytes where it is not decoded.
    public var description: String { decodedText ?? "\(uuid): \(bytes.isEmpty ? "-" : bytes.hexadecimal)" }

    private var decodedText: String? {
        switch uuid {
        case .characteristicExtendedProperties: extendedProperties.map { "\($0)" }
        case .characteristicUserDescription: userDescription.map { "\"\($0)\"" }
        case .clientCharacteristicConfiguration: clientConfiguration.map { "\($0)" }
        case .serverCharacteristicConfiguration: serverConfiguration.map { "\($0)" }
        case .characteristicPresentationFormat: presentationFormat.map { "\($0)" }
        case .characteristicAggregateFormat:
            aggregateFormat.map { "formats at " + $0.map { $0.description }.joined(separator: ", ") }
        case .validRange: validRange.map { "\($0.lower.hexadecimal) to \($0.upper.hexadecimal)" }
        case .externalReportReference: externalReportReference.map { "report of \($0)" }
        case .reportReference: reportReference.map { "\($0)" }
        case .numberOfDigitals: numberOfDigitals.map { "\($0) digitals" }
        case .valueTriggerSetting: valueTrigger.map { "\($0)" }
        case .environmentalSensingConfiguration: environmentalSensingConfiguration.map { "\($0)" }
        case .environmentalSensingMeasurement: environmentalSensingMeasurement.map { "\($0)" }
        case .environmentalSensingTriggerSetting: environmentalSensingTrigger.map { "\($0)" }
        case .timeTriggerSetting: timeTrigger.map { "\($0)" }
        case .completeBREDRTransportBlockData: transportBlockData.map { "transport block \($0.hexadecimal)" }
        default: nil
        }
    }
}
