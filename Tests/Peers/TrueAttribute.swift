import BluetoothLE
import Testing

/// An attribute as the device has it, by its own account.
struct TrueAttribute: Sendable {
    let handle: AttributeHandle
    let type: BluetoothUUID
    /// Nil for a value that the device makes when it is read.
    let value: [UInt8]?
}

extension TrueAttribute {
    /// Reads `HANDLE TYPE VALUE`.
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

/// One line for each thing that a discovery finds, from the truth and from what was found, to be compared.
enum Outline {
    /// What a discovery of a database with these attributes has to find.
    static func of(_ database: [TrueAttribute]) throws -> [String] {
        var lines: [String] = []
        var last: TrueAttribute?
        for attribute in database {
            switch attribute.type {
            case .primaryService: lines.append("\(attribute.handle) service \(try attribute.uuid())")
            case .secondaryService: lines.append("\(attribute.handle) secondary \(try attribute.uuid())")
            case .include:
                // The UUID is there only if it is a short one; the service that is meant has it in any case.
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

    /// What a discovery found.
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
