import BluetoothATT
import BluetoothPrimitives

/// Discovery of the complete database with the fewest PDUs: primary services, then all characteristics in one pass over
/// the handle range, then includes where the handles leave room for them, then the configurations, which are found by
/// their type, then the other descriptors.
///
/// - Includes precede the first characteristic of their service (Core Vol 3 Part G §3.1). A service without free
///   handles there has none and needs no request.
/// - Secondary services are found through the includes, without requests of their own. Their contents are discovered
///   like those of primary services.
/// - Characteristics outside all services are left out: they belong to secondary services that no service includes.
/// - Each invalid declaration becomes a ``DatabaseProblem``; discovery continues with the rest.
/// - Discovery ends with the results so far after ``requestLimit`` requests. Its time is linear in the size of the
///   responses.
public struct DatabaseDiscovery: ClientProcedure {
    /// The default limit of requests, about ten times that of a large database at the minimum ATT_MTU.
    public static let requestLimit = 4096

    private enum Phase: Sendable {
        case services
        case characteristics
        case includes
        /// Where the declarations leave room for a Client Characteristic Configuration and nothing else.
        case configurations
        /// The descriptors of one characteristic.
        case descriptors(Position)
    }

    /// The position of a characteristic in the order of the services' handles.
    private struct Position: Sendable {
        var service = 0
        var characteristic = 0

        var next: Position { Position(service: service, characteristic: characteristic + 1) }
    }

    private var phase = Phase.services
    // Stored apart from the phase, so that their results grow in place.
    private var serviceDiscovery = ServiceDiscovery()
    private var characteristicDiscovery = CharacteristicDiscovery(in: .all)
    private var includeDiscovery = IncludedServiceDiscovery(in: [], knowing: [])
    /// The handles of the configurations that the server has shown.
    private var configurations: Set<AttributeHandle> = []
    private var descriptorDiscovery = DescriptorDiscovery(in: .all)
    private var services = FoundServices()
    /// The contiguous range already searched for characteristics, and the remaining ranges at its ends.
    private var searched: AttributeHandleRange?
    private var unsearched: [AttributeHandleRange] = []
    /// The characteristics outside all services found so far, by declaration handle.
    private var strays: [AttributeHandle: RemoteCharacteristic] = [:]
    /// The services not yet searched for includes, in the order of their handles.
    private var newServices: [Int] = []
    /// The services with one handle besides their declaration that have not been searched for characteristics.
    private var narrowServices: [Int] = []
    private let limit: Int
    private var requestCount = 0
    /// The problems found so far.
    public private(set) var problems: [DatabaseProblem] = []
    private var reported: Set<DatabaseProblem> = []

    /// A discovery from the first handle on.
    ///
    /// - Parameter requestLimit: The number of requests after which the discovery ends with the results so far.
    public init(requestLimit: Int = DatabaseDiscovery.requestLimit) {
        limit = requestLimit
    }

