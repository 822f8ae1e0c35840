import BluetoothATT
import BluetoothPrimitives

/// Find Included Services (Core Vol 3 Part G §4.5.1), over one or several services.
///
/// The declaration of an include has no 128-bit UUIDs: the discovery reads such a UUID from the included service's
/// declaration, once for each service, unless it is already known. An include whose service cannot be read is a
/// problem.
public struct IncludedServiceDiscovery: ClientProcedure {
    private struct Declaration: Sendable {
        var handle: AttributeHandle
        var service: AttributeHandleRange
        var uuid: BluetoothUUID?
    }

    private var walk: HandleWalk
    /// The ranges that can contain declarations, in ascending order; the iteration skips the handles between them.
    private var places: [AttributeHandleRange]
    /// The number of ranges already searched.
    private var passed = 0
    /// The UUIDs of services by declaration handle; nil for one that cannot be read.
    private var uuids: [AttributeHandle: BluetoothUUID?]
    private var declarations: [Declaration] = []
    /// The invalid declarations.
    public private(set) var problems: [DatabaseProblem] = []
    /// The index of the declaration for which a service UUID is being read.
    private var reading: Int?

    /// A discovery of all includes declared in `range`, such as ``RemoteService/handles``.
    ///
    /// - Parameter services: The services already known, whose UUIDs need no request.
    public init(in range: AttributeHandleRange, knowing services: [RemoteService] = []) {
        self.init(in: [range], knowing: services)
    }

    /// A discovery of all includes in `places`, which are in ascending order and do not overlap.
    init(in places: [AttributeHandleRange], knowing services: [RemoteService]) {
        self.places = places
        walk = HandleWalk(Self.range(of: places))
        uuids = [:]
        for service in services where uuids[service.handles.start] == nil { addKnown(service) }
    }

    private static func range(of places: [AttributeHandleRange]) -> AttributeHandleRange {
        AttributeHandleRange(
            start: places.first?.start ?? AttributeHandle.none, end: places.last?.end ?? AttributeHandle.none)
    }

    /// Restarts in other ranges, with the service UUIDs known so far.
    mutating func begin(in places: [AttributeHandleRange]) {
        self.places = places
        walk = HandleWalk(Self.range(of: places))
        passed = 0
        declarations = []
        problems = []
    }

    /// Reserves room for the UUIDs of `count` services.
    mutating func reserveCapacity(_ count: Int) { uuids.reserveCapacity(count) }

    /// Adds a service whose UUID needs no request.
    mutating func addKnown(_ service: RemoteService) { uuids[service.handles.start] = service.uuid }

    /// The range of the next request.
    var remaining: AttributeHandleRange { walk.range }

    /// The includes found so far, in the order of their declarations.
    var includes: [RemoteIncludedService] {
        declarations.compactMap { declaration in
            declaration.uuid.map {
                RemoteIncludedService(uuid: $0, handles: declaration.service, declarationHandle: declaration.handle)
            }
        }
    }

    /// Writes a Read By Type Request for the handles after the last include found, then Read Requests for UUIDs.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        if let reading {
            try encode(.readRequest(declarations[reading].service.start), into: &writer)
        } else {
            try encode(.readByTypeRequest(walk.checkedRange(), type: .include), into: &writer)
        }
    }

    /// Processes the response; the result is all includes in the order of their declarations.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteIncludedService]> {
        if let reading {
            try receiveUUID(answer, of: declarations[reading].service.start)
            return nextUnknown(from: reading)
        }
        switch answer {
        case .readByTypeResponse(var list):
            while let entry = list.next() { add(entry.handle, entry.value) }
            walk.endOfAnswer()
            skip()
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? nextUnknown(from: 0) : .next
    }

    private mutating func add(_ handle: AttributeHandle, _ value: RawSpan) {
        guard walk.advance(over: handle) else {
            return problems.record(DatabaseProblem(.unexpectedHandle, .include, at: handle))
        }
        var reader = ByteReader(value)
        guard let service = try? reader.readHandleRange() else {
            return problems.record(DatabaseProblem(.malformedValue, .include, at: handle))
        }
        let uuid = BluetoothUUID(attributeValue: reader.readRemaining())
        let isWellFormed = uuid != nil || value.byteCount == 4
        guard isWellFormed, service.isValid else {
            let reason = isWellFormed ? DatabaseProblem.Reason.invalidRange : .malformedValue
            return problems.record(DatabaseProblem(reason, .include, at: handle, declared: service, uuid: uuid))
        }
        declarations.append(Declaration(handle: handle, service: service, uuid: uuid))
    }

    /// Skips to the next range that can contain declarations.
    private mutating func skip() {
        guard !walk.isAtEnd else { return }
        while passed < places.count, places[passed].end < walk.range.start { passed += 1 }
        guard passed < places.count else { return walk.end() }
        walk.skip(to: places[passed].start)
    }

    /// Continues with the first include whose service UUID is unknown.
    private mutating func nextUnknown(from start: Int) -> ProcedureStep<[RemoteIncludedService]> {
        for index in declarations.indices[start...] where declarations[index].uuid == nil {
            let declaration = declarations[index]
            guard let known = uuids[declaration.service.start] else {
                reading = index
                return .next
            }
            declarations[index].uuid = known
            if known == nil {
                problems.record(
                    DatabaseProblem(.unreadable, .include, at: declaration.handle, declared: declaration.service))
            }
        }
        reading = nil
        return .done(includes)
    }

    private mutating func receiveUUID(
        _ answer: ATTServerPDU, of service: AttributeHandle
    ) throws(TransactionFailure) {
        switch answer {
        case .readResponse(let value): uuids.updateValue(BluetoothUUID(attributeValue: value), forKey: service)
        case .errorResponse: uuids.updateValue(nil, forKey: service)
        default: throw failure(answer)
        }
    }
}
