import BluetoothPrimitives

/// A typed field of a payload: the decoded value of an AD structure.
public enum ADField: Hashable, Sendable {
    /// The flags: discoverability and BR/EDR support.
    case flags(AdvertisementFlags)
    /// The UUIDs of the device's services; encoded in the shortest width of each UUID, with one structure for each
    /// width.
    case services([BluetoothUUID], complete: Bool = true)
    /// The device name, or its beginning.
    case localName(String, complete: Bool = true)
    /// The transmit power in dBm.
    case txPowerLevel(Int8)
    /// The BR/EDR class of device.
    case classOfDevice(ClassOfDevice)
    /// The Simple Pairing Hash C-192, 16 bytes in wire order.
    case simplePairingHash192([UInt8])
    /// The Simple Pairing Randomizer R-192, 16 bytes in wire order.
    case simplePairingRandomizer192([UInt8])
    /// The Device ID of a BR/EDR inquiry response.
    case deviceID(DeviceID)
    /// The Security Manager TK Value of out-of-band pairing, 16 bytes in wire order.
    case securityManagerTK([UInt8])
    /// The Security Manager Out of Band Flags.
    case securityManagerOutOfBandFlags(SecurityManagerOutOfBandFlags)
    /// The connection intervals that the peripheral prefers.
    case peripheralConnectionIntervalRange(ConnectionIntervalRange)
    /// The UUIDs of services that the device solicits; widths as for services.
    case solicitedServices([BluetoothUUID])
    /// The data of a service, after its UUID in the shortest width.
    case serviceData(ServiceData)
    /// The target addresses; public and random ones have structures of their own.
    case targetAddresses([BluetoothAddress])
    /// The appearance of the device.
    case appearance(Appearance)
    /// The advertising interval; encoded in the fewest bytes of two, three or four.
    case advertisingInterval(AdvertisingInterval)
    /// The device address in out-of-band data.
    case leBluetoothDeviceAddress(BluetoothAddress)
    /// The supported and preferred roles of the device.
    case leRole(LERole)
    /// The Simple Pairing Hash C-256, 16 bytes in wire order.
    case simplePairingHash256([UInt8])
    /// The Simple Pairing Randomizer R-256, 16 bytes in wire order.
    case simplePairingRandomizer256([UInt8])
    /// The LE Secure Connections Confirmation Value, 16 bytes in wire order.
    case secureConnectionsConfirmation([UInt8])
    /// The LE Secure Connections Random Value, 16 bytes in wire order.
    case secureConnectionsRandom([UInt8])
    /// A URI with its scheme in full.
    case uri(String)
    /// Indoor Positioning Service data.
    case indoorPositioning([UInt8])
    /// The Transport Discovery Data: services on other transports.
    case transportDiscoveryData([TransportDiscoveryBlock])
    /// The LE features that the device supports.
    case leSupportedFeatures(LESupportedFeatures)
    /// A new channel map for periodic advertising and its instant.
    case channelMapUpdateIndication(ChannelMapUpdate)
    /// A mesh provisioning PDU.
    case pbADV([UInt8])
    /// A mesh network PDU.
    case meshMessage([UInt8])
    /// A mesh beacon.
    case meshBeacon([UInt8])
    /// The BIGInfo, for synchronization with a broadcast isochronous group.
    case bigInfo([UInt8])
    /// The Broadcast_Code of an encrypted broadcast isochronous group, 16 bytes in wire order.
    case broadcastCode([UInt8])
    /// The resolvable identifier of the device's coordinated set.
    case resolvableSetIdentifier(ResolvableSetIdentifier)
    /// The name of a broadcast.
    case broadcastName(String)
    /// Encrypted advertising data, whose key is in the GAP service.
    case encryptedAdvertisingData(EncryptedAdvertisingData)
    /// The timing of responses to periodic advertising.
    case periodicAdvertisingResponseTiming(PeriodicAdvertisingResponseTiming)
    /// An electronic shelf label message.
    case electronicShelfLabel([UInt8])
    /// The 3D synchronization data of a display.
    case information3D([UInt8])
    /// Manufacturer specific data, after the company identifier.
    case manufacturerData(ManufacturerData)
    /// A structure of an unnamed type, or without a valid value, with its bytes.
    case other(ADType, [UInt8])
}

