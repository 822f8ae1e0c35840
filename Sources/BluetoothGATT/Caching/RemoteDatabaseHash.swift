import BluetoothATT
import BluetoothPrimitives

/// A read of the Database Hash without its handle: Read Using Characteristic UUID over all handles
/// (Core Vol 3 Part G §7.3).
///
/// The result is nil when the server has no hash or does not let it be read. A change-unaware client may send this
/// request.
public struct DatabaseHashRead: ClientProcedure {
    /// A read of the hash, wherever it is.
    public init() {}

    /// Writes the Read By Type Request.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.readByTypeRequest(.all, type: .databaseHash), into: &writer)
    }

    /// Processes the response; a server has one hash, so the first value is the result.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<DatabaseHash?> {
        switch answer {
        case .readByTypeResponse(var list):
            guard let entry = list.next(), let hash = DatabaseHash([UInt8](entry.value)) else {
                throw .violation("a Database Hash without 16 bytes")
            }
            return .done(hash)
        case .errorResponse: return .done(nil)
        default: throw failure(answer)
        }
    }
}

extension DatabaseHash {
    /// Whether a server that sent this hash has exactly the database `services`, in either byte order.
    ///
    /// Also false when the hash depends on values that discovery does not read; see ``init(of:)``.
    public func isHash(of services: [RemoteService]) -> Bool { isSame(as: DatabaseHash(of: services)) }

    /// The hash of a server whose complete database is `services`.
    ///
    /// It differs from the server's when that has values which discovery does not read, such as extended properties, or
    /// sends short UUIDs in 128 bits. Equal hashes prove that the database is complete.
    public init(of services: [RemoteService]) {
        var declarations: [(handle: AttributeHandle, type: BluetoothUUID, value: [UInt8])] = []
        func declare(_ handle: AttributeHandle, _ type: BluetoothUUID, _ value: [UInt8]) {
            declarations.append((handle, type, value))
        }
        for service in services {
            let type: BluetoothUUID = service.isPrimary ? .primaryService : .secondaryService
            declare(service.handles.start, type, encoded(service.uuid))
            for include in service.includedServices {
                let uuid = include.uuid.uint16.map { encoded($0) } ?? []
                let handles = encoded(include.handles.start) + encoded(include.handles.end)
                declare(include.declarationHandle, .include, handles + uuid)
            }
            for characteristic in service.characteristics {
                let value = encoded(characteristic.valueHandle) + encoded(characteristic.uuid)
                declare(
                    characteristic.declarationHandle, .characteristic, [characteristic.properties.rawValue] + value)
                for descriptor in characteristic.descriptors { declare(descriptor.handle, descriptor.uuid, []) }
            }
        }
        declarations.sort { $0.handle < $1.handle }
        var hashing = DatabaseHashing()
        for declaration in declarations {
            hashing.update(declaration.handle, type: declaration.type, value: declaration.value)
        }
        self = hashing.hash
    }
}
