import BluetoothATT
import BluetoothPrimitives

/// Discovers the whole database in the fewest PDUs: primary services, then all characteristics in one pass over the
/// handle range, then includes where the handles leave room for them, then those descriptors that do not follow from
/// the declarations.
///
/// - Includes stand between the declaration of their service and its first characteristic (Core Vol 3 Part G §3.1),
///   so that a server which has none, and leaves no handles free there, is not asked.
/// - Secondary services exist to be included, so they are found by the includes and not asked for. What lies in them
///   is discovered like what lies in the others.
/// - Characteristics outside all services are left out: they belong to secondary services that no service includes.
/// - Each invalid declaration is a ``DatabaseProblem``, and everything else is found nevertheless.
/// - It ends after ``requestLimit`` requests with what it has; its time is linear in what the server sends.
public struct DatabaseDiscovery: ClientProcedure {
    /// The default limit of requests: about ten times what a large database takes at the minimum ATT_MTU.
    public static let requestLimit = 4096

    private enum Phase: Sendable {
        case services
        case characteristics
        case includes
        /// Asking for the descriptors of one characteristic.
        case descriptors(Position)
    }

    /// A characteristic, when the services are gone through in the order of their handles.
    private struct Position: Sendable {
        var service = 0
        var characteristic = 0

        var next: Position { Position(service: service, characteristic: characteristic + 1) }
    }

    private var phase = Phase.services
    // Apart from the phase, so that what they have found grows in place.
    private var serviceDiscovery = ServiceDiscovery()
    private var characteristicDiscovery = CharacteristicDiscovery(in: .all)
    private var includeDiscovery = IncludedServiceDiscovery(in: [], knowing: [])
    private var descriptorDiscovery = DescriptorDiscovery(in: .all)
    private var services = KnownServices()
    /// The one range that has been searched for characteristics, and what is still to be searched at its ends.
    private var searched: AttributeHandleRange?
    private var unsearched: [AttributeHandleRange] = []
    /// Characteristics in no service known so far, by their declarations.
    private var strays: [AttributeHandle: RemoteCharacteristic] = [:]
    /// The services that have not been searched for includes, in the order of their handles.
    private var newServices: [Int] = []
    private let limit: Int
    private var requestCount = 0
    /// The problems found so far.
    public private(set) var problems: [DatabaseProblem] = []
    private var reported: Set<DatabaseProblem> = []

    /// A discovery that begins at the first handle.
    ///
    /// - Parameter requestLimit: the number of requests after which it ends with what it has found.
    public init(requestLimit: Int = DatabaseDiscovery.requestLimit) {
        limit = requestLimit
    }

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
    ) throws(TransactionFailure) -> ProcedureStep<RemoteDatabase> {
        requestCount += 1
        if try take(answer) {
            if requestCount < limit { return .next }
            giveUp()
        }
        return .done(RemoteDatabase(services: services.inOrder, problems: problems))
    }

    /// Takes the answer; returns whether there is more to ask.
    private mutating func take(_ answer: ATTServerPDU) throws(TransactionFailure) -> Bool {
        switch phase {
        case .services:
            guard case .done(let found) = try serviceDiscovery.receive(answer) else { return true }
            add(found)
            return askForCharacteristics()
        case .characteristics:
            guard case .done(let found) = try characteristicDiscovery.receive(answer) else { return true }
            assign(found)
            return goOn()
        case .includes:
            guard case .done(let found) = try includeDiscovery.receive(answer) else { return true }
            assign(found)
            return newServices.isEmpty ? askForDescriptors() : askForCharacteristics()
        case .descriptors(let position):
            guard case .done(let found) = try descriptorDiscovery.receive(answer) else { return true }
            assign(found, at: position)
            return askForDescriptors(from: position.next)
        }
    }

    /// Ends where it is, with what has been found.
    private mutating func giveUp() {
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
        case .descriptors(let last):
            next = (.characteristic, descriptorDiscovery.remaining)
            assign(descriptorDiscovery.descriptors, at: last)
            position = last.next
        }
        problems.append(DatabaseProblem(.tooManyRequests, next.type, at: next.range.start))
        // Those that follow from declarations need no request.
        while askForDescriptors(from: position), case .descriptors(let unasked) = phase { position = unasked.next }
    }

    private mutating func report(_ found: [DatabaseProblem]) {
        // Passes over includes may meet the same ones again.
        for problem in found where !problems.isFull && reported.insert(problem).inserted { problems.append(problem) }
    }
}

// MARK: Services and characteristics

extension DatabaseDiscovery {
    /// Takes in primary services.
    private mutating func add(_ found: [RemoteService]) {
        report(serviceDiscovery.problems)
        services.reserveCapacity(found.count)
        newServices.reserveCapacity(found.count)
        includeDiscovery.reserveCapacity(found.count)
        for service in found {
            newServices.append(services.insert(service))
            includeDiscovery.know(service)
        }
    }

    /// Searches the new services for characteristics, in one pass each below and above what has been searched.
    ///
    /// Only those count that have room for one, which takes two handles besides the service's own.
    private mutating func askForCharacteristics() -> Bool {
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
        return goOn()
    }

    /// Searches what is left to be searched for characteristics, then for includes.
    private mutating func goOn() -> Bool {
        guard let range = unsearched.popLast() else { return askForIncludes() }
        characteristicDiscovery = CharacteristicDiscovery(in: range)
        phase = .characteristics
        return true
    }

    /// Gives each characteristic to the service it lies in.
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

