import ATT
import BluetoothPrimitives

/// Discovers the whole database in the fewest PDUs: primary services, then all characteristics in one pass over the
/// handle range, then includes where the handles leave room for them, then those descriptors that do not follow from
/// the declarations.
///
/// - Includes stand between the declaration of their service and its first characteristic (Core Vol 3 Part G §3.1),
///   so that a server which has none, and leaves no handles free there, is not asked.
/// - Secondary services exist to be included, so they are found by the includes and not asked for. What lies in them
///   is discovered like what lies in the others.
/// - Characteristics that lie in no service are left out, as is an include of a service that overlaps another one: the
///   server contradicts itself.
public struct DatabaseDiscovery: ClientProcedure {
    private enum Phase: Sendable {
        case services
        case characteristics
        case includes
        /// Asking for the descriptors of one characteristic.
        case descriptors(service: Int, characteristic: Int)
    }

    private var phase = Phase.services
    // Apart from the phase, so that what they have found grows in place.
    private var serviceDiscovery = ServiceDiscovery()
    private var characteristicDiscovery = CharacteristicDiscovery(in: .all)
    private var includeDiscovery = IncludedServiceDiscovery(in: .all)
    private var descriptorDiscovery = DescriptorDiscovery(in: .all)
    /// What has been found, in the order of the handles.
    private var services: [RemoteService] = []
    /// The one range that has been searched for characteristics, and what is still to be searched at its ends.
    private var searched: AttributeHandleRange?
    private var unsearched: [AttributeHandleRange] = []
    /// Characteristics in no service known so far.
    private var strays: [RemoteCharacteristic] = []
    /// The services that have not been searched for includes, by their first handles.
    private var newServices: Set<AttributeHandle> = []

    /// A discovery that begins at the first handle.
    public init() {}

    /// Writes the request of the phase the discovery is in.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        switch phase {
        case .services: try serviceDiscovery.writeRequest(into: &writer)
        case .characteristics: try characteristicDiscovery.writeRequest(into: &writer)
        case .includes: try includeDiscovery.writeRequest(into: &writer)
        case .descriptors: try descriptorDiscovery.writeRequest(into: &writer)
        }
    }

    /// Takes the answer; the result has every primary service and every secondary one that is included, each with all
    /// that lies in it.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch phase {
        case .services:
            guard case .done(let found) = try serviceDiscovery.receive(answer) else { return .next }
            services = found
            newServices = Set(found.map(\.handles.start))
            return askForCharacteristics()

        case .characteristics:
            guard case .done(let found) = try characteristicDiscovery.receive(answer) else { return .next }
            assign(found)
            return goOn()

        case .includes:
            guard case .done(let found) = try includeDiscovery.receive(answer) else { return .next }
            return takeIncludes(found)

        case .descriptors(let service, let characteristic):
            guard case .done(let found) = try descriptorDiscovery.receive(answer) else { return .next }
            services[service].characteristics[characteristic].descriptors = found
            return askForDescriptors(from: (service, characteristic + 1))
        }
    }
}

// MARK: Characteristics

extension DatabaseDiscovery {
    /// Searches the new services for characteristics, in one pass each below and above what has been searched.
    ///
    /// Only those count that have room for one, which takes two handles besides the service's own.
    private mutating func askForCharacteristics() -> ProcedureStep<[RemoteService]> {
        let roomy = services.filter { newServices.contains($0.handles.start) && $0.handles.count > 2 }.map(\.handles)
        if let searched {
            let below = roomy.first { $0.end < searched.start }
            if let start = below?.start, let end = searched.start.previous {
                unsearched.append(AttributeHandleRange(start: start, end: end))
                self.searched?.start = start
            }
            let above = roomy.last { $0.start > searched.end }
            if let end = above?.end, let start = searched.end.next {
                unsearched.append(AttributeHandleRange(start: start, end: end))
                self.searched?.end = end
            }
        } else if let first = roomy.first, let last = roomy.last {
            let range = AttributeHandleRange(start: first.start, end: last.end)
            unsearched.append(range)
            searched = range
        }
        return goOn()
    }

