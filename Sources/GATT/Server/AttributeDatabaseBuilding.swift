import ATT
import BluetoothPrimitives

extension AttributeDatabase {
    /// Lays out `services` in their order: declarations, the descriptors that properties ask for, and handles.
    ///
    /// Handles ascend from 0x0001 without gaps except where a description names one.
    ///
    /// - Throws: ``AttributeDatabaseError`` when a handle that is named is not free, when handles run out, when a
    ///   value has a length that is not allowed, when a descriptor is repeated, or when an included service is missing.
    public init(_ services: [GATTService]) throws(AttributeDatabaseError) {
        try append(services)
    }

    /// Adds services behind all others, whose handles stay as they are; returns the handles of what was added, or nil
    /// when `services` is empty.
    ///
    /// Clients have to be told; see ``GATTServer/databaseChanged(_:)``.
    /// - Throws: as ``init(_:)`` does; the database is then as it was.
    @discardableResult
    public mutating func append(_ services: [GATTService]) throws(AttributeDatabaseError) -> AttributeHandleRange? {
        do {
            return try append(services, from: nextHandle)
        } catch {
            // Behind the last service there may be room that services had which are gone.
            guard error == .outOfHandles, firstFreeHandle < nextHandle else { throw error }
            return try append(services, from: firstFreeHandle)
        }
    }

    /// Removes all attributes in `range`, which has to cover whole services.
    public mutating func remove(_ range: AttributeHandleRange) {
        attributes.removeAll { range.contains($0.handle) }
        index()
    }

    private var firstFreeHandle: Int {
        attributes.reduce(1) { max($0, Int($1.groupEnd.rawValue) + 1, Int($1.handle.rawValue) + 1) }
    }

    private mutating func append(
        _ services: [GATTService], from start: Int
    ) throws(AttributeDatabaseError) -> AttributeHandleRange? {
        let before = attributes.count
        var builder = AttributeDatabaseBuilder(extending: self, from: start)
        for service in services { try builder.append(service) }
        attributes = try builder.finish()
        nextHandle = builder.next
        index()
        guard attributes.count > before else { return nil }
        return AttributeHandleRange(
            start: attributes[before].handle, end: AttributeHandle(UInt16(truncatingIfNeeded: nextHandle - 1)))
    }

    /// Finds out anew what is where, and brings the value of the Database Hash up to date.
    private mutating func index() {
        positionsByType = [:]
        positionsByService = [:]
        for (position, attribute) in attributes.enumerated() {
            positionsByType[attribute.type, default: []].append(position)
            if let service = attribute.declaredService { positionsByService[service, default: []].append(position) }
        }
        for position in positionsByType[.databaseHash] ?? [] {
            attributes[position].content = .stored(hash.bytes)
        }
    }
}

extension AttributeDatabase.Attribute {
    /// The service that this attribute declares.
    fileprivate var declaredService: BluetoothUUID? {
        guard type == .primaryService || type == .secondaryService, let value = storedValue,
            let width = BluetoothUUID.Width(rawValue: value.count)
        else { return nil }
        var reader = ByteReader(value.span.bytes)
        return try? reader.readUUID(width)
    }
}

private struct AttributeDatabaseBuilder {
    struct PlacedService {
        var uuid: BluetoothUUID
        var position: Int
        var includes: [(position: Int, uuid: BluetoothUUID)] = []
    }

    private var attributes: [AttributeDatabase.Attribute] = []
    private(set) var services: [PlacedService] = []
    /// The next free handle, or one above them all.
    private(set) var next: Int

    init(extending database: AttributeDatabase, from next: Int) {
        attributes = database.attributes
        services = database.positionsByService.flatMap { uuid, positions in
            positions.map { PlacedService(uuid: uuid, position: $0) }
        }.sorted { $0.position < $1.position }
        self.next = next
    }

