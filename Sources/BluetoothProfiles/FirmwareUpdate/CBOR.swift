import BluetoothPrimitives

/// A CBOR data item of the kinds that the Simple Management Protocol uses (RFC 8949).
enum CBOR: Hashable, Sendable {
    /// A whole number from 0 on.
    case unsigned(UInt64)
    /// A negative number: −1 minus this.
    case negative(UInt64)
    /// A byte string.
    case bytes([UInt8])
    /// A text string.
    case text(String)
    /// An array.
    case array([CBOR])
    /// A map; keys that are not text are skipped when it is decoded.
    case map([String: CBOR])
    /// False or true.
    case bool(Bool)
    /// Null.
    case null
    /// A floating-point number or another simple value, whose content is not decoded.
    case other

    /// A whole number, which is not negative.
    init(_ value: Int) { self = .unsigned(UInt64(max(0, value))) }

    /// The number, if it is one that `Int` represents.
    var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    /// The text of a text string.
    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The bytes of a byte string.
    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// The items of an array.
    var items: [CBOR]? { if case .array(let items) = self { items } else { nil } }

    /// The value of a map's key.
    subscript(key: String) -> CBOR? { if case .map(let map) = self { map[key] } else { nil } }

    /// Whether a map has the value true for a key.
    func isTrue(_ key: String) -> Bool { self[key] == .bool(true) }
}

// MARK: Encoding

extension CBOR {
    /// The deterministic encoding: shortest heads, definite lengths, a map's shorter keys first (RFC 7049 §3.9), as the
    /// reference implementation of SMP encodes. ``other`` becomes null.
    var encoded: [UInt8] {
        var output: [UInt8] = []
        encode(into: &output)
        return output
    }

    private func encode(into output: inout [UInt8]) {
        switch self {
        case .unsigned(let value): Self.writeHead(0, value, &output)
        case .negative(let value): Self.writeHead(1, value, &output)
        case .bytes(let bytes):
            Self.writeHead(2, UInt64(bytes.count), &output)
            output += bytes
        case .text(let text):
            Self.writeHead(3, UInt64(text.utf8.count), &output)
            output += text.utf8
        case .array(let items):
            Self.writeHead(4, UInt64(items.count), &output)
            for item in items { item.encode(into: &output) }
        case .map(let map):
            Self.writeHead(5, UInt64(map.count), &output)
            for (key, value) in map.sorted(by: { ($0.key.utf8.count, $0.key) < ($1.key.utf8.count, $1.key) }) {
                CBOR.text(key).encode(into: &output)
                value.encode(into: &output)
            }
        case .bool(let value): output.append(value ? 0xF5 : 0xF4)
        case .null, .other: output.append(0xF6)
        }
    }

    /// Writes the head of an item: its major type, and its value or length in the fewest bytes.
    private static func writeHead(_ major: UInt8, _ argument: UInt64, _ output: inout [UInt8]) {
        guard argument >= 24 else { return output.append(major << 5 | UInt8(argument)) }
        let power: UInt8 = argument <= 0xFF ? 0 : argument <= 0xFFFF ? 1 : argument <= 0xFFFF_FFFF ? 2 : 3
        output.append(major << 5 | 24 + power)
        for index in (0..<1 << power).reversed() { output.append(UInt8(truncatingIfNeeded: argument >> (8 * index))) }
    }
}

// MARK: Decoding

extension CBOR {
    /// The first item of these bytes; those after it are ignored.
    init(decoding bytes: [UInt8]) throws(MalformedValue) {
        var decoder = CBORDecoder(bytes: bytes)
        self = try decoder.readItem()
    }
}

/// A decoder of CBOR. Lengths are compared with the remaining bytes before anything is allocated.
private struct CBORDecoder {
    let bytes: [UInt8]
    var position = 0

    /// The deepest nesting of a message, which is that of its images, is three.
    static let mostLevels = 16

    init(bytes: [UInt8]) { self.bytes = bytes }

    private func fault(_ problem: String) -> MalformedValue { MalformedValue("CBOR at \(position)", problem) }

    private mutating func read(_ count: UInt64) throws(MalformedValue) -> ArraySlice<UInt8> {
        let available = bytes.count - position
        guard count <= UInt64(available) else { throw fault("\(count) bytes needed, \(available) available") }
        defer { position += Int(count) }
        return bytes[position..<position + Int(count)]
    }

    /// Reads the head of an item: its major type, the low bits of its first byte, and its argument, nil for an indefinite
    /// length.
    private mutating func readHead() throws(MalformedValue) -> (major: UInt8, low: UInt8, argument: UInt64?) {
        let first = try read(1).reduce(0) { $1 | $0 }
        let (major, low) = (first >> 5, first & 0x1F)
        switch low {
        case 0..<24: return (major, low, UInt64(low))
        case 24...27: return (major, low, try read(1 << UInt64(low - 24)).reduce(0) { $0 << 8 | UInt64($1) })
        case 31 where (2...5).contains(major): return (major, low, nil)
        default: throw fault("the head \(first) has no meaning")
        }
    }

    mutating func readItem(level: Int = 0) throws(MalformedValue) -> CBOR {
        guard level < Self.mostLevels else { throw fault("it is nested too deeply") }
        let (major, low, argument) = try readHead()
        switch major {
        case 0: return .unsigned(argument ?? 0)
        case 1: return .negative(argument ?? 0)
        case 2: return .bytes(try readString(major, argument))
        case 3:
            guard let text = String(validating: try readString(major, argument), as: UTF8.self) else {
                throw fault("the text is not UTF-8")
            }
            return .text(text)
        case 4:
            var (items, left) = ([CBOR](), argument)
            while try hasNext(&left) { items.append(try readItem(level: level + 1)) }
            return .array(items)
        case 5:
            var (map, left) = ([String: CBOR](), argument)
            while try hasNext(&left) {
                let key = try readItem(level: level + 1)
                let value = try readItem(level: level + 1)
                if let key = key.text { map[key] = value }
            }
            return .map(map)
        // A tag says more about the item that follows.
        case 6: return try readItem(level: level + 1)
        default: return low == 20 || low == 21 ? .bool(low == 21) : low == 22 ? .null : .other
        }
    }

    /// Whether another element follows; consumes the end of an indefinite length.
    private mutating func hasNext(_ left: inout UInt64?) throws(MalformedValue) -> Bool {
        if let count = left {
            guard count > 0 else { return false }
            left = count - 1
            return true
        }
        guard position < bytes.count else { throw fault("the end of an indefinite length is missing") }
        guard bytes[position] == 0xFF else { return true }
        position += 1
        return false
    }

    /// Reads the content of a string, whose chunks have definite lengths and the same major type.
    private mutating func readString(_ major: UInt8, _ length: UInt64?) throws(MalformedValue) -> [UInt8] {
        if let length { return Array(try read(length)) }
        var (string, left) = ([UInt8](), length)
        while try hasNext(&left) {
            let chunk = try readHead()
            guard chunk.major == major, let length = chunk.argument else { throw fault("a string has another chunk") }
            string += try read(length)
        }
        return string
    }
}
