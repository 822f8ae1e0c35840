import BluetoothATT
import BluetoothLoop
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
    /// The database before the change; empty without one.
    private(set) var former: [RemoteService] = []
    /// The value handle of Service Changed.
    private(set) var serviceChanged: AttributeHandle?
    /// Whether this client has requested change indications.
    var isFollowed = false
    /// The configuration descriptor with which the peer has confirmed the request.
    var followedConfiguration: AttributeHandle?
    var changes = Broadcaster<AttributeHandleRange>()
    /// Whether ``services`` are those of an earlier link, and nothing on this one has proven them.
    private(set) var isRemembered = false
    /// Whether a call by UUID has looked for the stored database.
    var hasLookedInStore = false
    /// What the peer has shown on this link apart from a whole discovery.
    var shown = ShownAttributes()

    /// Stores the discovered database.
    mutating func discovered(
        _ services: [RemoteService], problems: [DatabaseProblem] = [], hash: DatabaseHash? = nil,
        isRemembered: Bool = false
    ) {
        self.services = services
        self.isRemembered = isRemembered
        shown = ShownAttributes()
        self.problems = problems
        self.hash = hash
        changed = []
        former = []
        serviceChanged =
            RemoteDatabase(services: services)
            .characteristic(.serviceChanged, in: .genericAttribute)?.valueHandle
    }

    /// Invalidates the database after a change in `range`.
    mutating func changed(in range: AttributeHandleRange) {
        changeCount &+= 1
        if let services { former = services }
        services = nil
        hash = nil
        isRemembered = false
        shown = ShownAttributes()
        // Many changes are treated as a change of the whole database, so that a hostile peer cannot fill memory.
        if changed.count < 16 { changed.append(range) } else { changed = [.all] }
        changes.send(range)
    }

    /// Returns whether an attribute may have changed since its discovery. Called for every operation, so it is cheap
    /// while nothing has changed.
    func isStale(_ handle: AttributeHandle, _ type: BluetoothUUID?) -> Bool {
        guard changeCount > 0 else { return false }
        if let now = shown.types[handle] { return type.map { $0 != now } ?? false }
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

    /// The type that an attribute had on an earlier link, and that the peer must show before a write; nil if there is
    /// nothing to ask.
    func unconfirmedType(of handle: AttributeHandle, _ type: BluetoothUUID?) -> BluetoothUUID? {
        guard isRemembered, let services, shown.types[handle] == nil else { return nil }
        return type ?? Self.type(of: handle, in: services)
    }

    private static func type(of handle: AttributeHandle, in services: [RemoteService]) -> BluetoothUUID? {
        let characteristic = RemoteDatabase(services: services).characteristic(containing: handle)
        if let characteristic, characteristic.valueHandle == handle { return characteristic.uuid }
        return characteristic?.descriptors.first { $0.handle == handle }?.uuid
    }

}

/// The attributes that the peer has shown on this link one by one, and an index of those that it has shown together.
struct ShownAttributes {
    /// The types of attributes by handle.
    var types: [AttributeHandle: BluetoothUUID] = [:]
    /// The configurations of characteristics by value handle; nil for one that has none.
    var configurations: [AttributeHandle: AttributeHandle?] = [:]
    /// The first characteristics with their UUIDs, by the UUIDs of their services.
    private var named: [BluetoothUUID: [BluetoothUUID: RemoteCharacteristic]] = [:]
    private var isIndexed = false

    /// The first characteristic with a UUID in a service with another: found in constant time, after the first look-up.
    mutating func characteristic(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, of services: [RemoteService]?
    ) -> RemoteCharacteristic? {
        if !isIndexed, let services {
            isIndexed = true
            // The first of several is the last to be stored.
            for service in services.reversed() {
                for found in service.characteristics.reversed() {
                    named[service.uuid, default: [:]][found.uuid] = found
                }
            }
        }
        return named[service]?[uuid]
    }

    /// Stores the result of a search.
    mutating func found(_ characteristic: RemoteCharacteristic?, _ uuid: BluetoothUUID, in service: BluetoothUUID) {
        named[service, default: [:]][uuid] = characteristic
        guard let characteristic else { return }
        types[characteristic.valueHandle] = characteristic.uuid
        configurations[characteristic.valueHandle] = nil
    }
}

/// The purpose of a transaction of the database's own.
enum DatabasePurpose {
    /// Reads the hash of a database just discovered.
    case readHash(of: RemoteDatabase)
    /// Writes this client's features before the subscription to Service Changed, if the peer has it.
    case writeFeatures(before: AttributeHandle?)
    /// Subscribes to Service Changed.
    case subscribe(by: AttributeHandle)
}

/// A client procedure without a waiting caller, whose outcome the database handles.
final class DatabaseTransaction<Procedure: ClientProcedure>: ClientTransaction {
    private var procedure: Procedure
    private var output: Procedure.Output?
    private let purpose: DatabasePurpose
    private let loop: EventLoop
    private weak var database: PeerDatabase?
    private weak var link: Link?

    init(_ procedure: Procedure, _ purpose: DatabasePurpose, of database: PeerDatabase, _ link: Link) {
        (self.procedure, self.purpose, self.database, self.link) = (procedure, purpose, database, link)
        loop = link.loop
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
        // Deferred until the bearer, which may be closing, has done its other steps.
        loop.executeLocally { [self] in
            guard let link else { return }
            database?.ended(purpose, failure, hash: output as? DatabaseHash, link)
        }
    }
}
