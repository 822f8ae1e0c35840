import ATT
import BluetoothPrimitives

/// Find Included Services (Core Vol 3 Part G §4.5.1), over one service or over several at once.
///
/// A UUID of 128 bits does not stand in the declaration: it is read from the included service's own declaration, once
/// for each service, unless it is known already. An include whose service the server does not let be read is left out:
/// the server contradicts itself.
public struct IncludedServiceDiscovery: ClientProcedure {
    private struct Declaration: Sendable {
        var handle: AttributeHandle
        var service: AttributeHandleRange
        var uuid: BluetoothUUID?
    }

    private var walk: HandleWalk
    /// Where declarations can be, in ascending order; the walk passes over what lies between.
    private let places: [AttributeHandleRange]
    /// How many places the walk has behind it.
    private var passed = 0
    /// The UUIDs of services by the handles of their declarations; nil for one that cannot be read.
    private var uuids: [AttributeHandle: BluetoothUUID?]
    private var declarations: [Declaration] = []
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
        walk = HandleWalk(
            AttributeHandleRange(start: places.first?.start ?? .none, end: places.last?.end ?? .none))
        uuids = Dictionary(services.map { ($0.handles.start, $0.uuid) }, uniquingKeysWith: { first, _ in first })
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
            while let entry = list.next() {
                try walk.advance(over: entry.handle, to: entry.handle)
                declarations.append(try declaration(entry.handle, entry.value))
            }
            skip()
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? nextUnknown(from: 0) : .next
    }

    private func declaration(
        _ handle: AttributeHandle, _ value: RawSpan
    ) throws(TransactionFailure) -> Declaration {
        var reader = ByteReader(value)
        do {
            let start = AttributeHandle(try reader.readUInt16())
            let service = AttributeHandleRange(start: start, end: AttributeHandle(try reader.readUInt16()))
            let uuid = BluetoothUUID(attributeValue: reader.readRemaining())
            if service.isValid, uuid != nil || value.byteCount == 4 {
                return Declaration(handle: handle, service: service, uuid: uuid)
            }
        } catch {}
        throw .violation("an include at \(handle) with the value \([UInt8](value).hexadecimal)")
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
            if let known = uuids[declarations[index].service.start] {
                declarations[index].uuid = known
            } else {
                reading = index
                return .next
            }
        }
        return .done(
            declarations.compactMap { declaration in
                declaration.uuid.map {
                    RemoteIncludedService(
                        uuid: $0, handles: declaration.service, declarationHandle: declaration.handle)
                }
            })
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
