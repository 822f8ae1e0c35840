import BluetoothATT
import BluetoothPrimitives

/// Discover All Primary Services (Core Vol 3 Part G §4.4.1).
public struct ServiceDiscovery: ClientProcedure {
    private var gathering = ServiceGathering(type: .primaryService)

    /// A discovery of all primary services.
    public init() {}

    /// The services found so far, in the order of their handles.
    var services: [RemoteService] { gathering.services }
    /// The invalid declarations.
    public var problems: [DatabaseProblem] { gathering.problems }
    /// The range of the next request.
    var remaining: AttributeHandleRange { gathering.walk.range }

    /// Writes a Read By Group Type Request for the handles after the last service found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.readByGroupTypeRequest(gathering.walk.checkedRange(), groupType: gathering.type), into: &writer)
    }

    /// Processes the response; the result is all services in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch answer {
        case .readByGroupTypeResponse(let list):
            var list = list
            while let entry = list.next() { gathering.add(entry.range, BluetoothUUID(attributeValue: entry.value)) }
            gathering.endOfAnswer()
        case .errorResponse(let error) where error.code == .attributeNotFound:
            gathering.walk.end()
        default: throw failure(answer)
        }
        return gathering.walk.isAtEnd ? .done(gathering.services) : .next
    }
}

/// Discover Primary Service by Service UUID (Core Vol 3 Part G §4.4.2).
public struct ServiceDiscoveryByUUID: ClientProcedure {
    private var gathering: ServiceGathering
    private let uuid: BluetoothUUID
    private let isFirstOnly: Bool

    /// A discovery of all primary services with the given UUID.
    public init(uuid: BluetoothUUID) {
        self.init(uuid: uuid, type: .primaryService)
    }

    /// A discovery of the services with a UUID and declaration type, all or those of the first response with any.
    package init(uuid: BluetoothUUID, type: BluetoothUUID = .primaryService, isFirstOnly: Bool = false) {
        (gathering, self.uuid, self.isFirstOnly) = (ServiceGathering(type: type), uuid, isFirstOnly)
    }

    /// The services found so far, in the order of their handles.
    var services: [RemoteService] { gathering.services }

    /// The invalid declarations.
    public var problems: [DatabaseProblem] { gathering.problems }

    /// Writes a Find By Type Value Request for the handles after the last service found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        var value = ByteWriter(capacity: 16)
        do {
            // An attribute value has no 32-bit UUIDs.
            try value.write(uuid, width: uuid.shortestWidth == .bits16 ? .bits16 : .bits128)
        } catch {
            throw .invalid("\(error)")
        }
        try encode(
            .findByTypeValueRequest(
                gathering.walk.checkedRange(), type: gathering.type.uint16 ?? 0x2800, value: value.bytes.span.bytes),
            into: &writer)
    }

    /// Processes the response; the result is all services with the UUID in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch answer {
        case .findByTypeValueResponse(let list):
            var list = list
            while let range = list.next() { gathering.add(range, uuid) }
            gathering.endOfAnswer()
        case .errorResponse(let error)
        where error.code == .attributeNotFound
            || gathering.type != .primaryService && error.code != .databaseOutOfSync:
            gathering.walk.end()
        default: throw failure(answer)
        }
        let isDone = gathering.walk.isAtEnd || isFirstOnly && !services.isEmpty
        return isDone ? .done(services) : .next
    }
}

/// The valid services in the responses.
///
/// The start of a service is certain, since its declaration is there; its end is the server's claim.
private struct ServiceGathering: Sendable {
    let type: BluetoothUUID
    var walk = HandleWalk(.all)
    private(set) var services: [RemoteService] = []
    private(set) var problems: [DatabaseProblem] = []
    /// The handles of the last service in the response.
    private var last: AttributeHandleRange?

    init(type: BluetoothUUID) { self.type = type }

    mutating func add(_ range: AttributeHandleRange, _ uuid: BluetoothUUID?) {
        func report(_ reason: DatabaseProblem.Reason) {
            problems.record(DatabaseProblem(reason, type, at: range.start, declared: range, uuid: uuid))
        }
        guard walk.range.contains(range.start), range.start > (last?.start ?? AttributeHandle.none) else {
            return report(.unexpectedHandle)
        }
        last = AttributeHandleRange(start: range.start, end: max(range.start, range.end))
        if let index = services.indices.last, services[index].handles.end >= range.start,
            let end = range.start.previous
        {
            let former = services[index]
            problems.record(
                DatabaseProblem(
                    .overlap, type, at: former.handles.start, declared: former.handles, uuid: former.uuid))
            services[index].handles.end = end
        }
        guard range.isValid else { return report(.invalidRange) }
        guard let uuid else { return report(.malformedValue) }
        services.append(RemoteService(uuid: uuid, handles: range, isPrimary: type == .primaryService))
    }

    /// Advances past the last service of the response.
    mutating func endOfAnswer() {
        if let last { walk.advance(behind: last.end) }
        last = nil
        walk.endOfAnswer()
    }
}

extension BluetoothUUID {
    /// A UUID in an attribute value: two or sixteen bytes.
    init?(attributeValue value: RawSpan) {
        var reader = ByteReader(value)
        guard let width = Width(rawValue: value.byteCount), width != .bits32,
            let uuid = try? reader.readUUID(width)
        else { return nil }
        self = uuid
    }
}