    mutating func append(_ service: GATTService) throws(AttributeDatabaseError) {
        let declaration = try place(
            at: service.handle, type: service.isPrimary ? .primaryService : .secondaryService,
            content: .stored(encoded(service.uuid)))
        var placed = PlacedService(uuid: service.uuid, position: declaration)
        for uuid in service.includedServices {
            // The value is known when all services have their handles.
            placed.includes.append((try place(type: .include, content: .stored([])), uuid))
        }
        services.append(placed)
        for characteristic in service.characteristics { try append(characteristic) }
        if let end = service.endHandle {
            guard Int(end.rawValue) >= next - 1 else { throw .handleNotAvailable(end) }
            next = Int(end.rawValue) + 1
        }
        attributes[declaration].groupEnd = AttributeHandle(UInt16(truncatingIfNeeded: next - 1))
    }

    private mutating func append(_ characteristic: GATTCharacteristic) throws(AttributeDatabaseError) {
        var properties = characteristic.properties
        if !extendedProperties(of: characteristic).isEmpty { properties.insert(.extendedProperties) }
        let declaration = try place(at: characteristic.handle, type: .characteristic, content: .stored([]))
        let value = try place(
            type: characteristic.uuid, permissions: characteristic.permissions,
            content: characteristic.uuid == .clientSupportedFeatures
                ? .clientFeatures : content(of: characteristic.value),
            lengths: characteristic.valueLengths)
        let handle = attributes[value].handle
        attributes[declaration].content = .stored(
            [properties.rawValue] + encoded(handle) + encoded(characteristic.uuid))

        for descriptor in automaticDescriptors(of: characteristic, properties: properties) + characteristic.descriptors
        {
            try append(descriptor, properties: properties, after: value, valueHandle: handle)
        }
        attributes[declaration].groupEnd = AttributeHandle(UInt16(truncatingIfNeeded: next - 1))
    }

    private mutating func append(
        _ descriptor: GATTDescriptor, properties: CharacteristicProperties, after value: Int,
        valueHandle: AttributeHandle
    ) throws(AttributeDatabaseError) {
        let position: Int
        if descriptor.uuid == .clientCharacteristicConfiguration {
            var supported: ClientCharacteristicConfiguration = []
            if properties.contains(.notify) { supported.insert(.notification) }
            if properties.contains(.indicate) { supported.insert(.indication) }
            position = try place(
                at: descriptor.handle, type: descriptor.uuid, permissions: descriptor.permissions,
                content: .clientConfiguration(of: valueHandle, supported: supported), lengths: 2...2)
        } else {
            position = try place(
                at: descriptor.handle, type: descriptor.uuid, permissions: descriptor.permissions,
                content: content(of: descriptor.value), lengths: descriptor.valueLengths)
        }
        guard isSingle(descriptor.uuid) else { return }
        for earlier in attributes[(value + 1)..<position] where earlier.type == descriptor.uuid {
            throw .repeatedDescriptor(descriptor.uuid, attributes[position].handle)
        }
    }

    /// The descriptors that `properties` oblige the characteristic to have and its description leaves out
    /// (Core Vol 3 Part G §3.3.3).
    private func automaticDescriptors(
        of characteristic: GATTCharacteristic, properties: CharacteristicProperties
    ) -> [GATTDescriptor] {
        var descriptors: [GATTDescriptor] = []
        if properties.contains(.extendedProperties) {
            descriptors.append(
                GATTDescriptor(
                    .characteristicExtendedProperties,
                    value: .stored(encoded(extendedProperties(of: characteristic).rawValue)), valueLengths: 2...2))
        }
        if !properties.isDisjoint(with: [.notify, .indicate]) {
            descriptors.append(GATTDescriptor(.clientCharacteristicConfiguration, permissions: [.read, .write]))
        }
        if properties.contains(.broadcast) {
            descriptors.append(
                GATTDescriptor(
                    .serverCharacteristicConfiguration, permissions: [.read, .write], value: .stored([0, 0]),
                    valueLengths: 2...2))
        }
        return descriptors.filter { automatic in !characteristic.descriptors.contains { $0.uuid == automatic.uuid } }
    }

