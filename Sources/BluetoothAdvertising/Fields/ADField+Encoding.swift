import BluetoothPrimitives

/// The reason for which a field cannot be added to a payload. An open set: switch with a default.
public struct AdvertisementDataError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case doesNotFit(ADType, needed: Int, left: Int)
        case tooLong(ADType, byteCount: Int)
        case wrongLength(ADType, expected: Int, actual: Int)
        case alreadyPresent(ADType)
    }

    package let kind: Kind

    /// The field needs `needed` bytes of the payload, but only `left` remain.
    public static func doesNotFit(_ type: ADType, needed: Int, left: Int) -> Self {
        Self(kind: .doesNotFit(type, needed: needed, left: left))
    }
    /// The field exceeds the 254 bytes of an AD structure.
    public static func tooLong(_ type: ADType, byteCount: Int) -> Self {
        Self(kind: .tooLong(type, byteCount: byteCount))
    }
    /// The value of the type has a fixed length, and the bytes have another.
    public static func wrongLength(_ type: ADType, expected: Int, actual: Int) -> Self {
        Self(kind: .wrongLength(type, expected: expected, actual: actual))
    }
    /// The type may occur once in a payload, and is already present (CSS Part A §1).
    public static func alreadyPresent(_ type: ADType) -> Self { Self(kind: .alreadyPresent(type)) }
}

extension AdvertisementDataError: CustomStringConvertible {
    /// The field and the numbers.
    public var description: String {
        switch kind {
        case .doesNotFit(let type, let needed, let left): "\(type) needs \(needed) bytes, \(left) remain"
        case .tooLong(let type, let count):
            "\(type) has \(count) bytes, the maximum is \(ADStructure.maximumDataLength)"
        case .wrongLength(let type, let expected, let actual): "\(type) has \(expected) bytes, not \(actual)"
        case .alreadyPresent(let type): "\(type) is already present"
        }
    }
}

extension ADField {
    /// The AD structures of the field: one, or one for each width of UUID or kind of address.
    public func structures() throws(AdvertisementDataError) -> [ADStructure] {
        switch kind {
        case .bytes(let type, let bytes) where type.isKey || type == .deviceIDOrSecurityManagerTK:
            try Self.check(type, bytes, is: Self.keyByteCount)
        case .encryptedAdvertisingData(let data):
            try Self.check(type, data.randomizer, is: EncryptedAdvertisingData.randomizerByteCount)
            let expected = EncryptedAdvertisingData.messageIntegrityCheckByteCount
            try Self.check(type, data.messageIntegrityCheck, is: expected)
        case .transportDiscoveryData(let blocks):
            // The length of a block is one byte, and the longest block would not fit into a structure anyway.
            for block in blocks where block.data.count > UInt8.max {
                throw .tooLong(type, byteCount: block.data.count)
            }
        default: break
        }
        return try parts.map { (part) throws(AdvertisementDataError) in try part.structure() }
    }

    /// The field divided into those of one structure each.
    var parts: [ADField] {
        func divided<Value, Kind: Hashable>(
            _ values: [Value], by kinds: [Kind], of kind: (Value) -> Kind, _ field: ([Value]) -> ADField
        ) -> [ADField] {
            kinds.map { own in values.filter { kind($0) == own } }.filter { !$0.isEmpty }.map(field)
        }
        let widths = BluetoothUUID.Width.allCases
        switch kind {
        case .services(let uuids, let complete) where !uuids.isEmpty:
            return divided(uuids, by: widths, of: { $0.shortestWidth }) { .services($0, complete: complete) }
        case .solicitedServices(let uuids) where !uuids.isEmpty:
            return divided(uuids, by: widths, of: { $0.shortestWidth }) { .solicitedServices($0) }
        case .targetAddresses(let addresses):
            return divided(addresses, by: BluetoothAddress.Kind.allCases, of: { $0.kind }) { .targetAddresses($0) }
        default: return [self]
        }
    }

    private func structure() throws(AdvertisementDataError) -> ADStructure {
        var writer = ByteWriter(capacity: ADStructure.maximumDataLength)
        do throws(BufferFull) {
            try write(to: &writer)
        } catch {
            throw .tooLong(type, byteCount: writer.count + error.needed)
        }
        return ADStructure(type: type, data: writer.bytes)
    }

