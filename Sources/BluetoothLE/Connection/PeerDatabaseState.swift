import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The cached state of the peer's database, and the followers of its changes.
///
/// Created with the first discovery, so that a connection without one does not carry it.
struct PeerDatabaseState {
    /// The discovered database; nil before discovery and after a change.
    private(set) var services: [RemoteService]?
    /// The inconsistencies found when ``services`` were discovered.
    private(set) var problems: [DatabaseProblem] = []
    /// ``services`` in their public form.
    var database: RemoteDatabase? { services.map { RemoteDatabase(services: $0, problems: problems) } }
    /// The hash of ``services``.
    var hash: DatabaseHash?
    /// The number of changes, each of which invalidates ``services``.
    private(set) var changeCount: UInt64 = 0
    /// The ranges that have changed since the last discovery.
    private var changed: [AttributeHandleRange] = []
    /// The database before the change.
    private var former: [RemoteService] = []
    /// The value handle of Service Changed.
    private(set) var serviceChanged: AttributeHandle?
    /// Whether this client has requested change indications.
    var isFollowed = false
    /// The configuration descriptor with which the peer has confirmed the request.
    var followedConfiguration: AttributeHandle?
    var changes = Broadcaster<AttributeHandleRange>()

    /// Stores the discovered database.
    mutating func discovered(
        _ services: [RemoteService], problems: [DatabaseProblem] = [], hash: DatabaseHash? = nil
    ) {
        self.services = services
        self.problems = problems
        self.hash = hash
        changed = []
        former = []
        serviceChanged = Self.genericAttribute(.serviceChanged, in: services)?.valueHandle
    }

    /// Invalidates the database after a change in `range`.
    mutating func changed(in range: AttributeHandleRange) {
        changeCount &+= 1
        if let services { former = services }
        services = nil
        hash = nil
        // Many changes are treated as a change of the whole database, so that a hostile peer cannot fill memory.
        if changed.count < 16 { changed.append(range) } else { changed = [.all] }
        changes.send(range)
    }

    /// Returns whether an attribute may have changed since its discovery. Called for every operation, so it is cheap
    /// while nothing has changed.
    func isStale(_ handle: AttributeHandle, _ type: BluetoothUUID?) -> Bool {
        guard changeCount > 0 else { return false }
        if changed.contains(where: { $0.contains(handle) }) { return true }
        guard let type, let services else { return false }
        return Self.type(of: handle, in: services) != type
    }

    /// Returns the handles whose attribute was discovered before the change and is different or missing after it.
    func gone(among handles: [AttributeHandle], from former: [RemoteService]) -> [AttributeHandle] {
        guard let services else { return [] }
        return handles.filter { handle in
            guard let before = Self.type(of: handle, in: former) else { return false }
            return before != Self.type(of: handle, in: services)
        }
    }

    /// The database before the change; empty without one.
    var formerServices: [RemoteService] { former }

    private static func type(of handle: AttributeHandle, in services: [RemoteService]) -> BluetoothUUID? {
        for service in services where service.handles.contains(handle) {
            for characteristic in service.characteristics {
                if characteristic.valueHandle == handle { return characteristic.uuid }
                if let descriptor = characteristic.descriptors.first(where: { $0.handle == handle }) {
                    return descriptor.uuid
                }
            }
        }
        return nil
    }

    /// A characteristic of the Generic Attribute service.
    static func genericAttribute(_ uuid: BluetoothUUID, in services: [RemoteService]) -> RemoteCharacteristic? {
        services.first { $0.uuid == .genericAttribute }?.characteristics.first { $0.uuid == uuid }
    }

    mutating func finish(_ reason: BluetoothError) { changes.finish(reason) }
}

/// A client procedure without a waiting caller.
final class BackgroundProcedure<Procedure: ClientProcedure>: ClientTransaction {
    private var procedure: Procedure
    private var output: Procedure.Output?
    private let completion: (Result<Procedure.Output, TransactionFailure>) -> Void

    init(_ procedure: Procedure, _ completion: @escaping (Result<Procedure.Output, TransactionFailure>) -> Void) {
        self.procedure = procedure
        self.completion = completion
    }

    var isAbandoned: Bool { false }

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try procedure.writeRequest(into: &writer)
    }

    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep {
        guard case .done(let output) = try procedure.receive(answer) else { return .next }
        self.output = output
        return .done
    }

    func stop() -> TransactionStep { procedure.stop() ? .next : .done }

    func end(_ failure: TransactionFailure?) {
        if let failure { completion(.failure(failure)) } else if let output { completion(.success(output)) }
    }
}
