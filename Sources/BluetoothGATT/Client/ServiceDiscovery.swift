import BluetoothATT
import BluetoothPrimitives

/// Discover All Primary Services and Discover Primary Service by Service UUID (Core Vol 3 Part G §4.4.1, §4.4.2).
///
/// The start of a service is certain, since its declaration is there; its end is the server's claim.
public struct ServiceDiscovery: ClientProcedure {
    private let uuid: BluetoothUUID?
    private let type: BluetoothUUID
    private let isFirstOnly: Bool
    private var walk = HandleWalk(.all)
    /// The services found so far, in the order of their handles.
    private(set) var services: [RemoteService] = []
    /// The invalid declarations.
    public private(set) var problems: [DatabaseProblem] = []
    /// The handles of the last service in the response.
    private var last: AttributeHandleRange?

    /// A discovery of all primary services, or of the services with a UUID and declaration type, all or, with
    /// `isFirstOnly`, those of the first response with any.
    package init(uuid: BluetoothUUID? = nil, type: BluetoothUUID = .primaryService, isFirstOnly: Bool = false) {
        (self.uuid, self.type, self.isFirstOnly) = (uuid, type, isFirstOnly && uuid != nil)
    }

    /// The range of the next request.
    var remaining: AttributeHandleRange { walk.range }

    /// Writes a Read By Group Type Request, or a Find By Type Value Request, for the handles after the last service
    /// found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        let range = try walk.checkedRange()
        guard let uuid else { return try encode(.readByGroupTypeRequest(range, groupType: type), into: &writer) }
        try encode(
            .findByTypeValueRequest(range, type: type.uint16 ?? 0x2800, value: encoded(uuid).span.bytes), into: &writer)
    }

    /// Processes the response; the result is all services in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch answer {
        case .readByGroupTypeResponse(var list) where uuid == nil:
            while let entry = list.next() { add(entry.range, BluetoothUUID(attributeValue: entry.value)) }
            endOfAnswer()
        case .findByTypeValueResponse(var list) where uuid != nil:
            while let range = list.next() { add(range, uuid) }
            endOfAnswer()
        case .errorResponse(let error)
        where error.code == .attributeNotFound || type != .primaryService && error.code != .databaseOutOfSync:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd || isFirstOnly && !services.isEmpty ? .done(services) : .next
    }

    private mutating func add(_ range: AttributeHandleRange, _ uuid: BluetoothUUID?) {
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
    private mutating func endOfAnswer() {
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
