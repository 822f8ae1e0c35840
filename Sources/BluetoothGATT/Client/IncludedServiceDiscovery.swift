import BluetoothATT
import BluetoothPrimitives

/// Find Included Services (Core Vol 3 Part G §4.5.1), over one service or over several at once.
///
/// A UUID of 128 bits does not stand in the declaration: it is read from the included service's own declaration, once
/// for each service, unless it is known already. An include whose service the server does not let be read is a problem.
public struct IncludedServiceDiscovery: ClientProcedure {
    private struct Declaration: Sendable {
        var handle: AttributeHandle
        var service: AttributeHandleRange
        var uuid: BluetoothUUID?
    }

    private var walk: HandleWalk
    /// Where declarations can be, in ascending order; the walk passes over what lies between.
    private var places: [AttributeHandleRange]
    /// How many places the walk has behind it.
    private var passed = 0
    /// The UUIDs of services by the handles of their declarations; nil for one that cannot be read.
    private var uuids: [AttributeHandle: BluetoothUUID?]
    private var declarations: [Declaration] = []
    /// Declarations that cannot be true.
    public private(set) var problems: [DatabaseProblem] = []
    /// The declaration whose service's UUID is being read.
    private var reading: Int?

    /// A discovery of all includes declared in `range`, such as ``RemoteService/handles``.
    ///
    /// - Parameter services: those known already, whose UUIDs need not be read.
    public init(in range: AttributeHandleRange, knowing services: [RemoteService] = []) {
        self.init(in: [range], knowing: services)
    }

    /// A discovery of all includes declared in any of `places`, which ascend and do not overlap, in one walk.
    init(in places: [AttributeHandleRange], knowing services: [RemoteService]) {
        self.places = places
        walk = HandleWalk(Self.range(of: places))
        uuids = Dictionary(services.map { ($0.handles.start, $0.uuid) }, uniquingKeysWith: { first, _ in first })
    }

    private static func range(of places: [AttributeHandleRange]) -> AttributeHandleRange {
        AttributeHandleRange(
            start: places.first?.start ?? AttributeHandle.none, end: places.last?.end ?? AttributeHandle.none)
    }

    /// Begins anew in other places, with what it knows of services.
    mutating func begin(in places: [AttributeHandleRange]) {
        self.places = places
        walk = HandleWalk(Self.range(of: places))
        passed = 0
        declarations = []
        problems = []
    }

    /// Has room for the UUIDs of so many services.
    mutating func reserveCapacity(_ count: Int) { uuids.reserveCapacity(count) }

    /// Takes in that the UUID of a service need not be read.
    mutating func know(_ service: RemoteService) { uuids[service.handles.start] = service.uuid }

    /// What the next request asks for.
    var remaining: AttributeHandleRange { walk.range }

    /// What has been found so far, in the order of the declarations.
    var includes: [RemoteIncludedService] {
        declarations.compactMap { declaration in
            declaration.uuid.map {
                RemoteIncludedService(uuid: $0, handles: declaration.service, declarationHandle: declaration.handle)
            }
        }
    }

    /// Writes a Read By Type Request for what lies behind the last include found, then Read Requests for UUIDs.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        if let reading {
            try encode(.readRequest(declarations[reading].service.start), into: &writer)
        } else {
            try encode(.readByTypeRequest(walk.checkedRange(), type: .include), into: &writer)
        }
    }

    /// Takes the answer; the result is all includes in the order of their declarations.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteIncludedService]> {
        if let reading {
            try receiveUUID(answer, of: declarations[reading].service.start)
            return nextUnknown(from: reading)
        }
        switch answer {
        case .readByTypeResponse(let list):
            var list = list
            while let entry = list.next() { take(entry.handle, entry.value) }
            walk.endOfAnswer()
            skip()
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? nextUnknown(from: 0) : .next
    }

    private mutating func take(_ handle: AttributeHandle, _ value: RawSpan) {
        guard walk.advance(over: handle) else {
            problems.note(DatabaseProblem(.unexpectedHandle, .include, at: handle))
            return
        }
        var reader = ByteReader(value)
        guard let start = try? reader.readUInt16(), let end = try? reader.readUInt16() else {
            problems.note(DatabaseProblem(.malformedValue, .include, at: handle))
            return
        }
        let service = AttributeHandleRange(start: AttributeHandle(start), end: AttributeHandle(end))
        let uuid = BluetoothUUID(attributeValue: reader.readRemaining())
        let isWellFormed = uuid != nil || value.byteCount == 4
        guard isWellFormed, service.isValid else {
            problems.note(
                DatabaseProblem(
                    isWellFormed ? .invalidRange : .malformedValue, .include, at: handle, declared: service, uuid: uuid)
            )
            return
        }
        declarations.append(Declaration(handle: handle, service: service, uuid: uuid))
    }

    /// Goes on at the next place where a declaration can be.
    private mutating func skip() {
        guard !walk.isAtEnd else { return }
        while passed < places.count, places[passed].end < walk.range.start { passed += 1 }
        guard passed < places.count else { return walk.end() }
        walk.skip(to: places[passed].start)
    }

    /// Goes on to the first include whose service's UUID is not known.
    private mutating func nextUnknown(from start: Int) -> ProcedureStep<[RemoteIncludedService]> {
        for index in declarations.indices[start...] where declarations[index].uuid == nil {
            let declaration = declarations[index]
            guard let known = uuids[declaration.service.start] else {
                reading = index
                return .next
            }
            declarations[index].uuid = known
            if known == nil {
                problems.note(
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
