import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// What a connection knows of its peer's database, and who wants to know when it changes.
///
/// Made when the database is first asked for, so that a connection that needs none of it does not carry it.
struct KnownDatabase {
    /// The database as it is as far as is known; nil before it is discovered and after it has changed.
    private(set) var services: [RemoteService]?
    /// What in ``services`` could not be true when they were discovered.
    private(set) var problems: [DatabaseProblem] = []
    /// ``services`` as a program gets them.
    var database: RemoteDatabase? { services.map { RemoteDatabase(services: $0, problems: problems) } }
    /// The hash of ``services``.
    var hash: DatabaseHash?
    /// Counts what makes ``services`` invalid.
    private(set) var changeCount: UInt64 = 0
    /// What has changed and not been discovered since.
    private var changed: [AttributeHandleRange] = []
    /// The database before the change.
    private var former: [RemoteService] = []
    /// Where Service Changed is indicated.
    private(set) var serviceChanged: AttributeHandle?
    /// Whether the peer has been asked to tell of changes.
    var isFollowed = false
    /// Where the peer has been asked, and has agreed.
    var followedConfiguration: AttributeHandle?
    var changes = Broadcaster<AttributeHandleRange>()

    /// Takes note of the database as it is now.
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

    /// Takes note that the database is another in `range`.
    mutating func changed(in range: AttributeHandleRange) {
        changeCount &+= 1
        if let services { former = services }
        services = nil
        hash = nil
        // A peer that tells of change after change has changed in all.
        if changed.count < 16 { changed.append(range) } else { changed = [.all] }
        changes.send(range)
    }

    /// Whether the attribute may not be any more what the caller takes it for. Asked for every call, so it costs nothing
    /// as long as nothing has changed.
    func isStale(_ handle: AttributeHandle, _ type: BluetoothUUID?) -> Bool {
        guard changeCount > 0 else { return false }
        if changed.contains(where: { $0.contains(handle) }) { return true }
        guard let type, let services else { return false }
        return Self.type(of: handle, in: services) != type
    }

    /// Which of `handles` were discovered before the change and are something else, or nothing, after it.
    func gone(among handles: [AttributeHandle], from former: [RemoteService]) -> [AttributeHandle] {
        guard let services else { return [] }
        return handles.filter { handle in
            guard let before = Self.type(of: handle, in: former) else { return false }
            return before != Self.type(of: handle, in: services)
        }
    }

    /// The database before it changed; empty when it has not.
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

/// A client procedure nobody waits for.
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
