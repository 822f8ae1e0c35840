import BluetoothATT
import BluetoothAdvertising
import BluetoothGATT
import BluetoothJSON
import BluetoothPrimitives
import BluetoothSystem

/// A simulated radio that a JSON file describes: a machine with an adapter, and devices with services.
///
/// Docs/Guide/Simulation.md describes the format.
package struct SimulationFile: Sendable {
    /// The error of a file that describes no radio, with its position.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        /// The place in the file, such as `devices[0].services[1].uuid` or `line 3`; empty for the whole.
        package var place: String
        /// The description of the error.
        package var reason: String

        /// The place and the reason.
        package var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
    }

    /// A device with its attributes.
    struct Device: Sendable {
        var name: String?
        var address: BluetoothAddress?
        var signalStrength: Int8
        var advertisedServices: [BluetoothUUID]
        var services: [DescribedService]
    }

    struct DescribedService: Sendable {
        var uuid: BluetoothUUID
        var characteristics: [DescribedCharacteristic]
    }

    struct DescribedCharacteristic: Sendable {
        var uuid: BluetoothUUID
        var properties: CharacteristicProperties
        var value: [UInt8] = []
        var userDescription: String?
        /// The time between two notifications of the value, whose last byte counts up.
        var interval: Duration?
        /// The characteristic of the same service that notifies the written values.
        var echo: BluetoothUUID?
    }

    private let seed: UInt64
    private let devices: [Device]
    private static let mostBytes = 1 << 20

    /// Reads a file of at most 1 MiB. Blocks while it is read.
    package init(contentsOf path: String) throws(Problem) {
        let bytes: [UInt8]?
        do throws(KernelError) {
            bytes = try SystemFiles.read(path, limit: Self.mostBytes)
        } catch {
            throw Problem(place: "", reason: "\(error)")
        }
        guard let bytes else { throw Problem(place: "", reason: "there is no such file") }
        try self.init(reading: bytes)
    }

    /// Reads the text of a file.
    package init(reading bytes: [UInt8]) throws(Problem) {
        let json: JSONValue
        do throws(JSONProblem) {
            json = try JSONValue(reading: bytes)
        } catch {
            throw Problem(place: "line \(error.line)", reason: error.reason)
        }
        let file = try DescribedObject(json, at: "", keys: ["seed", "devices"])
        seed = UInt64(try file.integer("seed", in: 0...Int.max) ?? 1)
        guard
            let described = try file.objects(
                "devices", { value, place throws(Problem) in try Device(value, at: place) })
        else { throw Problem(place: "devices", reason: "it is missing") }
        devices = described
        for (index, device) in devices.enumerated() { _ = try device.server(at: "devices[\(index)]") }
    }

    /// A radio in real time with the devices on the air, and the kernel of the machine, whose adapter is off.
    package func makeKernel() -> SimulatedKernel {
        let radio = SimulatedRadio(time: .real, seed: seed)
        for device in devices { device.put(on: radio) }
        return radio.makeKernel(adapters: [.fresh])
    }
}

/// An object of the file, with its place in it.
struct DescribedObject {
    private let fields: [(String, JSONValue)]
    private let place: String

    /// - Parameter keys: the keys that it may have.
    init(_ value: JSONValue, at place: String, keys: [String]) throws(SimulationFile.Problem) {
        guard case .object(let fields) = value else {
            throw SimulationFile.Problem(place: place, reason: "it is not an object")
        }
        self.fields = fields
        self.place = place
        for (key, _) in fields where !keys.contains(key) {
            throw SimulationFile.Problem(
                place: self.place(of: key), reason: "an unknown key; known are \(keys.joined(separator: ", "))")
        }
    }

    private subscript(_ key: String) -> JSONValue? {
        guard let value = fields.first(where: { $0.0 == key })?.1 else { return nil }
        if case .null = value { return nil }
        return value
    }

    private func place(of key: String) -> String { place.isEmpty ? key : "\(place).\(key)" }

