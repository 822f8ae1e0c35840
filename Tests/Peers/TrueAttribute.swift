import BluetoothLE
import Testing

/// An attribute of the device, as the device itself reports it.
struct TrueAttribute: Sendable {
    let handle: AttributeHandle
    let type: BluetoothUUID
    /// Nil for a dynamic value.
    let value: [UInt8]?
}

extension TrueAttribute {
    /// Parses `HANDLE TYPE VALUE`.
    init(_ line: some StringProtocol) throws {
        let words = line.split(separator: " ")
        let text = words.count > 2 ? String(words[2]) : ""
        handle = AttributeHandle(try #require(UInt16(words[0], radix: 16), "not an attribute: \(line)"))
        type = try #require(BluetoothUUID(words[1]))
        let bytes = [UInt8](hexadecimal: text)
        try #require(text == "-" || bytes != nil, "not an attribute: \(line)")
        value = bytes
    }

    /// The number at the beginning of a declaration.
    fileprivate func uint16() throws -> UInt16 {
        let bytes = try #require(value)
        try #require(bytes.count >= 2)
        return UInt16(bytes[0]) | UInt16(bytes[1]) << 8
    }

    /// The UUID at the end of a declaration, after `skipping` bytes.
    fileprivate func uuid(skipping: Int = 0) throws -> BluetoothUUID {
        let bytes = try #require(value).dropFirst(skipping)
        return try #require(BluetoothUUID(littleEndian: bytes))
    }
}

extension BluetoothUUID {
    fileprivate init?(littleEndian bytes: some Collection<UInt8>) {
        self.init(bytes.reversed().map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined())
    }
}

/// One line for each item of a discovery, from the device's report and from the result, for comparison.
enum Outline {
    /// The expected result of discovering a database with these attributes.
    static func of(_ database: [TrueAttribute]) throws -> [String] {
        var lines: [String] = []
        var last: TrueAttribute?
        for attribute in database {
            switch attribute.type {
            case .primaryService: lines.append("\(attribute.handle) service \(try attribute.uuid())")
            case .secondaryService: lines.append("\(attribute.handle) secondary \(try attribute.uuid())")
            case .include:
                // The UUID is present only if it is a short one; the service it refers to always has it.
                let start = try attribute.uint16()
                let service = try #require(database.first { $0.handle.rawValue == start })
                lines.append("\(attribute.handle) include \(service.handle) \(try service.uuid())")
            case .characteristic:
                let properties = try #require(attribute.value?.first)
                lines.append(
                    "\(attribute.handle) characteristic \(try attribute.uuid(skipping: 3)) "
                        + "\(CharacteristicProperties(rawValue: properties))")
            default:
                if last?.type != .characteristic { lines.append("\(attribute.handle) descriptor \(attribute.type)") }
            }
            last = attribute
        }
        return lines
    }

    /// The result of a discovery.
    static func of(_ services: some Sequence<RemoteService>) -> [String] {
        services.flatMap { service in
            ["\(service.handles.start) \(service.isPrimary ? "service" : "secondary") \(service.uuid)"]
                + service.includedServices.map { "\($0.declarationHandle) include \($0.handles.start) \($0.uuid)" }
                + service.characteristics.flatMap { characteristic in
                    [
                        "\(characteristic.declarationHandle) characteristic \(characteristic.uuid) \(characteristic.properties)"
                    ]
                        + characteristic.descriptors.map { "\($0.handle) descriptor \($0.uuid)" }
                }
        }
    }
}
