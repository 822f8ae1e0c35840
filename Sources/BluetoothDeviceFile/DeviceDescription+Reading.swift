import BluetoothATT
import BluetoothGATT
import BluetoothJSON
import BluetoothPrimitives

extension DeviceDescription {
    /// The maximum number of bytes of a name (Core Vol 3 Part C §12.1).
    private static let mostNameBytes = 248
    /// The maximum number of recorded notifications.
    package static let mostNotifications = 100_000

    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(
            value, at: place,
            keys: [
                "name", "address", "addressType", "rssi", "appearance", "advertisements", "services",
                "advertisedServices", "linble", "recorded",
            ])
        let name = try object.text("name")
        if let name, name.utf8.count > Self.mostNameBytes {
            throw object.problem("name", "\(name.utf8.count) bytes; at most \(Self.mostNameBytes) are possible")
        }
        self.init(address: try Self.address(object))
        self.name = name
        if let rssi = try object.integer("rssi", in: -127...20) { self.rssi = Int8(rssi) }
        appearance = try object.integer("appearance", in: 0...0xFFFF).map { Appearance(rawValue: UInt16($0)) }
        advertisedServices = try object.uuids("advertisedServices")
        advertisements =
            try object.elements("advertisements", limit: 16, DescribedAdvertisement.init(reading:at:)) ?? []
        services = try object.elements("services", DescribedService.init(reading:at:)) ?? []
        recording = try object["recorded"].map { value throws(DeviceFile.Problem) in
            try DescribedRecording(reading: value, at: place.isEmpty ? "recorded" : "\(place).recorded")
        }
        if advertisedServices != nil, !advertisements.isEmpty {
            throw object.problem("advertisedServices", "there are advertisements as well")
        }
        switch try object.text("linble") {
        case nil: break
        case "loopback"?: becomeLINBLE(echoes: true)
        case "nothing"?: becomeLINBLE(echoes: false)
        case let other?: throw object.problem("linble", "\"loopback\" or \"nothing\" is expected, not \"\(other)\"")
        }
        // Characteristics to notify or echo are looked up by UUID.
        for (index, service) in services.enumerated() where service.isAmbiguous(among: services.prefix(index)) {
            throw object.problem("services[\(index)].uuid", "\(service.uuid) is in the device already")
        }
        let count = services.reduce(0) { $0 + $1.characteristics.reduce(0) { $0 + $1.notifications.count } }
        guard count <= Self.mostNotifications else {
            throw object.problem("services", "more than \(Self.mostNotifications) notifications")
        }
        do throws(AttributeDatabaseError) {
            _ = try AttributeDatabase(gattServices)
        } catch {
            throw DeviceFile.Problem(place: place, reason: "\(error)")
        }
    }

    private static func address(_ object: DescribedObject) throws(DeviceFile.Problem) -> BluetoothAddress? {
        let kind: BluetoothAddress.Kind
        switch try object.text("addressType") {
        case nil, "random"?: kind = .random
        case "public"?: kind = .public
        case let other?: throw object.problem("addressType", "\"\(other)\" is neither public nor random")
        }
        guard let text = try object.text("address") else { return nil }
        guard let address = BluetoothAddress(text, kind: kind) else {
            throw object.problem("address", "\"\(text)\" is not an address")
        }
        return address
    }

    /// Adds the UART service of a LINBLE, and its name.
    private mutating func becomeLINBLE(echoes: Bool) {
        name = name ?? "LINBLE-Z1"
        let fromDevice: BluetoothUUID = "27ADC9CB-35EB-465A-9154-B8FF9076F3E8"
        var toDevice = DescribedCharacteristic(
            "27ADC9CC-35EB-465A-9154-B8FF9076F3E8", properties: .writeWithoutResponse)
        if echoes { toDevice.echo = fromDevice }
        services.append(
            DescribedService(
                "27ADC9CA-35EB-465A-9154-B8FF9076F3E8",
                characteristics: [DescribedCharacteristic(fromDevice, properties: .notify), toDevice]))
    }
}

extension DescribedRecording {
    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(value, at: place, keys: ["t", "seconds"])
        self.init(
            time: try object.required("t", object.text("t")),
            duration: try object.required("seconds", object.seconds("seconds", from: 0)))
    }
}

extension DescribedService {
    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(
            value, at: place, keys: ["uuid", "primary", "handle", "end", "includes", "characteristics"])
        self.init(
            try object.required("uuid", object.uuid("uuid")), isPrimary: try object.bool("primary") ?? true,
            handle: try object.handle("handle"), end: try object.handle("end"),
            includes: try object.elements("includes", DescribedInclude.init(reading:at:)) ?? [],
            characteristics: try object.elements("characteristics", DescribedCharacteristic.init(reading:at:)) ?? [])
        for (index, characteristic) in characteristics.enumerated() {
            if characteristic.isAmbiguous(among: characteristics.prefix(index)) {
                throw object.problem(
                    "characteristics[\(index)].uuid", "\(characteristic.uuid) is in the service already")
            }
            if let echo = characteristic.echo, !characteristics.contains(where: { $0.uuid == echo }) {
                throw object.problem(
                    "characteristics[\(index)].echo", "\(echo) is not a characteristic of the service")
            }
        }
    }

    /// Whether there is a service with the same UUID and not both have a handle.
    fileprivate func isAmbiguous(among others: ArraySlice<DescribedService>) -> Bool {
        others.contains { $0.uuid == uuid && ($0.handle == nil || handle == nil) }
    }
}