    func problem(_ key: String, _ reason: String) -> SimulationFile.Problem {
        SimulationFile.Problem(place: place(of: key), reason: reason)
    }

    func text(_ key: String) throws(SimulationFile.Problem) -> String? {
        guard let value = self[key] else { return nil }
        guard let text = value.text else { throw problem(key, "it is not a text") }
        return text
    }

    func integer(_ key: String, in range: ClosedRange<Int>) throws(SimulationFile.Problem) -> Int? {
        guard let value = self[key] else { return nil }
        guard case .integer(let number) = value, range.contains(number) else {
            throw problem(key, "it is not a whole number of at least \(range.lowerBound)")
        }
        return number
    }

    func seconds(_ key: String) throws(SimulationFile.Problem) -> Duration? {
        let seconds: Double
        switch self[key] {
        case nil: return nil
        case .integer(let number)?: seconds = Double(number)
        case .number(let number)?: seconds = number
        default: throw problem(key, "it is not a number")
        }
        // A day is long enough, and a thousand times a second often enough.
        guard (0.001...86400).contains(seconds) else { throw problem(key, "it is not 0.001 to 86400 seconds") }
        return .seconds(seconds)
    }

    /// The elements of an array, each made with its place; nil without the key.
    func objects<Element>(
        _ key: String, _ make: (JSONValue, String) throws(SimulationFile.Problem) -> Element
    ) throws(SimulationFile.Problem) -> [Element]? {
        guard let value = self[key] else { return nil }
        guard let elements = value.elements else { throw problem(key, "it is not an array") }
        var made: [Element] = []
        for (index, element) in elements.enumerated() { made.append(try make(element, "\(place(of: key))[\(index)]")) }
        return made
    }

    func uuid(_ key: String) throws(SimulationFile.Problem) -> BluetoothUUID? {
        guard let text = try text(key) else { return nil }
        guard let uuid = BluetoothUUID(text) else { throw problem(key, "\"\(text)\" is not a UUID") }
        return uuid
    }

    func requiredUUID(_ key: String) throws(SimulationFile.Problem) -> BluetoothUUID {
        guard let uuid = try uuid(key) else { throw problem(key, "it is missing") }
        return uuid
    }
}

extension SimulationFile.Device {
    fileprivate init(_ value: JSONValue, at place: String) throws(SimulationFile.Problem) {
        let object = try DescribedObject(
            value, at: place, keys: ["name", "address", "rssi", "services", "advertisedServices", "linble"])
        name = try object.text("name")
        if let text = try object.text("address") {
            guard let address = BluetoothAddress(text, kind: .random) else {
                throw object.problem("address", "\"\(text)\" is not an address")
            }
            self.address = address
        }
        signalStrength = Int8(try object.integer("rssi", in: -127...20) ?? -50)
        services =
            try object.objects("services") { value, place throws(SimulationFile.Problem) in
                try SimulationFile.DescribedService(value, at: place)
            } ?? []
        let advertised = try object.objects("advertisedServices") { value, place throws(SimulationFile.Problem) in
            guard let uuid = value.text.flatMap({ BluetoothUUID($0) }) else {
                throw SimulationFile.Problem(place: place, reason: "\(value) is not a UUID")
            }
            return uuid
        }
        advertisedServices = []
        switch try object.text("linble") {
        case nil: break
        case "loopback"?: becomeLINBLE(echoes: true)
        case "nothing"?: becomeLINBLE(echoes: false)
        case let other?: throw object.problem("linble", "\"\(other)\" is neither loopback nor nothing")
        }
        // Characteristics to notify or echo are looked up by UUID.
        for (index, service) in services.enumerated()
        where services.prefix(index).contains(where: { $0.uuid == service.uuid }) {
            throw SimulationFile.Problem(
                place: "\(place).services[\(index)].uuid", reason: "\(service.uuid) is in the device already")
        }
        advertisedServices = advertised ?? services.map { $0.uuid }
    }
}