    /// Writes the request of the current phase.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        switch phase {
        case .services: try serviceDiscovery.writeRequest(into: &writer)
        case .characteristics: try characteristicDiscovery.writeRequest(into: &writer)
        case .includes: try includeDiscovery.writeRequest(into: &writer)
        case .configurations, .descriptors: try descriptorDiscovery.writeRequest(into: &writer)
        }
    }

    /// Processes the response; the result has all primary services and all included secondary services, with their
    /// contents.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<RemoteDatabase> {
        requestCount += 1
        if try process(answer) {
            if requestCount < limit { return .next }
            endAtLimit()
        }
        return .done(RemoteDatabase(services: services.inOrder, problems: problems))
    }

    /// Processes the response; returns whether another request follows.
    private mutating func process(_ answer: ATTServerPDU) throws(TransactionFailure) -> Bool {
        switch phase {
        case .services:
            guard case .done(let found) = try serviceDiscovery.receive(answer) else { return true }
            add(found)
            return searchForCharacteristics()
        case .characteristics:
            guard case .done(let found) = try characteristicDiscovery.receive(answer) else { return true }
            assign(found)
            return searchRemainingRanges()
        case .includes:
            guard case .done(let found) = try includeDiscovery.receive(answer) else { return true }
            assign(found)
            return newServices.isEmpty ? searchNarrowServices() : searchForCharacteristics()
        case .configurations:
            guard case .done(let found) = try descriptorDiscovery.receive(answer) else { return true }
            report(descriptorDiscovery.problems)
            configurations = Set(found.lazy.map { $0.handle })
            return searchForDescriptors()
        case .descriptors(let position):
            guard case .done(let found) = try descriptorDiscovery.receive(answer) else { return true }
            assign(found, at: position)
            return searchForDescriptors(from: position.next)
        }
    }

    /// Ends the discovery with the results so far.
    private mutating func endAtLimit() {
        let next: (type: BluetoothUUID, range: AttributeHandleRange)
        var position = Position()
        switch phase {
        case .services:
            next = (.primaryService, serviceDiscovery.remaining)
            add(serviceDiscovery.services)
        case .characteristics:
            next = (.characteristic, characteristicDiscovery.remaining)
            assign(characteristicDiscovery.characteristics)
        case .includes:
            next = (.include, includeDiscovery.remaining)
            assign(includeDiscovery.includes)
        case .configurations:
            next = (.clientCharacteristicConfiguration, descriptorDiscovery.remaining)
            configurations = Set(descriptorDiscovery.descriptors.lazy.map { $0.handle })
        case .descriptors(let last):
            next = (.characteristic, descriptorDiscovery.remaining)
            assign(descriptorDiscovery.descriptors, at: last)
            position = last.next
        }
        problems.append(DatabaseProblem(.tooManyRequests, next.type, at: next.range.start))
        // The configurations that were found need no request.
        while searchForDescriptors(from: position), case .descriptors(let unasked) = phase { position = unasked.next }
    }

    private mutating func report(_ found: [DatabaseProblem]) {
        // Repeated passes over includes can find the same problem again.
        for problem in found where !problems.isFull && reported.insert(problem).inserted { problems.append(problem) }
    }
}

// MARK: Services and characteristics

extension DatabaseDiscovery {
    /// Adds primary services.
    private mutating func add(_ found: [RemoteService]) {
        report(serviceDiscovery.problems)
        services.reserveCapacity(found.count)
        newServices.reserveCapacity(found.count)
        includeDiscovery.reserveCapacity(found.count)
        for service in found {
            newServices.append(services.insert(service))
            includeDiscovery.addKnown(service)
        }
    }

    /// Searches the new services for characteristics, in one pass each below and above the range already searched.
    ///
    /// Services without room for a characteristic, which takes two handles besides the service declaration, are left
    /// out: they have an include, or are searched after the includes.
    private mutating func searchForCharacteristics() -> Bool {
        let roomy = newServices.map { services.list[$0].handles }.filter { $0.count > 2 }
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
        return searchRemainingRanges()
    }

    /// Searches the remaining ranges for characteristics, then the new services for includes.
    private mutating func searchRemainingRanges() -> Bool {
        guard let range = unsearched.popLast() else { return searchForIncludes() }
        characteristicDiscovery = CharacteristicDiscovery(in: range)
        phase = .characteristics
        return true
    }

    /// Assigns each characteristic to the service that contains it.
    private mutating func assign(_ found: [RemoteCharacteristic]) {
        report(characteristicDiscovery.problems)
        var last: Int?
        for (position, characteristic) in found.enumerated() {
            guard let service = services.index(containing: characteristic.declarationHandle) else {
                strays[characteristic.declarationHandle] = characteristic
                continue
            }
            if service != last {
                services.reserve(found[position...], in: service)
                last = service
            }
            assign(characteristic, to: service)
        }
    }

    /// The service's end limits its last characteristic, whose end otherwise follows from the next declaration.
    private mutating func assign(_ found: RemoteCharacteristic, to service: Int) {
        let range = services.list[service].handles
        guard found.declarationHandle > range.start else { return report([DatabaseProblem(.misplaced, found)]) }
        guard found.valueHandle <= range.end else { return report([DatabaseProblem(.valueOutside, found)]) }
        var characteristic = found
        characteristic.endHandle = min(found.endHandle, range.end)
        services.list[service].characteristics.append(characteristic)
    }

    /// Assigns the stray characteristics in the handles of a newly found service to it.
    private mutating func assignStrays(for service: Int) {
        guard !strays.isEmpty, let range = services.list[service].handles.closedRange else { return }
        // Services do not overlap, so that these loops visit at most 65,535 handles in total.
        for number in range.lowerBound.rawValue...range.upperBound.rawValue {
            if let stray = strays.removeValue(forKey: AttributeHandle(number)) { assign(stray, to: service) }
        }
    }
}

