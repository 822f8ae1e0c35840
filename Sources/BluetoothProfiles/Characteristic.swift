import BluetoothGATT
import BluetoothLE
import BluetoothPrimitives

/// A characteristic whose values have a type.
///
/// Those of the profiles are static members, which the calls accept: `connection.read(.batteryLevel)`. A program adds its own
/// in the same way:
/// ```swift
/// extension Characteristic where Value == Double {
///     static var tankLevel: Self {
///         Characteristic("6E400003-…", in: "6E400001-…", initial: 0) { (value, fields) throws(MalformedValue) in
///             try fields.number("level", &value, .u16, .ten(-1))
///         }
///     }
/// }
/// ```
public struct Characteristic<Value: Sendable>: Sendable {
    /// The UUID of the service.
    public let service: BluetoothUUID
    /// The UUID of the characteristic.
    public let uuid: BluetoothUUID
    /// The properties that a server gives the characteristic, unless it says otherwise.
    public let properties: CharacteristicProperties
    /// The format of the value.
    public let codec: any CharacteristicCodec<Value>

    /// A characteristic of a service, with this format.
    public init(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, properties: CharacteristicProperties = .read,
        codec: any CharacteristicCodec<Value>
    ) {
        self.uuid = uuid
        self.service = service
        self.properties = properties
        self.codec = codec
    }

    /// A characteristic of a service, with a value of fields.
    /// - Parameters:
    ///   - uuid: the UUID of the characteristic.
    ///   - service: the UUID of its service.
    ///   - properties: the properties that a server gives the characteristic, unless it says otherwise.
    ///   - initial: the value before its first field is decoded.
    ///   - fields: sets the fields of the value, or encodes them: see ``FieldCoder``.
    public init(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, properties: CharacteristicProperties = .read,
        initial: Value, fields: @escaping @Sendable (inout Value, inout FieldCoder) throws(MalformedValue) -> Void
    ) {
        self.init(uuid, in: service, properties: properties, codec: FieldCodec(initial, fields: fields))
    }
}

extension Characteristic where Value: RawRepresentable, Value.RawValue: FixedWidthInteger & UnsignedInteger {
    /// A characteristic whose value is one code, or one set of bits.
    public init(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, properties: CharacteristicProperties = .read, initial: Value
    ) {
        self.init(uuid, in: service, properties: properties, initial: initial) {
            (value, fields) throws(MalformedValue) in try fields.code(nil, &value)
        }
    }
}

extension Characteristic where Value: FieldValue {
    /// A characteristic with the fields of its value.
    init(_ uuid: BluetoothUUID, in service: BluetoothUUID, properties: CharacteristicProperties = .read) {
        self.init(uuid, in: service, properties: properties, initial: Value.initial, fields: Value.code)
    }
}

extension Characteristic: TypedCharacteristic {
    /// Whether its value is text.
    package var isText: Bool { codec is TextCodec }
    /// The fields of a value; nil for text, and for a value that does not have the format.
    package func describe(_ bytes: [UInt8]) -> [DescribedField]? { (codec as? any DescribingCodec)?.describe(bytes) }
}
