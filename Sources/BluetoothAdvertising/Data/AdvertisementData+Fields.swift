import BluetoothPrimitives

// Accessors of common fields. They decode as ADField does, but one field only.

extension AdvertisementData {
    private func value<Value: ADValue>(_ type: ADType) -> Value? {
        first(type) { (reader) throws(TruncatedBytes) in try Value(reading: &reader) }
    }

    /// The flags: discoverability and BR/EDR support.
    public var flags: AdvertisementFlags? { value(.flags) }

    /// The device name: a complete name before a shortened one, and a nonempty name before an empty one.
    ///
    /// The name ends at invalid UTF-8 and at a zero byte.
    public var localName: String? { preferredLocalName?.text }

    /// Whether ``localName`` is a shortened name.
    public var isLocalNameShortened: Bool { preferredLocalName?.isShortened ?? false }

    private var preferredLocalName: (text: String, isShortened: Bool)? {
        var best: (text: String, isShortened: Bool)?
        forEach { structure in
            guard structure.type.isLocalName else { return }
            let isShortened = structure.type == .shortenedLocalName
            if let best, !best.text.isEmpty, isShortened || !best.isShortened { return }
            var fault: ADFault?
            let text = structure.data.text(fault: &fault)
            if best == nil || !text.isEmpty { best = (text, isShortened) }
        }
        return best
    }

    /// The UUIDs of the services in all lists, complete or not and of any width, each once and in order.
    public var services: [BluetoothUUID] { uuids { $0.serviceListWidth } }

    /// The UUIDs in all lists of services, decoded during iteration; ``services`` has each once.
    public var serviceUUIDs: ADServiceUUIDs {
        @_lifetime(borrow self)
        get { ADServiceUUIDs(advertisingStructures, scanResponseStructures) }
    }

    /// Whether a list of services is incomplete.
    public var hasMoreServices: Bool {
        var more = false
        forEach {
            guard let width = $0.type.serviceListWidth else { return }
            more = more || $0.type == .services(width, complete: false)
        }
        return more
    }

    /// The UUIDs of the solicited services in all lists, each once and in order.
    public var solicitedServices: [BluetoothUUID] { uuids { $0.solicitationListWidth } }

    private func uuids(_ width: (ADType) -> BluetoothUUID.Width?) -> [BluetoothUUID] {
        var all: [BluetoothUUID] = []
        forEach { structure in
            guard let width = width(structure.type) else { return }
            var reader = ByteReader(structure.data)
            all.reserveCapacity(all.count + reader.remaining / width.byteCount)
            while let uuid = try? reader.readUUID(width) {
                if !all.contains(uuid) { all.append(uuid) }
            }
        }
        return all
    }

    /// Whether a list contains this service, in any width.
    public func containsService(_ uuid: BluetoothUUID) -> Bool {
        advertisingStructures.containsService(uuid) || scanResponseStructures.containsService(uuid)
    }

    /// Whether a list solicits this service, in any width.
    public func solicitsService(_ uuid: BluetoothUUID) -> Bool {
        advertisingStructures.solicitsService(uuid) || scanResponseStructures.solicitsService(uuid)
    }

    /// All service data in order; a service can occur several times.
    public var serviceData: [ServiceData] {
        var all: [ServiceData] = []
        forEach { structure in
            guard let width = structure.type.serviceDataWidth else { return }
            var reader = ByteReader(structure.data)
            guard let service = try? reader.readUUID(width) else { return }
            all.append(ServiceData(service: service, data: [UInt8](reader.readRemaining())))
        }
        return all
    }

    /// The first data of this service.
    public func serviceData(for service: BluetoothUUID) -> [UInt8]? {
        var found: [UInt8]?
        forEach { structure in
            guard found == nil, let width = structure.type.serviceDataWidth else { return }
            var reader = ByteReader(structure.data)
            if (try? reader.readUUID(width)) == service { found = [UInt8](reader.readRemaining()) }
        }
        return found
    }

    /// All manufacturer specific data in order; a company can occur several times.
    public var manufacturerData: [ManufacturerData] {
        var all: [ManufacturerData] = []
        forEach { structure in
            guard structure.type == .manufacturerSpecificData else { return }
            var reader = ByteReader(structure.data)
            guard let company = try? reader.readUInt16() else { return }
            all.append(ManufacturerData(company: CompanyIdentifier(company), data: [UInt8](reader.readRemaining())))
        }
        return all
    }

    /// The first data of this company, without the company identifier.
    public func manufacturerData(for company: CompanyIdentifier) -> [UInt8]? {
        first(.manufacturerSpecificData) { (reader) throws(TruncatedBytes) in
            try reader.readUInt16() == company.rawValue ? [UInt8](reader.readRemaining()) : nil
        }
    }

    /// The transmit power in dBm.
    public var txPowerLevel: Int8? {
        first(.txPowerLevel) { (reader) throws(TruncatedBytes) in try reader.readInt8() }
    }

    /// The appearance of the device.
    public var appearance: Appearance? {
        first(.appearance) { (reader) throws(TruncatedBytes) in Appearance(rawValue: try reader.readUInt16()) }
    }
}

// All other fields, each the first one of its kind with a value.

extension AdvertisementData {
    private func firstField<Value>(_ type: ADType, as value: (ADField) -> Value?) -> Value? {
        first(type) { (reader) throws(TruncatedBytes) in
            value(ADField(ADStructureView(type: type, data: reader.readRemaining(), offset: 0)))
        }
    }

    private func key(_ type: ADType) -> [UInt8]? {
        first(type) { (reader) throws(TruncatedBytes) in [UInt8](try reader.read(ADField.keyByteCount)) }
    }

