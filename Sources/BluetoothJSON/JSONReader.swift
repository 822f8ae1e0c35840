/// The error of a text that is not JSON, with its position.
public struct JSONProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1.
    public var line: Int
    /// The description of the error.
    public var reason: String

    /// The line and the reason.
    public var description: String { "line \(line): \(reason)" }
}

extension JSONValue {
    /// Reads a JSON text (RFC 8259). Arrays and objects may be nested 64 deep.
    ///
    /// - Throws: ``JSONProblem`` with the position of the first error.
    public init(reading bytes: [UInt8]) throws(JSONProblem) {
        var reader = JSONReader(bytes: bytes)
        self = try reader.value(depth: 0)
        reader.skipBlanks()
        guard reader.isAtEnd else { throw reader.failure("there is text after the value") }
    }

    /// The field of an object; nil if the value is not an object or lacks the field.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let fields) = self else { return nil }
        return fields.first { $0.0 == name }?.1
    }

    /// The string, if it is one.
    public var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The elements, if it is an array.
    public var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}

private struct JSONReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The maximum nesting depth.
    private static let mostDepth = 64

    var isAtEnd: Bool { position == bytes.count }
    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    func failure(_ reason: String) -> JSONProblem {
        let line = bytes.prefix(position).count { $0 == UInt8(ascii: "\n") } + 1
        return JSONProblem(line: line, reason: reason)
    }

    mutating func skipBlanks() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[position...].starts(with: wanted) else { return false }
        position += wanted.count
        return true
    }

    mutating func value(depth: Int) throws(JSONProblem) -> JSONValue {
        guard depth < Self.mostDepth else { throw failure("more than \(Self.mostDepth) levels of nesting") }
        skipBlanks()
        switch next {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        default: break
        }
        if take("null") { return .null }
        if take("true") { return .bool(true) }
        if take("false") { return .bool(false) }
        return try number()
    }

    private mutating func object(_ depth: Int) throws(JSONProblem) -> JSONValue {
        position += 1
        var fields: [(String, JSONValue)] = []
        skipBlanks()
        if take("}") { return .object(fields) }
        while true {
            skipBlanks()
            guard next == UInt8(ascii: "\"") else { throw failure("a quoted name is missing") }
            let name = try string()
            skipBlanks()
            guard take(":") else { throw failure("a colon is missing") }
            fields.append((name, try value(depth: depth + 1)))
            skipBlanks()
            if take("}") { return .object(fields) }
            guard take(",") else { throw failure("a comma or } is missing") }
        }
    }

    private mutating func array(_ depth: Int) throws(JSONProblem) -> JSONValue {
        position += 1
        var elements: [JSONValue] = []
        skipBlanks()
        if take("]") { return .array(elements) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipBlanks()
            if take("]") { return .array(elements) }
            guard take(",") else { throw failure("a comma or ] is missing") }
        }
    }

    private mutating func number() throws(JSONProblem) -> JSONValue {
        let start = position
        while let byte = next, "+-.0123456789eE".utf8.contains(byte) { position += 1 }
        guard Self.isNumber(bytes[start..<position]) else {
            throw failure(start == position ? "a value is missing" : "not a number")
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if let integer = Int(text) { return .integer(integer) }
        if let integer = Int128(text) { return .wideInteger(integer) }
        guard let number = Double(text), number.isFinite else {
            throw failure("a number that is too large")
        }
        return .number(number)
    }

    /// Whether text has the form of a number (RFC 8259 §6).
    private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        func skip(_ options: String) {
            if let first = rest.first, options.utf8.contains(first) { rest = rest.dropFirst() }
        }
        func skipDigits() -> Int {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest.dropFirst(digits.count)
            return digits.count
        }
        skip("-")
        let startsWithZero = rest.first == 0x30
        let count = skipDigits()
        guard count == 1 || count > 1 && !startsWithZero else { return false }
        if rest.first == UInt8(ascii: ".") {
            skip(".")
            guard skipDigits() > 0 else { return false }
        }
        if let first = rest.first, "eE".utf8.contains(first) {
            skip("eE")
            skip("+-")
            guard skipDigits() > 0 else { return false }
        }
        return rest.isEmpty
    }

    private mutating func string() throws(JSONProblem) -> String {
        position += 1
        var units: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: units, as: UTF8.self) else { throw failure("not UTF-8") }
                return text
            case UInt8(ascii: "\\"): units += try escaped()
            case 0..<0x20: throw failure("a control character in a string")
            default: units.append(byte)
            }
        }
        throw failure("an unterminated string")
    }

    private mutating func escaped() throws(JSONProblem) -> [UInt8] {
        guard let byte = next else { throw failure("an unterminated string") }
        position += 1
        switch byte {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "u"):
            var units = [try codeUnit()]
            if (0xD800..<0xDC00).contains(units[0]), take("\\u") { units.append(try codeUnit()) }
            guard let text = String(validating: units, as: UTF16.self) else { throw failure("an unpaired surrogate") }
            return Array(text.utf8)
        default: throw failure("an unknown escape")
        }
    }

    private mutating func codeUnit() throws(JSONProblem) -> UInt16 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, !digits.contains(UInt8(ascii: "+")),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else {
            throw failure("four hexadecimal digits are missing")
        }
        position += 4
        return unit
    }
}
