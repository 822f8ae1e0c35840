import BluetoothAdvertising
import BluetoothJSON
import BluetoothLE

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
    /// The decoded field; nil if it does not have the format.
    public let decode: @Sendable (AdvertisedField) -> DecodedField?

    /// A decoder of manufacturer specific data.
    public static func manufacturer(
        _ decode: @escaping @Sendable (ManufacturerData) -> DecodedField?
    ) -> AdvertisementDecoder {
        AdvertisementDecoder { if case .manufacturer(let data) = $0 { decode(data) } else { nil } }
    }

    /// A decoder of service data.
    public static func service(_ decode: @escaping @Sendable (ServiceData) -> DecodedField?) -> AdvertisementDecoder {
        AdvertisementDecoder { if case .service(let data) = $0 { decode(data) } else { nil } }
    }

    /// All decoders; the first that knows the format of a field counts. To add one: a line here.
    public static let all: [AdvertisementDecoder] = [
        .manufacturer { IBeacon($0).map(describe) },
        .manufacturer { AltBeacon($0).map(describe) },
        .service { Eddystone($0).map(describe) },
    ]

    /// The field, decoded by the first of ``all`` that knows its format; nil if none does.
    public static func decode(_ field: AdvertisedField) -> DecodedField? {
        for decoder in all {
            if let decoded = decoder.decode(field) { return decoded }
        }
        return nil
    }
}