extension ADField {
    /// The data of a service, after its UUID in the shortest width.
    public static func serviceData(_ service: BluetoothUUID, _ data: [UInt8]) -> ADField {
        .serviceData(ServiceData(service: service, data: data))
    }

    /// Manufacturer specific data in the company's format.
    public static func manufacturerData(_ company: CompanyIdentifier, _ data: [UInt8]) -> ADField {
        .manufacturerData(ManufacturerData(company: company, data: data))
    }
}

extension ADField {
    /// Decodes an AD structure; ``other(_:_:)`` when its type is unknown or its value is invalid.
    public init(_ structure: ADStructureView) {
        var fault: ADFault?
        self.init(structure, fault: &fault)
    }

    /// Decodes an AD structure and reports its fault.
    init(_ structure: ADStructureView, fault: inout ADFault?) {
        var reader = ByteReader(structure.data)
        do throws(TruncatedBytes) {
            self = try Self.read(structure.type, from: &reader, fault: &fault)
            if reader.remaining > 0, fault == nil { fault = .trailingBytes(reader.remaining) }
        } catch {
            fault = .tooShort(needed: error.needed, available: error.available)
            self = .other(structure.type, [UInt8](structure.data))
        }
        if case .other(let type, _) = self, type.name != nil { self = .other(type, [UInt8](structure.data)) }
    }

    private static func read(
        _ type: ADType, from reader: inout ByteReader, fault: inout ADFault?
    ) throws(TruncatedBytes) -> ADField {
        if let width = type.serviceListWidth {
            return .services(readUUIDs(width, from: &reader), complete: type == .services(width, complete: true))
        }
        if let width = type.solicitationListWidth { return .solicitedServices(readUUIDs(width, from: &reader)) }
        if let width = type.serviceDataWidth {
            let service = try reader.readUUID(width)
            return .serviceData(service, [UInt8](reader.readRemaining()))
        }
        switch type {
        case .flags: return .flags(try AdvertisementFlags(reading: &reader))
        case .shortenedLocalName: return .localName(readText(from: &reader, fault: &fault), complete: false)
        case .completeLocalName: return .localName(readText(from: &reader, fault: &fault))
        case .txPowerLevel: return .txPowerLevel(try reader.readInt8())
        case .classOfDevice: return .classOfDevice(try ClassOfDevice(reading: &reader))
        case .simplePairingHash192: return .simplePairingHash192(try readKey(from: &reader))
        case .simplePairingRandomizer192: return .simplePairingRandomizer192(try readKey(from: &reader))
        case .deviceIDOrSecurityManagerTK:
            if reader.remaining == keyByteCount { return .securityManagerTK(try readKey(from: &reader)) }
            return .deviceID(try DeviceID(reading: &reader))
        case .securityManagerOutOfBandFlags:
            return .securityManagerOutOfBandFlags(try SecurityManagerOutOfBandFlags(reading: &reader))
        case .peripheralConnectionIntervalRange:
            return .peripheralConnectionIntervalRange(try ConnectionIntervalRange(reading: &reader))
        case .publicTargetAddress: return .targetAddresses(readAddresses(.public, from: &reader))
        case .randomTargetAddress: return .targetAddresses(readAddresses(.random, from: &reader))
        case .appearance: return .appearance(Appearance(rawValue: try reader.readUInt16()))
        case .advertisingInterval:
            return .advertisingInterval(try AdvertisingInterval(reading: &reader))
        case .advertisingIntervalLong: return .advertisingInterval(try AdvertisingInterval(readingLong: &reader))
        case .leBluetoothDeviceAddress: return .leBluetoothDeviceAddress(try readDeviceAddress(from: &reader))
        case .leRole: return .leRole(try LERole(reading: &reader))
        case .simplePairingHash256: return .simplePairingHash256(try readKey(from: &reader))
        case .simplePairingRandomizer256: return .simplePairingRandomizer256(try readKey(from: &reader))
        case .secureConnectionsConfirmation: return .secureConnectionsConfirmation(try readKey(from: &reader))
        case .secureConnectionsRandom: return .secureConnectionsRandom(try readKey(from: &reader))
        case .uri: return try readURI(from: &reader, fault: &fault)
        case .indoorPositioning: return .indoorPositioning([UInt8](reader.readRemaining()))
        case .transportDiscoveryData: return .transportDiscoveryData(readBlocks(from: &reader))
        case .leSupportedFeatures:
            return .leSupportedFeatures(LESupportedFeatures(bytes: [UInt8](reader.readRemaining())))
        case .channelMapUpdateIndication: return .channelMapUpdateIndication(try ChannelMapUpdate(reading: &reader))
        case .pbADV: return .pbADV([UInt8](reader.readRemaining()))
        case .meshMessage: return .meshMessage([UInt8](reader.readRemaining()))
        case .meshBeacon: return .meshBeacon([UInt8](reader.readRemaining()))
        case .bigInfo: return .bigInfo([UInt8](reader.readRemaining()))
        case .broadcastCode: return .broadcastCode(try readKey(from: &reader))
        case .resolvableSetIdentifier:
            return .resolvableSetIdentifier(try ResolvableSetIdentifier(reading: &reader))
        case .broadcastName: return .broadcastName(readText(from: &reader, fault: &fault))
        case .encryptedAdvertisingData:
            return .encryptedAdvertisingData(try EncryptedAdvertisingData(reading: &reader))
        case .periodicAdvertisingResponseTiming:
            return .periodicAdvertisingResponseTiming(try PeriodicAdvertisingResponseTiming(reading: &reader))
        case .electronicShelfLabel: return .electronicShelfLabel([UInt8](reader.readRemaining()))
        case .information3D: return .information3D([UInt8](reader.readRemaining()))
        case .manufacturerSpecificData:
            let company = CompanyIdentifier(try reader.readUInt16())
            return .manufacturerData(company, [UInt8](reader.readRemaining()))
        default: return .other(type, [UInt8](reader.readRemaining()))
        }
    }

