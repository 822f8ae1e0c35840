import BluetoothATT
import BluetoothPrimitives

extension AttributeDatabase {
    /// A database with `services` in their order, including the declarations and the descriptors that properties
    /// require.
    ///
    /// Handles ascend from 0x0001 without gaps, except where a description requests a handle.
    ///
    /// - Throws: ``AttributeDatabaseError`` when a requested handle is not free or leaves none for a required
    ///   descriptor, when handles run out, when the length of a value is invalid, when a descriptor is repeated, or
    ///   when an included service is missing.
    public init(_ services: [GATTService]) throws(AttributeDatabaseError) {
        try append(services)
    }

    /// Adds services, whose handles ascend in their order; returns their handles, or nil when `services` is empty.
    ///
    /// The addition begins at the handle that its first service requests, otherwise after all handles ever used, so
    /// that no handle changes its meaning; if there is no room, in the first gap that removed services left. Existing
    /// attributes keep their handles. Notify the clients with `GATTServer.databaseChanged(_:)`.
    /// - Throws: ``AttributeDatabaseError`` as ``init(_:)`` does; the database is then unchanged.
    @discardableResult
    package mutating func append(_ services: [GATTService]) throws(AttributeDatabaseError) -> DatabaseLayout? {
        if let handle = services.first?.handle { return try append(services, from: Int(handle.rawValue)) }
        do {
            return try append(services, from: nextHandle)
        } catch {
            guard error == .outOfHandles else { throw error }
            for start in freeHandles where start < nextHandle {
                if let layout = try? append(services, from: start) { return layout }
            }
            throw error
        }
    }

    /// Removes all attributes in `range`, which must cover complete services.
    public mutating func remove(_ range: AttributeHandleRange) {
        guard range.start <= range.end else { return }
        let positions = lowerBound(range.start)..<partitionPoint(of: attributes) { $0.handle <= range.end }
        for attribute in attributes[positions] { index(attribute, isAdded: false) }
        attributes.removeSubrange(positions)
        isHashDue = true
    }

    /// The first handle, and the handle after each service.
    private var freeHandles: [Int] {
        [1] + attributes.filter { $0.declaresService }.map { Int($0.groupEnd.rawValue) + 1 }
    }

    private mutating func append(
        _ services: [GATTService], from start: Int
    ) throws(AttributeDatabaseError) -> DatabaseLayout? {
        var builder = AttributeDatabaseBuilder(from: start)
        for service in services { try builder.append(service) }
        let (added, layouts) = try builder.finish(extending: self)
        guard let first = added.first?.handle else { return nil }
        let range = AttributeHandleRange(
            start: first, end: AttributeHandle(UInt16(truncatingIfNeeded: builder.next - 1)))
        let position = lowerBound(first)
        // The range must contain no existing attribute, and must not belong to the service before it.
        if position < attributes.count, attributes[position].handle <= range.end {
            throw builder.obstacle(at: attributes[position].handle)
        }
        if let before = attributes[..<position].last(where: { $0.declaresService }), before.groupEnd >= first {
            throw .handleNotAvailable(first)
        }
        attributes.insert(contentsOf: added, at: position)
        nextHandle = max(nextHandle, builder.next)
        for attribute in added { index(attribute, isAdded: true) }
        isHashDue = true
        return DatabaseLayout(handles: range, services: layouts)
    }

    /// Adds an attribute's handle to the indices, or removes it.
    private mutating func index(_ attribute: Attribute, isAdded: Bool) {
        let handle = attribute.handle
        func change(_ index: inout [BluetoothUUID: [AttributeHandle]], _ key: BluetoothUUID) {
            let position = partitionPoint(of: index[key] ?? []) { $0 < handle }
            if isAdded {
                index[key, default: []].insert(handle, at: position)
            } else {
                index[key]?.remove(at: position)
                // A type that is gone leaves nothing.
                if index[key]?.isEmpty == true { index[key] = nil }
            }
        }
        change(&handlesByType, attribute.type)
        if let service = attribute.declaredService { change(&handlesByService, service) }
    }
}

extension AttributeDatabase.Attribute {
    fileprivate var declaresService: Bool { type == .primaryService || type == .secondaryService }

