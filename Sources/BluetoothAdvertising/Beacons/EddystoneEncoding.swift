import BluetoothPrimitives

/// The reason for which a beacon cannot be encoded. An open set: switch with a default.
public struct BeaconError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case wrongLength(expected: Int, actual: Int)
        case unknownScheme(String)
        case invalidCharacter(Unicode.Scalar)
        case wrongAddressLength(byteCount: Int)
    }

    package let kind: Kind

    /// A field has a fixed length, and the bytes have another.
    public static func wrongLength(expected: Int, actual: Int) -> Self {
        Self(kind: .wrongLength(expected: expected, actual: actual))
    }
    /// The URL begins with none of `http://www.`, `https://www.`, `http://` and `https://`.
    public static func unknownScheme(_ address: String) -> Self { Self(kind: .unknownScheme(address)) }
    /// The URL contains a character other than printable ASCII without spaces; percent-encode it.
    public static func invalidCharacter(_ scalar: Unicode.Scalar) -> Self { Self(kind: .invalidCharacter(scalar)) }
    /// The URL takes `byteCount` bytes after its scheme, which must be 1 to 17.
    public static func wrongAddressLength(byteCount: Int) -> Self {
        Self(kind: .wrongAddressLength(byteCount: byteCount))
    }
}

extension BeaconError: CustomStringConvertible {
    /// The error as text.
    public var description: String {
        switch kind {
        case .wrongLength(let expected, let actual): "\(actual) bytes instead of \(expected)"
        case .unknownScheme(let address): "\(address) does not begin with http:// or https://"
        case .invalidCharacter(let scalar): "U+\(hexadecimal(scalar.value, digits: 4)) is not permitted in a URL"
        case .wrongAddressLength(let count): "the URL takes \(count) bytes after its scheme instead of 1 to 17"
        }
    }
}

extension Eddystone {
    static let schemes = ["http://www.", "https://www.", "http://", "https://"]
    static let endings = [".com", ".org", ".edu", ".net", ".info", ".biz", ".gov"]
    private static let maximumAddressLength = 17

    /// The service data of this beacon, whose advertisement also lists ``service``.
    public func serviceData() throws(BeaconError) -> ServiceData {
        ServiceData(service: Self.service, data: try frame())
    }

    private func frame() throws(BeaconError) -> [UInt8] {
        switch self {
        case .uid(let namespace, let instance, let txPower):
            for (part, count) in [(namespace, 10), (instance, 6)] where part.count != count {
                throw .wrongLength(expected: count, actual: part.count)
            }
            // The last two bytes are reserved.
            return [0x00, UInt8(bitPattern: txPower)] + namespace + instance + [0, 0]
        case .url(let address, let txPower):
            return [0x10, UInt8(bitPattern: txPower)] + (try Self.compressed(address))
        case .telemetry(let batteryVoltage, let temperature, let packetCount, let uptime):
            return [0x20, 0x00] + bigEndian(batteryVoltage)
                + bigEndian(UInt16(bitPattern: temperature ?? .min)) + bigEndian(packetCount) + bigEndian(uptime)
        case .ephemeralIdentifier(let identifier, let txPower):
            guard identifier.count == 8 else { throw .wrongLength(expected: 8, actual: identifier.count) }
            return [0x30, UInt8(bitPattern: txPower)] + identifier
        case .other(let frameType, let bytes): return [frameType] + bytes
        }
    }

    /// The number of the URL's scheme, then its characters, with values below 14 for common endings.
    private static func compressed(_ address: String) throws(BeaconError) -> [UInt8] {
        guard let scheme = schemes.firstIndex(where: { address.hasPrefix($0) }) else { throw .unknownScheme(address) }
        var rest = address.dropFirst(schemes[scheme].count)
        var bytes = [UInt8(scheme)]
        while let scalar = rest.unicodeScalars.first {
            if let ending = endings.firstIndex(where: { rest.hasPrefix($0) }) {
                rest = rest.dropFirst(endings[ending].count)
                let hasSlash = rest.hasPrefix("/")
                if hasSlash { rest = rest.dropFirst() }
                bytes.append(UInt8(hasSlash ? ending : ending + endings.count))
                continue
            }
            guard (0x21...0x7E).contains(scalar.value) else { throw .invalidCharacter(scalar) }
            bytes.append(UInt8(scalar.value))
            rest = Substring(rest.unicodeScalars.dropFirst())
        }
        guard (1...maximumAddressLength).contains(bytes.count - 1) else {
            throw .wrongAddressLength(byteCount: bytes.count - 1)
        }
        return bytes
    }
}

extension Eddystone: CustomStringConvertible {
    /// The fields of the frame in one line.
    public var description: String {
        switch self {
        case .uid(let namespace, let instance, let txPower):
            "Eddystone-UID \(namespace.hexadecimal) \(instance.hexadecimal) \(txPower) dBm"
        case .url(let address, let txPower): "Eddystone-URL \(address) \(txPower) dBm"
        case .telemetry(let batteryVoltage, let temperature, let packetCount, let uptime):
            "Eddystone-TLM \(batteryVoltage) mV, \(temperature.map { "\(Double($0) / 256) °C" } ?? "no temperature"), "
                + "\(packetCount) packets, up \(Double(uptime) / 10) s"
        case .ephemeralIdentifier(let identifier, let txPower):
            "Eddystone-EID \(identifier.hexadecimal) \(txPower) dBm"
        case .other(let frameType, let bytes):
            "Eddystone frame 0x\(hexadecimal(frameType, digits: 2)) \(bytes.hexadecimal)"
        }
    }
}

private func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * Number($0))) }
}
