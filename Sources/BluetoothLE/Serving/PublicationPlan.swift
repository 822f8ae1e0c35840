import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives

/// The validation of definitions, and their translation into the attribute server's terms.
struct PublicationPlan {
    /// The services in the server's terms, in their order.
    private(set) var services: [GATTService] = []
    private let definitions: [LocalService]

    /// The reason why a definition cannot be published.
    struct Problem: Error {
        let message: String
    }

    /// Creates a plan to publish `definitions`; `published` returns the handles of services published earlier.
    init(_ definitions: [LocalService], published: (DefinitionID) -> AttributeHandle?) throws(Problem) {
        self.definitions = definitions
        try checkIdentities()
        for service in definitions {
            var included: [IncludedService] = []
            for inclusion in service.includedServices {
                included.append(try reference(inclusion, from: service, published))
            }
            var characteristics: [GATTCharacteristic] = []
            for characteristic in service.characteristics {
                characteristics.append(try Self.characteristic(characteristic))
            }
            services.append(
                GATTService(
                    service.uuid, isPrimary: service.isPrimary, includedServices: included,
                    characteristics: characteristics, handle: service.handle, endHandle: service.endHandle))
        }
    }

    /// The published definitions at the handles that the server has assigned.
    func definitions(at layout: DatabaseLayout, on loop: EventLoop) -> PublishedDefinitions {
        var handles: [DefinitionID: AttributeHandle] = [:]
        var values: [AttributeHandle: PublishedDefinitions.Value] = [:]
        for (service, serviceLayout) in zip(definitions, layout.services) {
            handles[service.id] = serviceLayout.handles.start
            for (characteristic, own) in zip(service.characteristics, serviceLayout.characteristics) {
                handles[characteristic.id] = own.value
                values[own.value] = PublishedDefinitions.Value(
                    characteristic.id, characteristic.uuid, characteristic.handlers, characteristic.value,
                    characteristic.valueLengths)
                for (descriptor, handle) in zip(characteristic.descriptors, own.descriptors) {
                    handles[descriptor.id] = handle
                    values[handle] = PublishedDefinitions.Value(
                        descriptor.id, descriptor.uuid, descriptor.handlers, descriptor.value,
                        descriptor.valueLengths)
                }
            }
        }
        return PublishedDefinitions(handles: handles, values: values, on: loop)
    }

    /// Throws if a definition occurs twice: one reference could not address both.
    private func checkIdentities() throws(Problem) {
        var known: Set<DefinitionID> = []
        func check(_ id: DefinitionID, _ name: @autoclosure () -> String) throws(Problem) {
            guard known.insert(id).inserted else {
                throw Problem(message: "\(name()) occurs twice. Define it twice to publish two of it.")
            }
        }
        for service in definitions {
            try check(service.id, "Service \(service.uuid)")
            for characteristic in service.characteristics {
                try check(characteristic.id, "Characteristic \(characteristic.uuid)")
                for descriptor in characteristic.descriptors {
                    try check(descriptor.id, "Descriptor \(descriptor.uuid)")
                }
            }
        }
    }

    private func reference(
        _ inclusion: IncludedDefinition, from service: LocalService, _ published: (DefinitionID) -> AttributeHandle?
    ) throws(Problem) -> IncludedService {
        switch inclusion {
        case .first(let uuid): return .uuid(uuid)
        case .definition(let id, let uuid):
            if let position = definitions.firstIndex(where: { $0.id == id }) {
                guard !includes(service.id, in: id) else {
                    throw Problem(message: "Services \(service.uuid) and \(uuid) include each other.")
                }
                return .position(position)
            }
            if let handle = published(id) { return .declared(at: handle) }
            throw Problem(
                message: "Service \(service.uuid) includes a service \(uuid) that is not published. "
                    + "Publish it before or in the same call.")
        }
    }

    /// Whether a service includes another, directly or through further ones. A cycle would make clients close their
    /// bearers (Core Vol 3 Part G §4.5.1).
    private func includes(_ id: DefinitionID, in owner: DefinitionID) -> Bool {
        var (pending, seen): ([DefinitionID], Set<DefinitionID>) = ([owner], [])
        while let next = pending.popLast() {
            if next == id { return true }
            guard seen.insert(next).inserted else { continue }
            for inclusion in definitions.first(where: { $0.id == next })?.includedServices ?? [] {
                if case .definition(let included, _) = inclusion { pending.append(included) }
            }
        }
        return false
    }

    private static func characteristic(_ definition: LocalCharacteristic) throws(Problem) -> GATTCharacteristic {
        let name = "Characteristic \(definition.uuid)"
        try check(definition.handlers, definition.permissions, name)
        var descriptors: [GATTDescriptor] = []
        for descriptor in definition.descriptors {
            try check(descriptor.handlers, descriptor.permissions, "Descriptor \(descriptor.uuid)")
            descriptors.append(
                GATTDescriptor(
                    descriptor.uuid, permissions: descriptor.permissions,
                    value: try value(
                        descriptor.value, descriptor.handlers, descriptor.valueLengths,
                        "Descriptor \(descriptor.uuid)"),
                    valueLengths: descriptor.valueLengths, handle: descriptor.handle))
        }
        return GATTCharacteristic(
            definition.uuid, properties: definition.properties, extendedProperties: definition.extendedProperties,
            permissions: definition.permissions,
            value: try value(definition.value, definition.handlers, definition.valueLengths, name),
            valueLengths: definition.valueLengths, descriptors: descriptors, handle: definition.handle)
    }

    private static func value(
        _ stored: [UInt8]?, _ handlers: ValueHandlers, _ lengths: ClosedRange<Int>, _ name: String
    ) throws(Problem) -> AttributeValue {
        guard let stored else { return .dynamic }
        guard lengths.contains(stored.count) else {
            throw Problem(
                message: "\(name) has a value of \(stored.count) bytes, but its valueLengths are \(lengths).")
        }
        return handlers.isEmpty ? .stored(stored) : .dynamic
    }

    /// Throws if a handler can never be called.
    private static func check(
        _ handlers: ValueHandlers, _ permissions: AttributePermissions, _ name: String
    ) throws(Problem) {
        if handlers.read != nil, !permissions.contains(.read) {
            throw Problem(message: "\(name) has a read handler, but its permissions do not contain read.")
        }
        if handlers.write != nil, !permissions.contains(.write) {
            throw Problem(message: "\(name) has a write handler, but its permissions do not contain write.")
        }
    }
}