    /// The AD type of the field's structure, or of the first of several.
    public var type: ADType {
        switch kind {
        case .flags: .flags
        case .services(let uuids, let complete): .services(Self.firstWidth(of: uuids), complete: complete)
        case .localName(_, let complete): complete ? .completeLocalName : .shortenedLocalName
        case .txPowerLevel: .txPowerLevel
        case .classOfDevice: .classOfDevice
        case .deviceID: .deviceIDOrSecurityManagerTK
        case .securityManagerOutOfBandFlags: .securityManagerOutOfBandFlags
        case .peripheralConnectionIntervalRange: .peripheralConnectionIntervalRange
        case .solicitedServices(let uuids): .solicitedServices(Self.firstWidth(of: uuids))
        case .serviceData(let data): .serviceData(data.service.shortestWidth)
        case .targetAddresses(let addresses):
            addresses.contains { $0.kind == .public } ? .publicTargetAddress : .randomTargetAddress
        case .appearance: .appearance
        case .advertisingInterval(let interval):
            interval.rawValue <= UInt16.max ? .advertisingInterval : .advertisingIntervalLong
        case .leBluetoothDeviceAddress: .leBluetoothDeviceAddress
        case .leRole: .leRole
        case .uri: .uri
        case .transportDiscoveryData: .transportDiscoveryData
        case .leSupportedFeatures: .leSupportedFeatures
        case .channelMapUpdateIndication: .channelMapUpdateIndication
        case .resolvableSetIdentifier: .resolvableSetIdentifier
        case .broadcastName: .broadcastName
        case .encryptedAdvertisingData: .encryptedAdvertisingData
        case .periodicAdvertisingResponseTiming: .periodicAdvertisingResponseTiming
        case .manufacturerData: .manufacturerSpecificData
        case .bytes(let type, _), .other(let type, _): type
        }
    }

    /// Writes the bytes after the type of the field's only structure.
    private func write(to writer: inout ByteWriter) throws(BufferFull) {
        switch kind {
        case .flags(let flags): try writer.write(flags.rawValue)
        case .services(let uuids, _), .solicitedServices(let uuids):
            for uuid in uuids { try writer.write(uuid) }
        case .targetAddresses(let addresses):
            for address in addresses { try writer.write(address) }
        case .localName(let text, _), .broadcastName(let text): try writer.write(Array(text.utf8))
        case .txPowerLevel(let power): try writer.write(power)
        case .classOfDevice(let deviceClass): try writer.writeUInt24(deviceClass.rawValue)
        case .deviceID(let identifier):
            try writer.write(identifier.vendorSource)
            try writer.write(identifier.vendor)
            try writer.write(identifier.product)
            try writer.write(identifier.version)
        case .securityManagerOutOfBandFlags(let flags): try writer.write(flags.rawValue)
        case .peripheralConnectionIntervalRange(let range): try range.write(to: &writer)
        case .serviceData(let data):
            try writer.write(data.service)
            try writer.write(data.data)
        case .appearance(let appearance): try writer.write(appearance.rawValue)
        case .advertisingInterval(let interval):
            switch interval.rawValue {
            case ...0xFFFF: try writer.write(UInt16(truncatingIfNeeded: interval.rawValue))
            case ...0xFF_FFFF: try writer.writeUInt24(interval.rawValue)
            default: try writer.write(interval.rawValue)
            }
        case .leBluetoothDeviceAddress(let address):
            try writer.write(address)
            try writer.write(address.kind.rawValue)
        case .leRole(let role): try writer.write(role.rawValue)
        case .uri(let uri):
            let (scheme, rest) = URIScheme.split(uri)
            if let character = Unicode.Scalar(scheme) { try writer.write(Array(String(character).utf8)) }
            try writer.write(Array(rest.utf8))
        case .transportDiscoveryData(let blocks):
            for block in blocks {
                try writer.write(block.organization)
                try writer.write(block.flags)
                try writer.write(UInt8(truncatingIfNeeded: block.data.count))
                try writer.write(block.data)
            }
        case .leSupportedFeatures(let features): try writer.write(features.bytes)
        case .channelMapUpdateIndication(let update): try update.write(to: &writer)
        case .resolvableSetIdentifier(let identifier):
            try writer.writeUInt24(identifier.hash)
            try writer.writeUInt24(identifier.random)
        case .encryptedAdvertisingData(let data):
            try writer.write(data.randomizer)
            try writer.write(data.ciphertext)
            try writer.write(data.messageIntegrityCheck)
        case .periodicAdvertisingResponseTiming(let timing): try timing.write(to: &writer)
        case .manufacturerData(let data):
            try writer.write(data.company.rawValue)
            try writer.write(data.data)
        case .bytes(_, let bytes), .other(_, let bytes): try writer.write(bytes)
        }
    }

    private static func firstWidth(of uuids: [BluetoothUUID]) -> BluetoothUUID.Width {
        BluetoothUUID.Width.allCases.first { width in uuids.contains { $0.shortestWidth == width } } ?? .bits16
    }

    private static func check(
        _ type: ADType, _ bytes: [UInt8], is expected: Int
    ) throws(AdvertisementDataError) {
        guard bytes.count == expected else {
            throw .wrongLength(type, expected: expected, actual: bytes.count)
        }
    }
}
