import BluetoothPrimitives

/// A typed field of a payload: the decoded value of an AD structure. An open set.
///
/// The properties of `AdvertisementData` have the values of a payload's fields.
public struct ADField: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case flags(AdvertisementFlags)
        case services([BluetoothUUID], complete: Bool)
        case localName(String, complete: Bool)
        case txPowerLevel(Int8)
        case classOfDevice(ClassOfDevice)
        case deviceID(DeviceID)
        case securityManagerOutOfBandFlags(SecurityManagerOutOfBandFlags)
        case peripheralConnectionIntervalRange(ConnectionIntervalRange)
        case solicitedServices([BluetoothUUID])
        case serviceData(ServiceData)
        case targetAddresses([BluetoothAddress])
        case appearance(Appearance)
        case advertisingInterval(AdvertisingInterval)
        case leBluetoothDeviceAddress(BluetoothAddress)
        case leRole(LERole)
        case uri(String)
        case transportDiscoveryData([TransportDiscoveryBlock])
        case leSupportedFeatures(LESupportedFeatures)
        case channelMapUpdateIndication(ChannelMapUpdate)
        case resolvableSetIdentifier(ResolvableSetIdentifier)
        case broadcastName(String)
        case encryptedAdvertisingData(EncryptedAdvertisingData)
        case periodicAdvertisingResponseTiming(PeriodicAdvertisingResponseTiming)
        case manufacturerData(ManufacturerData)
        /// Bytes without parts: those of a key, or of a format of its own.
        case bytes(ADType, [UInt8])
        case other(ADType, [UInt8])
    }

    package private(set) var kind: Kind

    private init(_ kind: Kind) { self.kind = kind }

    /// The flags: discoverability and BR/EDR support.
    public static func flags(_ flags: AdvertisementFlags) -> Self { Self(.flags(flags)) }
    /// The UUIDs of the device's services; encoded in the shortest width of each UUID, with one structure for each
    /// width.
    public static func services(_ uuids: [BluetoothUUID], complete: Bool = true) -> Self {
        Self(.services(uuids, complete: complete))
    }
    /// The device name, or its beginning.
    public static func localName(_ name: String, complete: Bool = true) -> Self {
        Self(.localName(name, complete: complete))
    }
    /// The transmit power in dBm.
    public static func txPowerLevel(_ level: Int8) -> Self { Self(.txPowerLevel(level)) }
    /// The BR/EDR class of device.
    public static func classOfDevice(_ value: ClassOfDevice) -> Self { Self(.classOfDevice(value)) }
    /// The Simple Pairing Hash C-192, 16 bytes in wire order.
    public static func simplePairingHash192(_ bytes: [UInt8]) -> Self { Self(.bytes(.simplePairingHash192, bytes)) }
    /// The Simple Pairing Randomizer R-192, 16 bytes in wire order.
    public static func simplePairingRandomizer192(_ bytes: [UInt8]) -> Self {
        Self(.bytes(.simplePairingRandomizer192, bytes))
    }
    /// The Device ID of a BR/EDR inquiry response.
    public static func deviceID(_ value: DeviceID) -> Self { Self(.deviceID(value)) }
    /// The Security Manager TK Value of out-of-band pairing, 16 bytes in wire order.
    public static func securityManagerTK(_ bytes: [UInt8]) -> Self { Self(.bytes(.deviceIDOrSecurityManagerTK, bytes)) }
    /// The Security Manager Out of Band Flags.
    public static func securityManagerOutOfBandFlags(_ value: SecurityManagerOutOfBandFlags) -> Self {
        Self(.securityManagerOutOfBandFlags(value))
    }
    /// The connection intervals that the peripheral prefers.
    public static func peripheralConnectionIntervalRange(_ range: ConnectionIntervalRange) -> Self {
        Self(.peripheralConnectionIntervalRange(range))
    }
    /// The UUIDs of services that the device solicits; widths as for services.
    public static func solicitedServices(_ uuids: [BluetoothUUID]) -> Self { Self(.solicitedServices(uuids)) }
    /// The data of a service, after its UUID in the shortest width.
    public static func serviceData(_ data: ServiceData) -> Self { Self(.serviceData(data)) }
    /// The target addresses; public and random ones have structures of their own.
    public static func targetAddresses(_ addresses: [BluetoothAddress]) -> Self { Self(.targetAddresses(addresses)) }
    /// The appearance of the device.
    public static func appearance(_ value: Appearance) -> Self { Self(.appearance(value)) }
    /// The advertising interval; encoded in the fewest bytes of two, three or four.
    public static func advertisingInterval(_ interval: AdvertisingInterval) -> Self {
        Self(.advertisingInterval(interval))
    }
    /// The device address in out-of-band data.
    public static func leBluetoothDeviceAddress(_ address: BluetoothAddress) -> Self {
        Self(.leBluetoothDeviceAddress(address))
    }
    /// The supported and preferred roles of the device.
    public static func leRole(_ value: LERole) -> Self { Self(.leRole(value)) }
    /// The Simple Pairing Hash C-256, 16 bytes in wire order.
    public static func simplePairingHash256(_ bytes: [UInt8]) -> Self { Self(.bytes(.simplePairingHash256, bytes)) }
    /// The Simple Pairing Randomizer R-256, 16 bytes in wire order.
    public static func simplePairingRandomizer256(_ bytes: [UInt8]) -> Self {
        Self(.bytes(.simplePairingRandomizer256, bytes))
    }
    /// The LE Secure Connections Confirmation Value, 16 bytes in wire order.
    public static func secureConnectionsConfirmation(_ bytes: [UInt8]) -> Self {
        Self(.bytes(.secureConnectionsConfirmation, bytes))
    }
    /// The LE Secure Connections Random Value, 16 bytes in wire order.
    public static func secureConnectionsRandom(_ bytes: [UInt8]) -> Self {
        Self(.bytes(.secureConnectionsRandom, bytes))
    }
    /// A URI with its scheme in full.
    public static func uri(_ uri: String) -> Self { Self(.uri(uri)) }
    /// Indoor Positioning Service data.
    public static func indoorPositioning(_ bytes: [UInt8]) -> Self { Self(.bytes(.indoorPositioning, bytes)) }
    /// The Transport Discovery Data: services on other transports.
    public static func transportDiscoveryData(_ blocks: [TransportDiscoveryBlock]) -> Self {
        Self(.transportDiscoveryData(blocks))
    }
    /// The LE features that the device supports.
    public static func leSupportedFeatures(_ features: LESupportedFeatures) -> Self {
        Self(.leSupportedFeatures(features))
    }
    /// A new channel map for periodic advertising and its instant.
    public static func channelMapUpdateIndication(_ value: ChannelMapUpdate) -> Self {
        Self(.channelMapUpdateIndication(value))
    }
    /// A mesh provisioning PDU.
    public static func pbADV(_ bytes: [UInt8]) -> Self { Self(.bytes(.pbADV, bytes)) }
    /// A mesh network PDU.
    public static func meshMessage(_ bytes: [UInt8]) -> Self { Self(.bytes(.meshMessage, bytes)) }
    /// A mesh beacon.
    public static func meshBeacon(_ bytes: [UInt8]) -> Self { Self(.bytes(.meshBeacon, bytes)) }
    /// The BIGInfo, for synchronization with a broadcast isochronous group.
    public static func bigInfo(_ bytes: [UInt8]) -> Self { Self(.bytes(.bigInfo, bytes)) }
    /// The Broadcast_Code of an encrypted broadcast isochronous group, 16 bytes in wire order.
    public static func broadcastCode(_ bytes: [UInt8]) -> Self { Self(.bytes(.broadcastCode, bytes)) }
    /// The resolvable identifier of the device's coordinated set.
    public static func resolvableSetIdentifier(_ value: ResolvableSetIdentifier) -> Self {
        Self(.resolvableSetIdentifier(value))
    }
    /// The name of a broadcast.
    public static func broadcastName(_ name: String) -> Self { Self(.broadcastName(name)) }
    /// Encrypted advertising data, whose key is in the GAP service.
    public static func encryptedAdvertisingData(_ data: EncryptedAdvertisingData) -> Self {
        Self(.encryptedAdvertisingData(data))
    }
    /// The timing of responses to periodic advertising.
    public static func periodicAdvertisingResponseTiming(_ value: PeriodicAdvertisingResponseTiming) -> Self {
        Self(.periodicAdvertisingResponseTiming(value))
    }
    /// An electronic shelf label message.
    public static func electronicShelfLabel(_ bytes: [UInt8]) -> Self { Self(.bytes(.electronicShelfLabel, bytes)) }
    /// The 3D synchronization data of a display.
    public static func information3D(_ bytes: [UInt8]) -> Self { Self(.bytes(.information3D, bytes)) }
    /// Manufacturer specific data, after the company identifier.
    public static func manufacturerData(_ data: ManufacturerData) -> Self { Self(.manufacturerData(data)) }
    /// A structure of an unnamed type, or without a valid value, with its bytes.
    public static func other(_ type: ADType, _ bytes: [UInt8]) -> Self { Self(.other(type, bytes)) }

    /// The flags, if the field has them.
    public var flags: AdvertisementFlags? { if case .flags(let flags) = kind { flags } else { nil } }
    /// The device name or its beginning, if the field has it.
    public var localName: String? { if case .localName(let name, _) = kind { name } else { nil } }
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
        if case .other(let type, _) = kind, type.name != nil { self = .other(type, [UInt8](structure.data)) }
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
        case .deviceIDOrSecurityManagerTK:
            if reader.remaining == keyByteCount { return Self(.bytes(type, try readKey(from: &reader))) }
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
        case .uri: return try readURI(from: &reader, fault: &fault)
        case .transportDiscoveryData: return .transportDiscoveryData(readBlocks(from: &reader))
        case .leSupportedFeatures:
            return .leSupportedFeatures(LESupportedFeatures(bytes: [UInt8](reader.readRemaining())))
        case .channelMapUpdateIndication: return .channelMapUpdateIndication(try ChannelMapUpdate(reading: &reader))
        case .resolvableSetIdentifier:
            return .resolvableSetIdentifier(try ResolvableSetIdentifier(reading: &reader))
        case .broadcastName: return .broadcastName(readText(from: &reader, fault: &fault))
        case .encryptedAdvertisingData:
            return .encryptedAdvertisingData(try EncryptedAdvertisingData(reading: &reader))
        case .periodicAdvertisingResponseTiming:
            return .periodicAdvertisingResponseTiming(try PeriodicAdvertisingResponseTiming(reading: &reader))
        case .manufacturerSpecificData:
            let company = CompanyIdentifier(try reader.readUInt16())
            return .manufacturerData(company, [UInt8](reader.readRemaining()))
        case .indoorPositioning, .pbADV, .meshMessage, .meshBeacon, .bigInfo, .electronicShelfLabel, .information3D:
            return Self(.bytes(type, [UInt8](reader.readRemaining())))
        case _ where type.isKey: return Self(.bytes(type, try readKey(from: &reader)))
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