extension DescribedInclude {
    fileprivate init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        if let text = value.text {
            guard let uuid = BluetoothUUID(text) else {
                throw DeviceFile.Problem(place: place, reason: "\(value) is not a UUID")
            }
            self.init(uuid)
        } else {
            let object = try DescribedObject(value, at: place, keys: ["uuid", "handle"])
            self.init(try object.required("uuid", object.uuid("uuid")), handle: try object.handle("handle"))
        }
    }
}

extension DescribedCharacteristic {
    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(
            value, at: place,
            keys: [
                "uuid", "handle", "properties", "permissions", "hex", "text", "value", "error", "description",
                "descriptors", "every", "echo", "notifications",
            ])
        self.init(
            try object.required("uuid", object.uuid("uuid")), handle: try object.handle("handle", from: 2),
            properties: try object.options("properties", CharacteristicProperties.known) ?? [])
        permissions = try object.options("permissions", AttributePermissions.known)
        self.value = try DescribedValue(reading: object)
        descriptors = try object.elements("descriptors", DescribedDescriptor.init(reading:at:)) ?? []
        interval = try object.seconds("every", from: 0.001)
        echo = try object.uuid("echo")
        notifications =
            try object.elements(
                "notifications", limit: DeviceDescription.mostNotifications, DescribedNotification.init(reading:at:))
            ?? []
        if let text = try object.text("description") {
            guard !descriptors.contains(where: { $0.uuid == .characteristicUserDescription }) else {
                throw object.problem("description", "there is a descriptor 2901 as well")
            }
            guard text.utf8.count <= DescribedValue.mostBytes else {
                throw object.problem("description", "at most \(DescribedValue.mostBytes) bytes are possible")
            }
            descriptors.append(
                DescribedDescriptor(.characteristicUserDescription, value: DescribedValue(Array(text.utf8))))
        }
        if echo != nil, properties.contains(.read) {
            throw object.problem("echo", "an echoed value is not stored, so it cannot be read")
        }
        guard !notifications.isEmpty else { return }
        if interval != nil { throw object.problem("notifications", "there is \"every\" as well") }
        if properties.isDisjoint(with: [.notify, .indicate]) {
            throw object.problem("notifications", "the properties have neither notify nor indicate")
        }
        for index in notifications.indices.dropFirst()
        where notifications[index].time < notifications[index - 1].time {
            throw object.problem("notifications[\(index)].after", "it is before the one of the last notification")
        }
    }

    /// Whether there is a characteristic with the same UUID and not both have a handle.
    fileprivate func isAmbiguous(among others: ArraySlice<DescribedCharacteristic>) -> Bool {
        others.contains { $0.uuid == uuid && ($0.handle == nil || handle == nil) }
    }
}

extension DescribedDescriptor {
    init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(
            value, at: place, keys: ["uuid", "handle", "permissions", "hex", "text", "value", "error"])
        self.init(
            try object.required("uuid", object.uuid("uuid")), handle: try object.handle("handle"),
            permissions: try object.options("permissions", AttributePermissions.known),
            value: try DescribedValue(reading: object))
    }
}

extension DescribedNotification {
    fileprivate init(reading value: JSONValue, at place: String) throws(DeviceFile.Problem) {
        let object = try DescribedObject(value, at: place, keys: ["after", "hex", "text"])
        self.init(
            after: try object.required("after", object.seconds("after", from: 0)),
            try object.required("hex", DescribedValue.bytes(of: object, ["hex"])))
    }
}

extension DescribedValue {
    fileprivate static let mostBytes = AttributeProtocol.maximumAttributeValueLength

    fileprivate init(reading object: DescribedObject) throws(DeviceFile.Problem) {
        self.init(try Self.bytes(of: object, ["hex", "value"]))
        guard let text = try object.text("error") else { return }
        guard bytes == nil else { throw object.problem("error", "there is a value as well") }
        // As explore prints it: "Insufficient Authentication (0x05)".
        guard let code = (UInt8.min ... .max).lazy.map({ ATTErrorCode($0) }).first(where: { "\($0)" == text }) else {
            throw object.problem(
                "error", "\"\(text)\" is not an ATT error such as \(ATTErrorCode.insufficientAuthentication)")
        }
        error = code
    }

    /// The value under one of the keys for bytes, or as `text`; not both.
    fileprivate static func bytes(
        of object: DescribedObject, _ keys: [String]
    ) throws(DeviceFile.Problem) -> [UInt8]? {
        let text = try object.text("text")
        var found = text.map { Array($0.utf8) }
        if text != nil, found?.count ?? 0 > mostBytes {
            throw object.problem("text", "at most \(mostBytes) bytes are possible")
        }
        for key in keys {
            guard let bytes = try object.bytes(key, limit: mostBytes) else { continue }
            guard found == nil else { throw object.problem(key, "there is a \(text == nil ? "hex" : "text") as well") }
            found = bytes
        }
        return found
    }
}

extension CharacteristicProperties {
    /// The properties by the names that files use, and explore prints.
    static let known = named(8)
}

extension AttributePermissions {
    /// The permissions by their names.
    static let known = named(10)
}

extension OptionSet where Self: CustomStringConvertible, RawValue: FixedWidthInteger {
    /// The lowest options, so many of them, by the names they have as text.
    fileprivate static func named(_ count: Int) -> [(name: String, option: Self)] {
        (0..<count).map { bit in
            let option = Self(rawValue: 1 << bit)
            return (String("\(option)".dropFirst().dropLast()), option)
        }
    }
}
