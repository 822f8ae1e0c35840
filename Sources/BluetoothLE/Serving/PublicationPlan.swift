import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// The validation of definitions, and their translation into the attribute server's terms.
struct PublicationPlan {
    /// The services in the server's terms, in their order.
    private(set) var services: [GATTService] = []
    private let definitions: [LocalService]
    private let operation: BluetoothError.Operation
    private var known: Set<DefinitionID> = []

    /// Creates a plan to publish `definitions`; `published` returns the handles of services published earlier.
    /// - Throws: `.invalidArgument` with the reason why a definition cannot be published.
    init(
        _ definitions: [LocalService], _ operation: BluetoothError.Operation,
        published: (DefinitionID) -> AttributeHandle?
    ) throws(BluetoothError) {
        self.definitions = definitions
        self.operation = operation
        for service in definitions {
            try check(service.id, "Service \(service.uuid)")
            var description = GATTService(
                service.uuid, isPrimary: service.isPrimary, handle: service.handle, endHandle: service.endHandle)
            for inclusion in service.includedServices {
                description.includedServices.append(try reference(inclusion, from: service, published))
            }
            for characteristic in service.characteristics {
                try check(characteristic)
                var definition = characteristic.definition
                definition.descriptors = characteristic.descriptors.map(\.definition)
                description.characteristics.append(definition)
            }
            services.append(description)
        }
    }

    private mutating func check(_ characteristic: LocalCharacteristic) throws(BluetoothError) {
        let definition = characteristic.definition
        try check(
            characteristic.id, "Characteristic \(definition.uuid)", characteristic.handlers, definition.permissions,
            definition.value, definition.valueLengths)
        if let periodic = characteristic.periodic {
            guard periodic.interval > .zero else {
                throw .invalidArgument(
                    operation, "Characteristic \(definition.uuid) has no interval between its values.")
            }
            guard !definition.properties.isDisjoint(with: [.notify, .indicate]) else {
                throw .invalidArgument(
                    operation,
                    "Characteristic \(definition.uuid) has a periodic value, but its properties contain neither notify "
                        + "nor indicate.")
            }
        }
        for descriptor in characteristic.descriptors {
            let definition = descriptor.definition
            try check(
                descriptor.id, "Descriptor \(definition.uuid)", descriptor.handlers, definition.permissions,
                definition.value, definition.valueLengths)
        }
    }

    /// Throws if a definition occurs twice, as one reference could not address both, if a handler can never be called,
    /// or if a stored value does not have one of its lengths.
    private mutating func check(
        _ id: DefinitionID, _ name: String, _ handlers: ValueHandlers = ValueHandlers(),
        _ permissions: AttributePermissions = [], _ value: AttributeValue = .dynamic,
        _ lengths: ClosedRange<Int> = 0...512
    ) throws(BluetoothError) {
        guard known.insert(id).inserted else {
            throw .invalidArgument(operation, "\(name) occurs twice. Define it twice to publish two of it.")
        }
        if handlers.read != nil, !permissions.contains(.read) {
            throw .invalidArgument(operation, "\(name) has a read handler, but its permissions do not contain read.")
        }
        if handlers.write != nil, !permissions.contains(.write) {
            throw .invalidArgument(operation, "\(name) has a write handler, but its permissions do not contain write.")
        }
        if let bytes = value.bytes, !lengths.contains(bytes.count) {
            throw .invalidArgument(
                operation, "\(name) has a value of \(bytes.count) bytes, but its valueLengths are \(lengths).")
        }
    }

    private func reference(
        _ inclusion: IncludedDefinition, from service: LocalService, _ published: (DefinitionID) -> AttributeHandle?
    ) throws(BluetoothError) -> IncludedService {
        switch inclusion {
        case .other(let service): return service
        case .definition(let id, let uuid):
            if let position = definitions.firstIndex(where: { $0.id == id }) {
                guard !includes(service.id, in: id) else {
                    throw .invalidArgument(operation, "Services \(service.uuid) and \(uuid) include each other.")
                }
                return .position(position)
            }
            if let handle = published(id) { return .declared(at: handle) }
            throw .invalidArgument(
                operation,
                "Service \(service.uuid) includes a service \(uuid) that is not published. "
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
}