    private func bytes(_ type: ADType) -> [UInt8]? {
        first(type) { (reader) throws(TruncatedBytes) in [UInt8](reader.readRemaining()) }
    }

    /// The BR/EDR class of device.
    public var classOfDevice: ClassOfDevice? { value(.classOfDevice) }

    /// The connection intervals that the peripheral prefers.
    public var peripheralConnectionIntervalRange: ConnectionIntervalRange? { value(.peripheralConnectionIntervalRange) }

    /// The advertising interval, from the short or the long form.
    public var advertisingInterval: AdvertisingInterval? {
        value(.advertisingInterval)
            ?? first(.advertisingIntervalLong) { (reader) throws(TruncatedBytes) in
                try AdvertisingInterval(readingLong: &reader)
            }
    }

    /// The supported and preferred roles of the device.
    public var leRole: LERole? { value(.leRole) }

    /// The device address in out-of-band data.
    public var leBluetoothDeviceAddress: BluetoothAddress? {
        first(.leBluetoothDeviceAddress) { (reader) throws(TruncatedBytes) in
            try ADField.readDeviceAddress(from: &reader)
        }
    }

    /// The target addresses, public and random, in order.
    public var targetAddresses: [BluetoothAddress] {
        fields.flatMap { (field) -> [BluetoothAddress] in
            if case .targetAddresses(let addresses) = field.kind { addresses } else { [] }
        }
    }

    /// The URIs with their schemes in full, in order.
    public var uris: [String] {
        fields.compactMap { if case .uri(let uri) = $0.kind { uri } else { nil } }
    }

    /// The LE features that the device supports.
    public var leSupportedFeatures: LESupportedFeatures? {
        bytes(.leSupportedFeatures).map { LESupportedFeatures(bytes: $0) }
    }

    /// A new channel map for periodic advertising and its instant.
    public var channelMapUpdateIndication: ChannelMapUpdate? { value(.channelMapUpdateIndication) }

    /// The Device ID of a BR/EDR inquiry response.
    public var deviceID: DeviceID? {
        firstField(.deviceIDOrSecurityManagerTK) { if case .deviceID(let value) = $0.kind { value } else { nil } }
    }

    /// The Security Manager TK Value of out-of-band pairing, 16 bytes in wire order.
    public var securityManagerTK: [UInt8]? {
        firstField(.deviceIDOrSecurityManagerTK) {
            if case .bytes(_, let value) = $0.kind { value } else { nil }
        }
    }

    /// The Security Manager Out of Band Flags.
    public var securityManagerOutOfBandFlags: SecurityManagerOutOfBandFlags? { value(.securityManagerOutOfBandFlags) }

    /// The Simple Pairing Hash C-192, 16 bytes in wire order.
    public var simplePairingHash192: [UInt8]? { key(.simplePairingHash192) }
    /// The Simple Pairing Randomizer R-192, 16 bytes in wire order.
    public var simplePairingRandomizer192: [UInt8]? { key(.simplePairingRandomizer192) }
    /// The Simple Pairing Hash C-256, 16 bytes in wire order.
    public var simplePairingHash256: [UInt8]? { key(.simplePairingHash256) }
    /// The Simple Pairing Randomizer R-256, 16 bytes in wire order.
    public var simplePairingRandomizer256: [UInt8]? { key(.simplePairingRandomizer256) }
    /// The LE Secure Connections Confirmation Value, 16 bytes in wire order.
    public var secureConnectionsConfirmation: [UInt8]? { key(.secureConnectionsConfirmation) }
    /// The LE Secure Connections Random Value, 16 bytes in wire order.
    public var secureConnectionsRandom: [UInt8]? { key(.secureConnectionsRandom) }

    /// The Indoor Positioning Service data.
    public var indoorPositioning: [UInt8]? { bytes(.indoorPositioning) }
    /// The Transport Discovery Data of all structures, in order.
    public var transportDiscoveryData: [TransportDiscoveryBlock] {
        fields.flatMap { (field) -> [TransportDiscoveryBlock] in
            if case .transportDiscoveryData(let blocks) = field.kind { blocks } else { [] }
        }
    }

    /// A mesh provisioning PDU.
    public var pbADV: [UInt8]? { bytes(.pbADV) }
    /// A mesh network PDU.
    public var meshMessage: [UInt8]? { bytes(.meshMessage) }
    /// A mesh beacon.
    public var meshBeacon: [UInt8]? { bytes(.meshBeacon) }

    /// The BIGInfo, for synchronization with a broadcast isochronous group.
    public var bigInfo: [UInt8]? { bytes(.bigInfo) }
    /// The Broadcast_Code of an encrypted broadcast isochronous group, 16 bytes in wire order.
    public var broadcastCode: [UInt8]? { key(.broadcastCode) }
    /// The name of a broadcast.
    public var broadcastName: String? {
        firstField(.broadcastName) { if case .broadcastName(let name) = $0.kind { name } else { nil } }
    }

    /// The resolvable identifier of the device's coordinated set.
    public var resolvableSetIdentifier: ResolvableSetIdentifier? { value(.resolvableSetIdentifier) }

    /// The encrypted advertising data, whose key is in the GAP service; each structure is decrypted separately.
    public var encryptedAdvertisingData: [EncryptedAdvertisingData] {
        fields.compactMap { if case .encryptedAdvertisingData(let data) = $0.kind { data } else { nil } }
    }

    /// The timing of responses to periodic advertising.
    public var periodicAdvertisingResponseTiming: PeriodicAdvertisingResponseTiming? {
        value(.periodicAdvertisingResponseTiming)
    }

    /// An electronic shelf label message.
    public var electronicShelfLabel: [UInt8]? { bytes(.electronicShelfLabel) }
    /// The 3D synchronization data of a display.
    public var information3D: [UInt8]? { bytes(.information3D) }
}