    /// The extended properties, with the one that a description which clients may change asks for
    /// (Core Vol 3 Part G §3.3.3.2).
    private func extendedProperties(of characteristic: GATTCharacteristic) -> CharacteristicExtendedProperties {
        let isDescriptionWritable = characteristic.descriptors.contains {
            $0.uuid == .characteristicUserDescription && $0.permissions.contains(.write)
        }
        return isDescriptionWritable
            ? characteristic.extendedProperties.union(.writableAuxiliaries) : characteristic.extendedProperties
    }

    /// Whether a characteristic can have only one descriptor `uuid` (Core Vol 3 Part G §3.3.3).
    private func isSingle(_ uuid: BluetoothUUID) -> Bool {
        [
            .characteristicExtendedProperties, .characteristicUserDescription, .clientCharacteristicConfiguration,
            .serverCharacteristicConfiguration, .characteristicAggregateFormat,
        ].contains(uuid)
    }

    private func content(of value: AttributeValue) -> AttributeDatabase.Attribute.Content {
        switch value {
        case .stored(let bytes): .stored(bytes)
        case .dynamic: .dynamic
        }
    }

    /// Appends an attribute and returns its position.
    private mutating func place(
        at explicit: AttributeHandle? = nil, type: BluetoothUUID, permissions: AttributePermissions = .read,
        content: AttributeDatabase.Attribute.Content,
        lengths: ClosedRange<Int> = 0...AttributeProtocol.maximumAttributeValueLength
    ) throws(AttributeDatabaseError) -> Int {
        if let explicit {
            guard Int(explicit.rawValue) >= next else { throw .handleNotAvailable(explicit) }
            next = Int(explicit.rawValue)
        }
        guard let handle = UInt16(exactly: next).map({ AttributeHandle($0) }) else { throw .outOfHandles }
        guard lengths.lowerBound >= 0, lengths.upperBound <= AttributeProtocol.maximumAttributeValueLength else {
            throw .invalidValueLength(handle, count: lengths.lowerBound < 0 ? lengths.lowerBound : lengths.upperBound)
        }
        if case .stored(let value) = content, !lengths.contains(value.count) {
            throw .invalidValueLength(handle, count: value.count)
        }
        next += 1
        attributes.append(
            AttributeDatabase.Attribute(
                handle: handle, type: type, permissions: permissions, valueLengths: lengths, groupEnd: handle,
                content: content))
        return attributes.count - 1
    }

    /// Fills in the include declarations and hands out the attributes.
    mutating func finish() throws(AttributeDatabaseError) -> [AttributeDatabase.Attribute] {
        for service in services {
            for include in service.includes {
                guard
                    let included = services.first(where: {
                        $0.uuid == include.uuid && $0.position != service.position
                    })
                else { throw .includedServiceNotFound(include.uuid) }
                let declaration = attributes[included.position]
                // Only a 16-bit UUID has room in the declaration (Core Vol 3 Part G §3.2).
                let uuid = included.uuid.uint16.map { encoded($0) } ?? []
                attributes[include.position].content = .stored(
                    encoded(declaration.handle) + encoded(declaration.groupEnd) + uuid)
            }
        }
        return attributes
    }
}

func encoded(_ value: UInt16) -> [UInt8] {
    encoded { (writer) throws(BufferFull) in try writer.write(value) }
}

func encoded(_ handle: AttributeHandle) -> [UInt8] {
    encoded(handle.rawValue)
}

/// A UUID as it stands in a declaration: in 16 bits where it has them, otherwise in 128.
func encoded(_ uuid: BluetoothUUID) -> [UInt8] {
    encoded { (writer) throws(BufferFull) in
        try writer.write(uuid, width: uuid.shortestWidth == .bits16 ? .bits16 : .bits128)
    }
}

/// The bytes of one field, which all fit into those of the longest.
private func encoded(_ field: (inout ByteWriter) throws(BufferFull) -> Void) -> [UInt8] {
    var writer = ByteWriter(capacity: BluetoothUUID.Width.bits128.byteCount)
    try? field(&writer)
    return writer.bytes
}