    /// The last characteristic of a service ends with it, not with the next declaration.
    private mutating func assign(_ found: RemoteCharacteristic, to service: Int) {
        let range = services.list[service].handles
        guard found.declarationHandle > range.start else { return report([DatabaseProblem(.misplaced, found)]) }
        guard found.valueHandle <= range.end else { return report([DatabaseProblem(.valueOutside, found)]) }
        var characteristic = found
        characteristic.endHandle = min(found.endHandle, range.end)
        services.list[service].characteristics.append(characteristic)
    }

    /// Gives a service that has just come to light what was found in it before.
    private mutating func claimStrays(for service: Int) {
        guard !strays.isEmpty, let range = services.list[service].handles.closedRange else { return }
        // No two services share a handle, so that all of them together have 65,535 at most.
        for number in range.lowerBound.rawValue...range.upperBound.rawValue {
            if let stray = strays.removeValue(forKey: AttributeHandle(number)) { assign(stray, to: service) }
        }
    }
}

// MARK: Includes

extension DatabaseDiscovery {
    /// Searches the new services for includes, all in one pass, where there are handles between the service's
    /// declaration and its first characteristic's.
    private mutating func askForIncludes() -> Bool {
        let places = newServices.compactMap { index -> AttributeHandleRange? in
            let service = services.list[index]
            let end = service.characteristics.first?.declarationHandle.previous ?? service.handles.end
            guard let start = service.handles.start.next, start <= end else { return nil }
            return AttributeHandleRange(start: start, end: end)
        }
        newServices = []
        guard !places.isEmpty else { return askForDescriptors() }
        includeDiscovery.begin(in: places)
        phase = .includes
        return true
    }

    /// Gives each include to the service it lies in, and takes in the secondary services that come to light.
    private mutating func assign(_ found: [RemoteIncludedService]) {
        report(includeDiscovery.problems)
        let known = services.count
        for include in found {
            guard let service = services.index(containing: include.declarationHandle), service < known else {
                continue
            }
            // The walk from one new service to another passes over what is known.
            if let last = services.list[service].includedServices.last,
                last.declarationHandle >= include.declarationHandle
            {
                continue
            }
            switch services.vacancy(of: include.handles) {
            case .taken: break
            case .free:
                let secondary = RemoteService(uuid: include.uuid, handles: include.handles, isPrimary: false)
                let index = services.insert(secondary)
                newServices.append(index)
                includeDiscovery.know(secondary)
                claimStrays(for: index)
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
    /// Goes through the characteristics from the given one, in the order of their handles, to the first that the server
    /// has to be asked about.
    private mutating func askForDescriptors(from start: Position = Position()) -> Bool {
        var position = start
        while position.service < services.order.count {
            let service = Int(services.order[position.service].index)
            guard position.characteristic < services.list[service].characteristics.count else {
                position = Position(service: position.service + 1)
                continue
            }
            let characteristic = services.list[service].characteristics[position.characteristic]
            if let inferred = characteristic.inferredDescriptors {
                services.list[service].characteristics[position.characteristic].descriptors = inferred
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

// MARK: What is known

/// The services known so far, in the order in which they came to light, and where they are.
private struct KnownServices: Sendable {
    /// A service's handles, and which one it is. Small, so that putting one in between costs little.
    struct Place: Sendable {
        var start: AttributeHandle
        var end: AttributeHandle
        var index: Int32
    }

    enum Vacancy {
        /// A service begins at the same handle.
        case taken
        /// No service has any of the handles.
        case free
        /// A service has some of them and begins elsewhere.
        case overlaps
    }

    var list: [RemoteService] = []
    /// Where they are, ascending.
    private(set) var order: [Place] = []

    var count: Int { list.count }

    var inOrder: [RemoteService] {
        // Those that were asked for come so; only what is included may lie before them.
        if zip(order, list.indices).allSatisfy({ Int($0.index) == $1 }) { return list }
        return order.map { list[Int($0.index)] }
    }

    mutating func reserveCapacity(_ count: Int) {
        list.reserveCapacity(count)
        order.reserveCapacity(count)
    }

    /// Has room for the characteristics of a service, which are the first of `found`.
    mutating func reserve(_ found: ArraySlice<RemoteCharacteristic>, in service: Int) {
        guard list[service].characteristics.isEmpty else { return }
        let end = list[service].handles.end
        list[service].characteristics.reserveCapacity(found.prefix { $0.declarationHandle <= end }.count)
    }

    /// The service in which `handle` lies.
    func index(containing handle: AttributeHandle) -> Int? {
        let place = firstPlace(notBefore: handle)
        guard place < order.endIndex, order[place].start <= handle else { return nil }
        return Int(order[place].index)
    }

    func vacancy(of range: AttributeHandleRange) -> Vacancy {
        let place = firstPlace(notBefore: range.start)
        guard place < order.endIndex, order[place].start <= range.end else { return .free }
        return order[place].start == range.start ? .taken : .overlaps
    }

    /// Takes in a service whose handles are free; says which one it is.
    mutating func insert(_ service: RemoteService) -> Int {
        let index = list.count
        list.append(service)
        let range = service.handles
        // There are no more services than handles.
        let place = Place(start: range.start, end: range.end, index: Int32(truncatingIfNeeded: index))
        order.insert(place, at: firstPlace(notBefore: range.start))
        return index
    }

    /// The first that does not end before `handle`.
    private func firstPlace(notBefore handle: AttributeHandle) -> Int {
        var (low, high) = (order.startIndex, order.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if order[middle].end < handle { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