    static let keyByteCount = 16

    private static func readKey(from reader: inout ByteReader) throws(TruncatedBytes) -> [UInt8] {
        [UInt8](try reader.read(keyByteCount))
    }

    /// Leaves an incomplete entry unread.
    private static func readUUIDs(_ width: BluetoothUUID.Width, from reader: inout ByteReader) -> [BluetoothUUID] {
        var uuids: [BluetoothUUID] = []
        uuids.reserveCapacity(reader.remaining / width.byteCount)
        while let uuid = try? reader.readUUID(width) { uuids.append(uuid) }
        return uuids
    }

    /// Leaves an incomplete entry unread.
    private static func readAddresses(
        _ kind: BluetoothAddress.Kind, from reader: inout ByteReader
    ) -> [BluetoothAddress] {
        var addresses: [BluetoothAddress] = []
        while let address = try? reader.readAddress(kind) { addresses.append(address) }
        return addresses
    }

    private static func readBlocks(from reader: inout ByteReader) -> [TransportDiscoveryBlock] {
        var blocks: [TransportDiscoveryBlock] = []
        var ahead = reader
        while let block = try? TransportDiscoveryBlock(reading: &ahead) {
            blocks.append(block)
            reader = ahead
        }
        return blocks
    }

    static func readDeviceAddress(from reader: inout ByteReader) throws(TruncatedBytes) -> BluetoothAddress {
        let address = try reader.readAddress(.public)
        let isRandom = try reader.readUInt8() & 1 != 0
        return BluetoothAddress(address.value, kind: isRandom ? .random : .public)
    }

    static func readText(from reader: inout ByteReader, fault: inout ADFault?) -> String {
        reader.readRemaining().text(fault: &fault)
    }

    private static func readURI(
        from reader: inout ByteReader, fault: inout ADFault?
    ) throws(TruncatedBytes) -> ADField {
        guard reader.remaining > 0 else { throw TruncatedBytes(offset: reader.offset, needed: 1, available: 0) }
        let text = readText(from: &reader, fault: &fault)
        let number = text.unicodeScalars.first?.value ?? 0
        guard let scheme = URIScheme.name(of: number) else {
            if number != 0 || fault == nil { fault = .unassigned(number) }
            return .other(.uri, [])
        }
        return .uri(scheme + String(text.unicodeScalars.dropFirst()))
    }
}
