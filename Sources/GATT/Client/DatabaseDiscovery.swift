import ATT
import BluetoothPrimitives

/// Discovers the whole database in the fewest PDUs: services, then all characteristics in one pass over the handle
/// range, then those descriptors that do not follow from the declarations.
public struct DatabaseDiscovery: ClientProcedure {
    private enum Phase: Sendable {
        case services(ServiceDiscovery)
        case characteristics(CharacteristicDiscovery)
        /// Asking for the descriptors of the characteristic at an index of ``characteristics``.
        case descriptors(DescriptorDiscovery, of: Int)
    }

    private var phase = Phase.services(ServiceDiscovery())
    private var services: [RemoteService] = []
    private var characteristics: [RemoteCharacteristic] = []

    /// A discovery that begins at the first handle.
    public init() {}

    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        switch phase {
        case .services(var procedure): try procedure.writeRequest(into: &writer)
        case .characteristics(var procedure): try procedure.writeRequest(into: &writer)
        case .descriptors(var procedure, _): try procedure.writeRequest(into: &writer)
        }
    }

    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch phase {
        case .services(var procedure):
            guard case .done(let found) = try procedure.receive(answer) else {
                phase = .services(procedure)
                return .next
            }
            services = found
            guard let first = found.first, let last = found.last else { return .done([]) }
            phase = .characteristics(
                CharacteristicDiscovery(
                    in: AttributeHandleRange(start: first.handles.start, end: last.handles.end)))
            return .next

        case .characteristics(var procedure):
            guard case .done(let found) = try procedure.receive(answer) else {
                phase = .characteristics(procedure)
                return .next
            }
            characteristics = found
            limitToServices()
            return askForDescriptors(from: 0)

        case .descriptors(var procedure, let index):
            guard case .done(let found) = try procedure.receive(answer) else {
                phase = .descriptors(procedure, of: index)
                return .next
            }
            characteristics[index].descriptors = found
            return askForDescriptors(from: index + 1)
        }
    }

    /// The last characteristic of a service ends with its service, not with the next declaration.
    private mutating func limitToServices() {
        var service = services.startIndex
        for index in characteristics.indices {
            let handle = characteristics[index].declarationHandle
            while service < services.endIndex - 1, handle > services[service].handles.end { service += 1 }
            characteristics[index].endHandle = min(characteristics[index].endHandle, services[service].handles.end)
        }
    }

    private mutating func askForDescriptors(from start: Int) -> ProcedureStep<[RemoteService]> {
        for index in characteristics.indices[start...] {
            if let inferred = characteristics[index].inferredDescriptors {
                characteristics[index].descriptors = inferred
            } else if let range = characteristics[index].descriptorRange {
                phase = .descriptors(DescriptorDiscovery(in: range), of: index)
                return .next
            }
        }
        return .done(assembled())
    }

    private func assembled() -> [RemoteService] {
        var services = services
        var rest = characteristics[...]
        for index in services.indices {
            let range = services[index].handles
            while let next = rest.first, next.declarationHandle <= range.end {
                if next.declarationHandle >= range.start { services[index].characteristics.append(next) }
                rest = rest.dropFirst()
            }
        }
        return services
    }
}
