import BluetoothAdvertising
import BluetoothATT
import BluetoothJSON
import BluetoothPrimitives

extension DeviceDescription {
    /// The text of a file that describes the device.
    package var file: [UInt8] { Array((json.formatted() + "\n").utf8) }

    var json: JSONValue {
        var fields = DescribedFields()
        fields.add("name", name.map { .string($0) })
        fields.add("address", address.map { .string("\($0)") })
        fields.add("addressType", address.map { .string("\($0.kind)") })
        fields.add("rssi", .integer(Int(rssi)))
        fields.add("appearance", appearance.map { .integer(Int($0.rawValue)) })
        fields.add(
            "recorded",
            recording.map {
                .object([("t", .string($0.time)), ("seconds", .seconds($0.duration))])
            })
        fields.add("advertisedServices", advertisedServices.map { .array($0.map { .string("\($0)") }) })
        fields.add("advertisements", advertisements.map(\.json))
        fields.add("services", services.map(\.json))
        return .object(fields.fields)
    }
}

/// The fields of an object, without those that have no value.
private struct DescribedFields {
    private(set) var fields: [(String, JSONValue)] = []

    mutating func add(_ key: String, _ value: JSONValue?) {
        if let value { fields.append((key, value)) }
    }

    mutating func add(_ key: String, _ values: [JSONValue]) {
        if !values.isEmpty { fields.append((key, .array(values))) }
    }

    mutating func add(_ key: String, _ handle: AttributeHandle?) {
        add(key, handle.map { .integer(Int($0.rawValue)) })
    }

    mutating func add(_ value: DescribedValue) {
        add("hex", value.bytes.map { .string($0.hexadecimal) })
        add("error", value.error.map { .string("\($0)") })
    }
}

extension DescribedAdvertisement {
    fileprivate var json: JSONValue {
        var fields = DescribedFields()
        fields.add("connectable", .bool(isConnectable))
        fields.add("scannable", .bool(isScannable))
        fields.add("legacy", .bool(isLegacy))
        fields.add("rssi", rssi.map { .integer($0) })
        fields.add("every", interval.map { .seconds($0) })
        for (key, value) in AdvertisementData(advertising: data, scanResponse: scanResponse).jsonFields {
            fields.add(key, value)
        }
        fields.add("raw", .string(data.hexadecimal))
        fields.add("rawScanResponse", .string(scanResponse.hexadecimal))
        return .object(fields.fields)
    }
}

extension DescribedService {
    fileprivate var json: JSONValue {
        var fields = DescribedFields()
        fields.add("uuid", .string("\(uuid)"))
        fields.add("primary", .bool(isPrimary))
        fields.add("handle", handle)
        fields.add("end", end)
        fields.add(
            "includes",
            includes.map { include in
                var fields = DescribedFields()
                fields.add("uuid", .string("\(include.uuid)"))
                fields.add("handle", include.handle)
                return .object(fields.fields)
            })
        fields.add("characteristics", characteristics.map(\.json))
        return .object(fields.fields)
    }
}

extension DescribedCharacteristic {
    fileprivate var json: JSONValue {
        var fields = DescribedFields()
        fields.add("uuid", .string("\(uuid)"))
        fields.add("handle", handle)
        fields.add("properties", .array(properties.names.map { .string($0) }))
        fields.add("permissions", permissions.map { .array($0.names.map { .string($0) }) })
        fields.add(value)
        fields.add("every", interval.map { .seconds($0) })
        fields.add("echo", echo.map { .string("\($0)") })
        fields.add("descriptors", descriptors.map(\.json))
        fields.add(
            "notifications",
            notifications.map { .object([("after", .seconds($0.time)), ("hex", .string($0.value.hexadecimal))]) })
        return .object(fields.fields)
    }
}

extension DescribedDescriptor {
    fileprivate var json: JSONValue {
        var fields = DescribedFields()
        fields.add("uuid", .string("\(uuid)"))
        fields.add("handle", handle)
        fields.add("permissions", permissions.map { .array($0.names.map { .string($0) }) })
        fields.add(value)
        return .object(fields.fields)
    }
}

extension JSONValue {
    /// Seconds with six decimals.
    fileprivate static func seconds(_ duration: Duration) -> JSONValue {
        .number((duration / .microseconds(1)).rounded() / 1_000_000)
    }
}
