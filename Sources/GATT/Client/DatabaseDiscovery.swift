import ATT
import BluetoothPrimitives

/// Discovers the whole database in the fewest PDUs: services, then all characteristics in one pass over the handle
/// range, then those descriptors that do not follow from the declarations.
///
/// Characteristics that do not lie within a primary service are left out: they are a secondary service's, or the
/// server contradicts itself.
public struct DatabaseDiscovery: ClientProcedure {
    private enum Phase: Sendable {
        case services
        case characteristics
        /// Asking for the descriptors of one characteristic.
        case descriptors(service: Int, characteristic: Int)
    }

    private var phase = Phase.services
    // Apart from the phase, so that what they have found grows in place.
    private var serviceDiscovery = ServiceDiscovery()
    private var characteristicDiscovery = CharacteristicDiscovery(in: .all)
    private var descriptorDiscovery = DescriptorDiscovery(in: .all)
    private var services: [RemoteService] = []

    /// A discovery that begins at the first handle.
    public init() {}

    /// Writes the request of the phase the discovery is in.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        switch phase {
        case .services: try serviceDiscovery.writeRequest(into: &writer)
        case .characteristics: try characteristicDiscovery.writeRequest(into: &writer)
        case .descriptors: try descriptorDiscovery.writeRequest(into: &writer)
        }
    }

    /// Takes the answer; the result has every primary service with all that lies in it.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch phase {
        case .services:
            guard case .done(let found) = try serviceDiscovery.receive(answer) else { return .next }
            services = found
            guard let range = searchedRange else { return .done(services) }
            characteristicDiscovery = CharacteristicDiscovery(in: range)
            phase = .characteristics
            return .next

        case .characteristics:
            guard case .done(let found) = try characteristicDiscovery.receive(answer) else { return .next }
            assign(found)
            return askForDescriptors(from: (service: 0, characteristic: 0))

        case .descriptors(let service, let characteristic):
            guard case .done(let found) = try descriptorDiscovery.receive(answer) else { return .next }
            services[service].characteristics[characteristic].descriptors = found
            return askForDescriptors(from: (service, characteristic + 1))
        }
    }

    /// From the first to the last service that has room for a characteristic, which takes two handles besides the
    /// service's own; nil when none has.
    private var searchedRange: AttributeHandleRange? {
        guard let first = services.first(where: { $0.handles.count > 2 }),
            let last = services.last(where: { $0.handles.count > 2 })
        else { return nil }
        return AttributeHandleRange(start: first.handles.start, end: last.handles.end)
    }

    /// Gives each characteristic to the service it lies in. The last of a service ends with it, not with the next
    /// declaration.
    private mutating func assign(_ found: [RemoteCharacteristic]) {
        var service = services.startIndex
        for var characteristic in found {
            while service < services.endIndex, services[service].handles.end < characteristic.declarationHandle {
                service += 1
            }
            guard service < services.endIndex else { return }
            let range = services[service].handles
            guard characteristic.declarationHandle > range.start, characteristic.valueHandle <= range.end else {
                continue
            }
            characteristic.endHandle = min(characteristic.endHandle, range.end)
            services[service].characteristics.append(characteristic)
        }
    }

    private mutating func askForDescriptors(
        from start: (service: Int, characteristic: Int)
    ) -> ProcedureStep<[RemoteService]> {
        var next = start.characteristic
        for service in services.indices[start.service...] {
            for index in services[service].characteristics.indices[next...] {
                let characteristic = services[service].characteristics[index]
                if let inferred = characteristic.inferredDescriptors {
                    services[service].characteristics[index].descriptors = inferred
                } else if let range = characteristic.descriptorRange {
                    descriptorDiscovery = DescriptorDiscovery(in: range)
                    phase = .descriptors(service: service, characteristic: index)
                    return .next
                }
            }
            next = 0
        }
        return .done(services)
    }
}