extension SimulationFile.Device {
    /// Adds the UART service of a LINBLE, and its name.
    private mutating func becomeLINBLE(echoes: Bool) {
        name = name ?? "LINBLE-Z1"
        services.append(.linble(echoes: echoes))
    }
}

extension SimulationFile.DescribedService {
    fileprivate init(_ value: JSONValue, at place: String) throws(SimulationFile.Problem) {
        let object = try DescribedObject(value, at: place, keys: ["uuid", "characteristics"])
        uuid = try object.requiredUUID("uuid")
        characteristics =
            try object.objects("characteristics") { value, place throws(SimulationFile.Problem) in
                try SimulationFile.DescribedCharacteristic(value, at: place)
            } ?? []
        for (index, characteristic) in characteristics.enumerated()
        where characteristics.prefix(index).contains(where: { $0.uuid == characteristic.uuid }) {
            throw SimulationFile.Problem(
                place: "\(place).characteristics[\(index)].uuid",
                reason: "\(characteristic.uuid) is in the service already")
        }
        for (index, characteristic) in characteristics.enumerated() {
            guard let echo = characteristic.echo, !characteristics.contains(where: { $0.uuid == echo }) else {
                continue
            }
            throw SimulationFile.Problem(
                place: "\(place).characteristics[\(index)].echo",
                reason: "\(echo) is not a characteristic of the service")
        }
    }

    /// The UART service of a LINBLE.
    fileprivate static func linble(echoes: Bool) -> Self {
        let fromDevice: BluetoothUUID = "27ADC9CB-35EB-465A-9154-B8FF9076F3E8"
        return Self(
            uuid: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8",
            characteristics: [
                .init(uuid: fromDevice, properties: .notify),
                .init(
                    uuid: "27ADC9CC-35EB-465A-9154-B8FF9076F3E8", properties: .writeWithoutResponse,
                    echo: echoes ? fromDevice : nil),
            ])
    }

    var layout: GATTService { GATTService(uuid, characteristics: characteristics.map { $0.layout }) }
}

extension SimulationFile.DescribedCharacteristic {
    fileprivate init(_ value: JSONValue, at place: String) throws(SimulationFile.Problem) {
        let object = try DescribedObject(
            value, at: place, keys: ["uuid", "properties", "value", "text", "description", "every", "echo"])
        uuid = try object.requiredUUID("uuid")
        properties = []
        for property in try object.objects("properties", { ($0, $1) }) ?? [] {
            guard let name = property.0.text, let known = Self.properties[name] else {
                throw SimulationFile.Problem(
                    place: property.1,
                    reason: "\(property.0) is not one of \(Self.properties.keys.sorted().joined(separator: ", "))")
            }
            properties.insert(known)
        }
        let text = try object.text("text")
        if let text { self.value = Array(text.utf8) }
        if let digits = try object.text("value") {
            guard text == nil else { throw object.problem("value", "there is a text as well") }
            guard let bytes = [UInt8](hexadecimal: digits) else {
                throw object.problem("value", "\"\(digits)\" is not hexadecimal")
            }
            self.value = bytes
        }
        userDescription = try object.text("description")
        interval = try object.seconds("every")
        echo = try object.uuid("echo")
        if echo != nil, properties.contains(.read) {
            throw object.problem("echo", "an echoed value is not stored, so it cannot be read")
        }
    }

    private static let properties: [String: CharacteristicProperties] = [
        "read": .read, "write": .write, "writeWithoutResponse": .writeWithoutResponse, "notify": .notify,
        "indicate": .indicate,
    ]

    fileprivate var layout: GATTCharacteristic {
        // Echoed writes are passed to the program and not stored.
        GATTCharacteristic(
            uuid, properties: properties, value: echo == nil ? .stored(value) : .dynamic,
            descriptors: userDescription.map {
                [GATTDescriptor(.characteristicUserDescription, value: .stored(Array($0.utf8)))]
            } ?? [])
    }
}
