import BluetoothAdvertising
import BluetoothATT
import BluetoothGATT
import BluetoothJSON
import BluetoothPrimitives

extension DeviceDescription {
    /// The text of a file that describes the device.
    package var file: [UInt8] { Array((json.formatted() + "\n").utf8) }

    var json: JSONValue {
        .fields([
            ("name", name.map { .string($0) }),
            ("address", address.map { .string($0.digits) }),
            ("addressType", address.map { .string("\($0.kind)") }),
            ("rssi", .integer(Int(rssi))),
            ("appearance", appearance.map { .integer(Int($0.rawValue)) }),
            ("recorded", recording.map { .object([("t", .string($0.time)), ("seconds", .seconds($0.duration))]) }),
            ("advertisedServices", advertisedServices.map { .array($0.map { .string("\($0)") }) }),
            ("advertisements", .list(advertisements.map(\.json))),
            ("services", .list(services.map(\.json))),
        ])
    }
}

extension DescribedAdvertisement {
    fileprivate var json: JSONValue {
        let given: [(String, JSONValue?)] = [
            ("connectable", .bool(isConnectable)),
            ("scannable", .bool(isScannable)),
            ("legacy", .bool(isLegacy)),
            ("rssi", rssi.map { .integer($0) }),
            ("every", interval.map { .seconds($0) }),
        ]
        let raw = [("raw", data), ("rawScanResponse", scanResponse)].map { ($0, JSONValue.string($1.hexadecimal)) }
        let sent = AdvertisementData(advertising: data, scanResponse: scanResponse).jsonFields + raw
        return .fields(given + sent.map { ($0, $1) })
    }
}

extension DescribedService {
    fileprivate var json: JSONValue {
        .fields([
            ("uuid", .string("\(uuid)")),
            ("primary", .bool(isPrimary)),
            ("handle", .handle(handle)),
            ("end", .handle(end)),
            ("includes", .list(includes.map(\.json))),
            ("characteristics", .list(characteristics.map(\.json))),
        ])
    }
}

extension DescribedInclude {
    fileprivate var json: JSONValue { .fields([("uuid", .string("\(uuid)")), ("handle", .handle(handle))]) }
}

extension DescribedCharacteristic {
    fileprivate var json: JSONValue {
        .fields([
            ("uuid", .string("\(uuid)")),
            ("handle", .handle(handle)),
            ("properties", .options(properties, CharacteristicProperties.known)),
            ("permissions", permissions.map { .options($0, AttributePermissions.known) }),
            ("hex", value.hex),
            ("error", value.errorText),
            ("every", interval.map { .seconds($0) }),
            ("echo", echo.map { .string("\($0)") }),
            ("descriptors", .list(descriptors.map(\.json))),
            ("notifications", .list(notifications.map(\.json))),
        ])
    }
}

extension DescribedDescriptor {
    fileprivate var json: JSONValue {
        .fields([
            ("uuid", .string("\(uuid)")),
            ("handle", .handle(handle)),
            ("permissions", permissions.map { .options($0, AttributePermissions.known) }),
            ("hex", value.hex),
            ("error", value.errorText),
        ])
    }
}

extension DescribedNotification {
    fileprivate var json: JSONValue { .object([("after", .seconds(time)), ("hex", .string(value.hexadecimal))]) }
}

extension DescribedValue {
    fileprivate var hex: JSONValue? { bytes.map { .string($0.hexadecimal) } }
    fileprivate var errorText: JSONValue? { error.map { .string("\($0)") } }
}

extension JSONValue {
    /// An object with those of the fields that have a value.
    fileprivate static func fields(_ fields: [(String, JSONValue?)]) -> JSONValue {
        .object(fields.compactMap { key, value in value.map { (key, $0) } })
    }

    /// The value of a field that is left out when it is empty.
    fileprivate static func list(_ values: [JSONValue]) -> JSONValue? { values.isEmpty ? nil : .array(values) }

    fileprivate static func handle(_ handle: AttributeHandle?) -> JSONValue? {
        handle.map { .integer(Int($0.rawValue)) }
    }

    fileprivate static func options<Options: OptionSet>(
        _ options: Options, _ known: [(name: String, option: Options)]
    ) -> JSONValue where Options.Element == Options {
        .array(known.filter { options.contains($0.option) }.map { .string($0.name) })
    }

    fileprivate static func seconds(_ duration: Duration) -> JSONValue {
        .number((duration / .microseconds(1)).rounded() / 1_000_000)
    }
}
