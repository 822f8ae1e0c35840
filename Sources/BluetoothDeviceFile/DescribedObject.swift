import BluetoothATT
import BluetoothJSON
import BluetoothPrimitives

/// An object of a file, with its place in it.
struct DescribedObject {
    private let fields: [(String, JSONValue)]
    private let place: String

    /// - Parameter keys: the keys that it may have.
    init(_ value: JSONValue, at place: String, keys: [String]) throws(DeviceFile.Problem) {
        guard case .object(let fields) = value else {
            throw DeviceFile.Problem(place: place, reason: "it is not an object")
        }
        self.fields = fields
        self.place = place
        var seen: Set<String> = []
        for (key, _) in fields {
            guard keys.contains(key) else {
                throw problem(key, "an unknown key; known are \(keys.joined(separator: ", "))")
            }
            guard seen.insert(key).inserted else { throw problem(key, "it is there twice") }
        }
    }

    /// The value of a key; nil if it is missing or null.
    subscript(_ key: String) -> JSONValue? {
        guard let value = fields.first(where: { $0.0 == key })?.1 else { return nil }
        if case .null = value { return nil }
        return value
    }

    private func place(of key: String) -> String { place.isEmpty ? key : "\(place).\(key)" }

    func problem(_ key: String, _ reason: String) -> DeviceFile.Problem {
        DeviceFile.Problem(place: place(of: key), reason: reason)
    }

    func text(_ key: String) throws(DeviceFile.Problem) -> String? {
        guard let value = self[key] else { return nil }
        guard let text = value.text else { throw problem(key, "it is not a text") }
        return text
    }

    func bool(_ key: String) throws(DeviceFile.Problem) -> Bool? {
        switch self[key] {
        case nil: return nil
        case .bool(let value)?: return value
        default: throw problem(key, "it is neither true nor false")
        }
    }

    func integer(_ key: String, in range: ClosedRange<Int>) throws(DeviceFile.Problem) -> Int? {
        guard let value = self[key] else { return nil }
        guard case .integer(let number) = value, range.contains(number) else {
            let limit = range.upperBound == .max ? "" : " and at most \(range.upperBound)"
            throw problem(key, "it is not a whole number of at least \(range.lowerBound)\(limit)")
        }
        return number
    }

    func handle(_ key: String, from lowest: Int = 1) throws(DeviceFile.Problem) -> AttributeHandle? {
        try integer(key, in: lowest...0xFFFF).map { AttributeHandle(UInt16($0)) }
    }

    func seconds(_ key: String, from lowest: Double) throws(DeviceFile.Problem) -> Duration? {
        let seconds: Double
        switch self[key] {
        case nil: return nil
        case .integer(let number)?: seconds = Double(number)
        case .number(let number)?: seconds = number
        default: throw problem(key, "it is not a number")
        }
        // A day is long enough, and a thousand times a second often enough.
        guard (lowest...86400).contains(seconds) else {
            throw problem(key, "it is not \(lowest == 0 ? "0" : "\(lowest)") to 86400 seconds")
        }
        return .microseconds(Int64((seconds * 1_000_000).rounded()))
    }

    /// The elements of an array of at most `limit`, each made with its place; nil without the key.
    func elements<Element>(
        _ key: String, limit: Int = 1000, _ make: (JSONValue, String) throws(DeviceFile.Problem) -> Element
    ) throws(DeviceFile.Problem) -> [Element]? {
        guard let value = self[key] else { return nil }
        guard let elements = value.elements else { throw problem(key, "it is not an array") }
        guard elements.count <= limit else { throw problem(key, "it has more than \(limit) elements") }
        var made: [Element] = []
        for (index, element) in elements.enumerated() { made.append(try make(element, "\(place(of: key))[\(index)]")) }
        return made
    }

    func uuid(_ key: String) throws(DeviceFile.Problem) -> BluetoothUUID? {
        guard let text = try text(key) else { return nil }
        guard let uuid = BluetoothUUID(text) else { throw problem(key, "\"\(text)\" is not a UUID") }
        return uuid
    }

    /// What was read at `key`, which must be there.
    func required<Value>(_ key: String, _ value: Value?) throws(DeviceFile.Problem) -> Value {
        guard let value else { throw problem(key, "it is missing") }
        return value
    }

    func uuids(_ key: String) throws(DeviceFile.Problem) -> [BluetoothUUID]? {
        try elements(key) { value, place throws(DeviceFile.Problem) in
            guard let uuid = value.text.flatMap({ BluetoothUUID($0) }) else {
                throw DeviceFile.Problem(place: place, reason: "\(value) is not a UUID")
            }
            return uuid
        }
    }

    /// Bytes in hexadecimal, at most `limit` of them.
    func bytes(_ key: String, limit: Int) throws(DeviceFile.Problem) -> [UInt8]? {
        guard let digits = try text(key) else { return nil }
        guard let bytes = [UInt8](hexadecimal: digits) else { throw problem(key, "\"\(digits)\" is not hexadecimal") }
        guard bytes.count <= limit else { throw problem(key, "\(bytes.count) bytes; at most \(limit) are possible") }
        return bytes
    }

    /// The members of a set by their names.
    func options<Options: OptionSet>(
        _ key: String, _ known: [(name: String, option: Options)]
    ) throws(DeviceFile.Problem) -> Options? where Options.Element == Options {
        let named = try elements(key) { value, place throws(DeviceFile.Problem) -> Options in
            guard let option = known.first(where: { $0.name == value.text })?.option else {
                let names = known.map(\.name).sorted().joined(separator: ", ")
                throw DeviceFile.Problem(place: place, reason: "\(value) is not one of \(names)")
            }
            return option
        }
        return named.map { Options($0) }
    }
}