    /// Searches what is left to be searched for characteristics, then for includes.
    private mutating func goOn() -> ProcedureStep<[RemoteService]> {
        guard let range = unsearched.popLast() else { return askForIncludes() }
        characteristicDiscovery = CharacteristicDiscovery(in: range)
        phase = .characteristics
        return .next
    }

    /// Gives each characteristic to the service it lies in. The last of a service ends with it, not with the next
    /// declaration.
    private mutating func assign(_ found: [RemoteCharacteristic]) {
        var service = services.startIndex
        for var characteristic in found {
            while service < services.endIndex, services[service].handles.end < characteristic.declarationHandle {
                service += 1
            }
            guard service < services.endIndex,
                services[service].handles.contains(characteristic.declarationHandle)
            else {
                strays.append(characteristic)
                continue
            }
            let range = services[service].handles
            guard characteristic.declarationHandle > range.start, characteristic.valueHandle <= range.end else {
                continue
            }
            characteristic.endHandle = min(characteristic.endHandle, range.end)
            services[service].characteristics.append(characteristic)
        }
    }
}

// MARK: Includes

extension DatabaseDiscovery {
    /// Searches the new services for includes, all in one pass, where there are handles between the service's
    /// declaration and its first characteristic's.
    private mutating func askForIncludes() -> ProcedureStep<[RemoteService]> {
        var places: [AttributeHandleRange] = []
        for service in services where newServices.contains(service.handles.start) {
            let end = service.characteristics.first?.declarationHandle.previous ?? service.handles.end
            if let start = service.handles.start.next, start <= end {
                places.append(AttributeHandleRange(start: start, end: end))
            }
        }
        newServices = []
        guard !places.isEmpty else { return askForDescriptors(from: (0, 0)) }
        includeDiscovery = IncludedServiceDiscovery(in: places, knowing: services)
        phase = .includes
        return .next
    }

    /// Gives each include to the service it lies in, and goes on with the secondary services that came to light.
    private mutating func takeIncludes(_ found: [RemoteIncludedService]) -> ProcedureStep<[RemoteService]> {
        var secondary: [RemoteService] = []
        var service = services.startIndex
        for include in found {
            while service < services.endIndex, services[service].handles.end < include.declarationHandle {
                service += 1
            }
            guard service < services.endIndex, services[service].handles.contains(include.declarationHandle) else {
                continue
            }
            // The walk from one new service to another passes over what is known.
            if let last = services[service].includedServices.last, last.declarationHandle >= include.declarationHandle {
                continue
            }
            if let place = place(of: include.handles, in: services),
                let new = self.place(of: include.handles, in: secondary)
            {
                if case .free = place, case .free(let index) = new {
                    secondary.insert(
                        RemoteService(uuid: include.uuid, handles: include.handles, isPrimary: false), at: index)
                }
                services[service].includedServices.append(include)
            }
        }
        guard !secondary.isEmpty else { return askForDescriptors(from: (0, 0)) }
        services = (services + secondary).sorted { $0.handles.start < $1.handles.start }
        newServices = Set(secondary.map(\.handles.start))
        // What was searched above came before what was searched below.
        let unassigned = strays.sorted { $0.declarationHandle < $1.declarationHandle }
        strays = []
        assign(unassigned)
        return askForCharacteristics()
    }

    private enum Place {
        /// A service begins at the same handle.
        case taken
        /// No service is there; where one would have to be put in.
        case free(Int)
    }

    /// What is known at `range` among services that ascend, or nil when one overlaps it.
    private func place(of range: AttributeHandleRange, in services: [RemoteService]) -> Place? {
        var (low, high) = (services.startIndex, services.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if services[middle].handles.end < range.start { low = middle + 1 } else { high = middle }
        }
        guard low < services.endIndex, services[low].handles.start <= range.end else { return .free(low) }
        return services[low].handles.start == range.start ? .taken : nil
    }
}

// MARK: Descriptors

extension DatabaseDiscovery {
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