    /// The UUID of the service that this attribute declares.
    fileprivate var declaredService: BluetoothUUID? {
        guard declaresService, let value = storedValue else { return nil }
        return BluetoothUUID(attributeValue: value.span.bytes)
    }
}

/// A builder of services that are added to a database in one handle range.
private struct AttributeDatabaseBuilder {
    private struct Service {
        var uuid: BluetoothUUID
        var handles: AttributeHandleRange
    }

    private struct Include {
        /// The position of the declaration in ``attributes``.
        var position: Int
        var service: IncludedService
        /// The handle of the including service.
        var owner: AttributeHandle
    }

    /// The attributes of the addition.
    private var attributes: [AttributeDatabase.Attribute] = []
    /// The added services.
    private var services: [Service] = []
    private var includes: [Include] = []
    private var layouts: [DatabaseLayout.Service] = []
    /// The required descriptors that the descriptions leave out, since the last requested handle.
    private var automatic: [(descriptor: BluetoothUUID, characteristic: BluetoothUUID, handle: AttributeHandle)] = []
    private var isAnyHandleNamed = false
    /// The next free handle, or 0x10000 when none is left.
    private(set) var next: Int

    init(from next: Int) { self.next = next }

    mutating func append(_ service: GATTService) throws(AttributeDatabaseError) {
        let declaration = try place(
            at: service.handle, type: service.isPrimary ? .primaryService : .secondaryService,
            content: .stored(encoded(service.uuid)))
        let handle = attributes[declaration].handle
        for included in service.includedServices {
            // The value is known once all services have handles.
            let position = try place(type: .include, content: .stored([]))
            includes.append(Include(position: position, service: included, owner: handle))
        }
        var characteristics: [DatabaseLayout.Characteristic] = []
        for characteristic in service.characteristics { characteristics.append(try append(characteristic)) }
        if let end = service.endHandle {
            guard Int(end.rawValue) >= next - 1 else {
                throw obstacle(at: end, asLast: true)
            }
            if Int(end.rawValue) >= next { automatic = [] }
            next = Int(end.rawValue) + 1
        }
        let end = AttributeHandle(UInt16(truncatingIfNeeded: next - 1))
        attributes[declaration].groupEnd = end
        let handles = AttributeHandleRange(start: handle, end: end)
        services.append(Service(uuid: service.uuid, handles: handles))
        layouts.append(DatabaseLayout.Service(handles: handles, characteristics: characteristics))
    }

    private mutating func append(
        _ characteristic: GATTCharacteristic
    ) throws(AttributeDatabaseError) -> DatabaseLayout.Characteristic {
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

        for descriptor in automaticDescriptors(of: characteristic, properties: properties) {
            guard let place = UInt16(exactly: next).map({ AttributeHandle($0) }) else {
                if !isAnyHandleNamed { throw .outOfHandles }
                throw .noHandle(for: descriptor.uuid, of: characteristic.uuid, at: nil)
            }
            automatic.append((descriptor.uuid, characteristic.uuid, place))
            _ = try append(descriptor, properties: properties, after: value, valueHandle: handle)
        }
        var descriptors: [AttributeHandle] = []
        for descriptor in characteristic.descriptors {
            descriptors.append(try append(descriptor, properties: properties, after: value, valueHandle: handle))
        }
        attributes[declaration].groupEnd = AttributeHandle(UInt16(truncatingIfNeeded: next - 1))
        return DatabaseLayout.Characteristic(value: handle, descriptors: descriptors)
    }

    private mutating func append(
        _ descriptor: GATTDescriptor, properties: CharacteristicProperties, after value: Int,
        valueHandle: AttributeHandle
    ) throws(AttributeDatabaseError) -> AttributeHandle {
        var (content, lengths) = (content(of: descriptor.value), descriptor.valueLengths)
        if descriptor.uuid == .clientCharacteristicConfiguration {
            var supported: ClientCharacteristicConfiguration = []
            if properties.contains(.notify) { supported.insert(.notification) }
            if properties.contains(.indicate) { supported.insert(.indication) }
            (content, lengths) = (.clientConfiguration(of: valueHandle, supported: supported), 2...2)
        }
        let position = try place(
            at: descriptor.handle, type: descriptor.uuid, permissions: descriptor.permissions, content: content,
            lengths: lengths)
        let handle = attributes[position].handle
        guard isSingle(descriptor.uuid) else { return handle }
        for earlier in attributes[(value + 1)..<position] where earlier.type == descriptor.uuid {
            throw .repeatedDescriptor(descriptor.uuid, handle)
        }
        return handle
    }

