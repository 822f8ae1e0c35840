import ATT
import BluetoothPrimitives

/// Discover All Primary Services (Core Vol 3 Part G §4.4.1), or all secondary ones the same way.
public struct ServiceDiscovery: ClientProcedure {
    private var walk = HandleWalk(.all)
    private let type: BluetoothUUID
    private var services: [RemoteService] = []

    /// A discovery of all services whose declaration has the given type.
    public init(type: BluetoothUUID = .primaryService) {
        self.type = type
    }

    /// Writes a Read By Group Type Request for what lies behind the last service found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.readByGroupTypeRequest(walk.checkedRange(), groupType: type), into: &writer)
    }

    /// Takes the answer; the result is all services in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch answer {
        case .readByGroupTypeResponse(let list):
            var list = list
            while let entry = list.next() {
                try walk.advance(over: entry.range.start, to: entry.range.end)
                let uuid = try serviceUUID(entry.value)
                services.append(
                    RemoteService(uuid: uuid, handles: entry.range, isPrimary: type == .primaryService))
            }
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        case .errorResponse(let error) where error.code == .unsupportedGroupType && type != .primaryService:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? .done(services) : .next
    }

    private func serviceUUID(_ value: RawSpan) throws(TransactionFailure) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(attributeValue: value) else {
            throw .violation("a service declaration with a UUID of \(value.byteCount) bytes")
        }
        return uuid
    }
}

/// Discover Primary Service by Service UUID (Core Vol 3 Part G §4.4.2).
public struct ServiceDiscoveryByUUID: ClientProcedure {
    private var walk = HandleWalk(.all)
    private let uuid: BluetoothUUID
    private var services: [RemoteService] = []

    /// A discovery of all primary services with the given UUID.
    public init(uuid: BluetoothUUID) {
        self.uuid = uuid
    }

    /// Writes a Find By Type Value Request for what lies behind the last service found.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        var value = ByteWriter(capacity: 16)
        do {
            // A 32-bit UUID has no form of its own in an attribute value.
            try value.write(uuid, width: uuid.shortestWidth == .bits16 ? .bits16 : .bits128)
        } catch {
            throw .invalid("\(error)")
        }
        try encode(
            .findByTypeValueRequest(walk.checkedRange(), type: 0x2800, value: value.bytes.span.bytes), into: &writer)
    }

    /// Takes the answer; the result is all services with the UUID in the order of their handles.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<[RemoteService]> {
        switch answer {
        case .findByTypeValueResponse(let list):
            var list = list
            while let range = list.next() {
                try walk.advance(over: range.start, to: range.end)
                services.append(RemoteService(uuid: uuid, handles: range))
            }
        case .errorResponse(let error) where error.code == .attributeNotFound:
            walk.end()
        default: throw failure(answer)
        }
        return walk.isAtEnd ? .done(services) : .next
    }
}

extension BluetoothUUID {
    /// A UUID as it stands in an attribute's value: two or sixteen bytes.
    init?(attributeValue value: RawSpan) {
        var reader = ByteReader(value)
        let width: Width
        switch value.byteCount {
        case 2: width = .bits16
        case 16: width = .bits128
        default: return nil
        }
        guard let uuid = try? reader.readUUID(width) else { return nil }
        self = uuid
    }
}
