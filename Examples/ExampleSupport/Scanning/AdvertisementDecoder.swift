import BluetoothAdvertising
import BluetoothJSON
import BluetoothLE
import BluetoothPrimitives
import BluetoothProfiles

/// A field of an advertisement whose data has a format of its own.
public enum AdvertisedField: Hashable, Sendable {
    /// Manufacturer specific data.
    case manufacturer(ManufacturerData)
    /// The data of a service.
    case service(ServiceData)
}

/// A decoded field of an advertisement.
public struct DecodedField: Sendable {
    /// The name of the format, such as `iBeacon`.
    public var type: String
    /// The content as text in pieces, the most important first; a narrow table omits the last ones.
    public var text: [String]
    /// The content as JSON fields.
    public var fields: [(String, JSONValue)]

    /// A decoded field from its parts.
    public init(_ type: String, text: [String], fields: [(String, JSONValue)]) {
        self.type = type
        self.text = text
        self.fields = fields
    }

    /// The JSON object: the type, then the content.
    public var json: JSONValue { .object([("type", .string(type))] + fields) }
}

/// A decoder of advertised data of one format, for the table and the JSON lines of a scan.
public struct AdvertisementDecoder: Sendable {
    /// The decoded field of an advertiser, with the keys of sensors; nil if it does not have the format.
    let decode: @Sendable (AdvertisedField, BluetoothAddress?, SensorKeys) -> DecodedField?

    /// A decoder of the values that a beacon advertises.
    static func beacon<Value: AdvertisedValue>(
        _ describe: @escaping @Sendable (Value) -> DecodedField
    ) -> AdvertisementDecoder {
        AdvertisementDecoder { field, _, _ in Value(field).map(describe) }
    }

    /// A decoder of the values that a sensor advertises.
    static func sensor<Value: SensorAdvertisement>(_ format: Value.Type) -> AdvertisementDecoder {
        AdvertisementDecoder { field, address, keys in
            Value(field).map { describe($0, key: keys.key(of: address), from: address) }
        }
    }

    /// All decoders; the first that knows the format of a field counts. To add one: a line here.
    static let all: [AdvertisementDecoder] = [
        .beacon { (beacon: IBeacon) in describe(beacon) }, .beacon { (beacon: AltBeacon) in describe(beacon) },
        .beacon { (frame: Eddystone) in describe(frame) }, .sensor(BTHome.self), .sensor(RuuviTag.self),
        .sensor(MiBeacon.self),
    ]

    /// The field, decoded by the first of ``all`` that knows its format; nil if none does.
    static func decode(
        _ field: AdvertisedField, of address: BluetoothAddress? = nil, _ keys: SensorKeys = SensorKeys()
    ) -> DecodedField? {
        for decoder in all {
            if let decoded = decoder.decode(field, address, keys) { return decoded }
        }
        return nil
    }
}

extension AdvertisedValue {
    /// The value in a field, or nil.
    fileprivate init?(_ field: AdvertisedField) {
        switch field {
        case .manufacturer(let data): self.init(data)
        case .service(let data): self.init(data)
        }
    }
}