    /// The descriptors that `properties` require and the description leaves out (Core Vol 3 Part G §3.3.3).
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

    /// The extended properties, including Writable Auxiliaries for a writable user description
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

    /// The error for a requested handle that is not free, or that cannot be the last one; automatic descriptors may be
    /// the cause.
    func obstacle(at handle: AttributeHandle, asLast isLast: Bool = false) -> AttributeDatabaseError {
        guard Int(handle.rawValue) + (isLast ? 1 : 0) >= next - automatic.count,
            let obstacle = automatic.first(where: { $0.handle >= handle }) ?? automatic.last
        else { return .handleNotAvailable(handle) }
        return .noHandle(for: obstacle.descriptor, of: obstacle.characteristic, at: obstacle.handle)
    }

    /// Appends an attribute and returns its position.
    private mutating func place(
        at explicit: AttributeHandle? = nil, type: BluetoothUUID, permissions: AttributePermissions = .read,
        content: AttributeDatabase.Attribute.Content,
        lengths: ClosedRange<Int> = 0...AttributeProtocol.maximumAttributeValueLength
    ) throws(AttributeDatabaseError) -> Int {
        if let explicit {
            guard explicit != .none, Int(explicit.rawValue) >= next else { throw obstacle(at: explicit) }
            next = Int(explicit.rawValue)
            automatic = []
            isAnyHandleNamed = true
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
                content: content, isAnsweredByProgram: content == .dynamic))
        return attributes.count - 1
    }

    /// The service that an include declaration refers to; nil where it is missing or includes itself.
    private func service(for include: Include, among all: [Service]) -> Service? {
        switch include.service {
        case .uuid(let uuid): all.first { $0.uuid == uuid && $0.handles.start != include.owner }
        case .declared(let handle): all.first { $0.handles.start == handle && handle != include.owner }
        case .position(let position):
            services.dropFirst(max(0, position)).first.flatMap {
                position < 0 || $0.handles.start == include.owner ? nil : $0
            }
        }
    }

    /// Completes the include declarations; returns the added attributes and their layout.
    mutating func finish(
        extending database: AttributeDatabase
    ) throws(AttributeDatabaseError) -> ([AttributeDatabase.Attribute], [DatabaseLayout.Service]) {
        guard !includes.isEmpty else { return (attributes, layouts) }
        let earlier = database.attributes.compactMap { declaration in
            declaration.declaredService.map { Service(uuid: $0, handles: declaration.group) }
        }
        for include in includes {
            guard let included = service(for: include, among: earlier + services) else {
                throw .includedServiceNotFound(include.service)
            }
            // Only a 16-bit UUID fits into the declaration (Core Vol 3 Part G §3.2).
            let uuid = included.uuid.uint16.map { encoded($0) } ?? []
            attributes[include.position].content = .stored(
                encoded(included.handles.start) + encoded(included.handles.end) + uuid)
        }
        return (attributes, layouts)
    }
}

func encoded(_ value: UInt16) -> [UInt8] {
    encoded { (writer) throws(BufferFull) in try writer.write(value) }
}

func encoded(_ handle: AttributeHandle) -> [UInt8] {
    encoded(handle.rawValue)
}

/// A UUID in a declaration: 16 bits where it has a 16-bit form, otherwise 128.
func encoded(_ uuid: BluetoothUUID) -> [UInt8] {
    encoded { (writer) throws(BufferFull) in
        try writer.write(attributeType: uuid)
    }
}

/// The bytes of one field, at most those of a 128-bit UUID.
private func encoded(_ field: (inout ByteWriter) throws(BufferFull) -> Void) -> [UInt8] {
    var writer = ByteWriter(capacity: BluetoothUUID.Width.bits128.byteCount)
    try? field(&writer)
    return writer.bytes
}