// MARK: Includes

extension DatabaseDiscovery {
    /// Searches the new services for includes in one pass, where handles are free between the service declaration and
    /// the first characteristic.
    private mutating func searchForIncludes() -> Bool {
        let places = newServices.compactMap { index -> AttributeHandleRange? in
            let service = services.list[index]
            let end = service.characteristics.first?.declarationHandle.previous ?? service.handles.end
            guard let start = service.handles.start.next, start <= end else { return nil }
            return AttributeHandleRange(start: start, end: end)
        }
        narrowServices += newServices.filter { services.list[$0].handles.count == 2 }
        newServices = []
        guard !places.isEmpty else { return searchNarrowServices() }
        includeDiscovery.begin(in: places)
        phase = .includes
        return true
    }

    /// Searches the narrow services without an include for characteristics, whose values are outside; then for the
    /// configurations.
    private mutating func searchNarrowServices() -> Bool {
        for service in narrowServices.map({ services.list[$0] }) where service.includedServices.isEmpty {
            if searched?.contains(service.handles.start) != true { unsearched.append(service.handles) }
        }
        narrowServices = []
        return unsearched.isEmpty ? searchForConfigurations() : searchRemainingRanges()
    }

    /// Assigns each include to the service that contains it, and adds newly found secondary services.
    private mutating func assign(_ found: [RemoteIncludedService]) {
        report(includeDiscovery.problems)
        let known = services.count
        for include in found {
            guard let service = services.index(containing: include.declarationHandle), service < known else {
                continue
            }
            // The pass from one new service to the next also covers services already searched.
            if let last = services.list[service].includedServices.last,
                last.declarationHandle >= include.declarationHandle
            {
                continue
            }
            switch services.vacancy(of: include.handles) {
            case .occupied: break
            case .free:
                let secondary = RemoteService(uuid: include.uuid, handles: include.handles, isPrimary: false)
                let index = services.insert(secondary)
                newServices.append(index)
                includeDiscovery.addKnown(secondary)
                assignStrays(for: index)
            case .overlaps:
                report([
                    DatabaseProblem(
                        .overlap, .include, at: include.declarationHandle, declared: include.handles,
                        uuid: include.uuid)
                ])
                continue
            }
            services.list[service].includedServices.append(include)
        }
        newServices.sort { services.list[$0].handles.start < services.list[$1].handles.start }
    }
}

// MARK: Descriptors

extension DatabaseDiscovery {
    /// Searches for the expected configurations by their type, in one pass; a single one is asked for by its handle.
    private mutating func searchForConfigurations() -> Bool {
        var range: AttributeHandleRange?
        for place in services.order {
            for characteristic in services.list[Int(place.index)].characteristics {
                guard let handle = characteristic.expectedConfiguration else { continue }
                range = AttributeHandleRange(start: range?.start ?? handle, end: handle)
            }
        }
        guard let range, range.start < range.end else { return searchForDescriptors() }
        descriptorDiscovery = DescriptorDiscovery(in: range, type: .clientCharacteristicConfiguration)
        phase = .configurations
        return true
    }

    /// Advances from `start`, in the order of the handles, to the first characteristic whose descriptors need a
    /// request.
    private mutating func searchForDescriptors(from start: Position = Position()) -> Bool {
        var position = start
        while position.service < services.order.count {
            let service = Int(services.order[position.service].index)
            guard position.characteristic < services.list[service].characteristics.count else {
                position = Position(service: position.service + 1)
                continue
            }
            let characteristic = services.list[service].characteristics[position.characteristic]
            if let handle = characteristic.expectedConfiguration, configurations.contains(handle) {
                services.list[service].characteristics[position.characteristic].descriptors = [
                    RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: handle)
                ]
            } else if let range = characteristic.descriptorRange {
                descriptorDiscovery = DescriptorDiscovery(in: range)
                phase = .descriptors(position)
                return true
            }
            position = position.next
        }
        return false
    }

    private mutating func assign(_ found: [RemoteDescriptor], at position: Position) {
        report(descriptorDiscovery.problems)
        let service = Int(services.order[position.service].index)
        services.list[service].characteristics[position.characteristic].descriptors = found
    }
}
