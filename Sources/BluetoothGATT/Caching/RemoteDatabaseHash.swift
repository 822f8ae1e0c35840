import BluetoothATT
import BluetoothPrimitives

/// Reads the Database Hash wherever it is: Read Using Characteristic UUID over all handles (Core Vol 3 Part G §7.3).
///
/// Its result is nil when the server has none, or none that can be read. A client whose knowledge of the database is
/// old is let do this.
public struct DatabaseHashRead: ClientProcedure {
    /// A read that does not know any handle.
    public init() {}

    /// Writes the Read By Type Request.
    public mutating func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try encode(.readByTypeRequest(.all, type: .databaseHash), into: &writer)
    }

    /// Takes the answer; a server may have one hash only, so the first is it.
    public mutating func receive(
        _ answer: ATTServerPDU
    ) throws(TransactionFailure) -> ProcedureStep<DatabaseHash?> {
        switch answer {
        case .readByTypeResponse(var list):
            guard let entry = list.next(), let hash = DatabaseHash([UInt8](entry.value)) else {
                throw .violation("a Database Hash that is not sixteen bytes long")
            }
            return .done(hash)
        case .errorResponse: return .done(nil)
        default: throw failure(answer)
        }
    }
}

extension DatabaseHash {
    /// Whether a server that sent this hash has the whole database `services`, in whichever order it sends its bytes.
    ///
    /// False also where the hash depends on what discovery does not tell; see ``init(of:)``.
    public func isHash(of services: [RemoteService]) -> Bool { isSame(as: DatabaseHash(of: services)) }

    /// The hash that a server has whose whole database is `services`.
    ///
    /// It comes out differently for a server that declares what discovery does not tell: extended properties, or short
    /// UUIDs in their long form. The same hash proves that nothing was overlooked.
    public init(of services: [RemoteService]) {
        var declarations: [(handle: AttributeHandle, type: BluetoothUUID, value: [UInt8])] = []
        for service in services {
            declarations.append(
                (
                    service.handles.start, service.isPrimary ? .primaryService : .secondaryService,
                    encoded(service.uuid)
                ))
            for include in service.includedServices {
                let uuid = include.uuid.uint16.map { encoded($0) } ?? []
                declarations.append(
                    (
                        include.declarationHandle, .include,
                        encoded(include.handles.start) + encoded(include.handles.end) + uuid
                    ))
            }
            for characteristic in service.characteristics {
                declarations.append(
                    (
                        characteristic.declarationHandle, .characteristic,
                        [characteristic.properties.rawValue] + encoded(characteristic.valueHandle)
                            + encoded(characteristic.uuid)
                    ))
                for descriptor in characteristic.descriptors {
                    declarations.append((descriptor.handle, descriptor.uuid, []))
                }
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
