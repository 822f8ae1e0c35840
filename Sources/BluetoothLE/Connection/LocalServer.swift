import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Synchronization

/// The attributes of this machine: one database for all devices.
///
/// Used on the loop, and from elsewhere to read and change stored values.
final class LocalServer: Sendable {
    private struct Handler {
        /// How many publications there were before: what tells this one from others at the same handles.
        var number: UInt64
        var range: AttributeHandleRange
        var handlers: AttributeHandlers
    }

    private struct State {
        var database: AttributeDatabase
        /// Whether some attribute asks for more than a link.
        var isProtected: Bool
        /// By ascending handles, which nobody shares.
        var handlers: [Handler] = []
        var nextPublication: UInt64 = 0

        /// Where among ``handlers`` the first are whose range ends at `handle` or behind it.
        func position(of handle: AttributeHandle) -> Int {
            var (low, high) = (0, handlers.count)
            while low < high {
                let middle = low + (high - low) / 2
                if handlers[middle].range.end < handle { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// Whether an attribute belongs to a publication that is there.
        func isPublished(_ number: UInt64, at handle: AttributeHandle) -> Bool {
            let index = position(of: handle)
            return index < handlers.count && handlers[index].number == number
                && handlers[index].range.contains(handle)
        }
    }

    private let state: Mutex<State>

    init(_ database: AttributeDatabase) {
        state = Mutex(State(database: database, isProtected: database.isProtected))
    }

    /// Whether the protection of a link has to be known to answer what comes over it.
    var isProtected: Bool { state.withLock { $0.isProtected } }

    func withDatabase<Result>(_ body: (inout AttributeDatabase) -> sending Result) -> sending Result {
        state.withLock { body(&$0.database) }
    }

    /// Who answers for an attribute.
    func handlers(of handle: AttributeHandle) -> AttributeHandlers? { publication(of: handle)?.handlers }

    /// What was published together with an attribute, and who answers for it.
    func publication(of handle: AttributeHandle) -> (range: AttributeHandleRange, handlers: AttributeHandlers)? {
        state.withLock { state in
            let position = state.position(of: handle)
            guard position < state.handlers.count, state.handlers[position].range.contains(handle) else { return nil }
            return (state.handlers[position].range, state.handlers[position].handlers)
        }
    }

    /// Whether services are there that were published; `handle` is any of theirs.
    func isPublished(_ publication: UInt64, at handle: AttributeHandle) -> Bool {
        state.withLock { $0.isPublished(publication, at: handle) }
    }

    /// The stored value of an attribute of a publication; nil when either is not there.
    func value(of handle: AttributeHandle, in publication: UInt64) -> [UInt8]? {
        state.withLock { state in
            guard state.isPublished(publication, at: handle) else { return nil }
            return state.database.attribute(at: handle)?.storedValue
        }
    }

    /// Changes the stored value of an attribute of a publication; false when the publication is not there.
    func setValue(
        _ value: [UInt8], of handle: AttributeHandle, in publication: UInt64
    ) throws(AttributeDatabaseError) -> Bool {
        let result = state.withLock { state -> Result<Bool, AttributeDatabaseError> in
            guard state.isPublished(publication, at: handle) else { return .success(false) }
            do throws(AttributeDatabaseError) {
                try state.database.setValue(value, of: handle)
                return .success(true)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    // MARK: Changes

    /// Services that were added: their number, their handles and their handlers.
    struct Publication: Sendable {
        let number: UInt64
        let layout: DatabaseLayout
        let handlers: AttributeHandlers
    }

    /// Adds services, with the handlers that `handlers` makes for their handles; nil when there were none.
    func append(
        _ services: [GATTService], _ handlers: (DatabaseLayout) -> AttributeHandlers
    ) throws(AttributeDatabaseError) -> Publication? {
        let result = state.withLock { state -> Result<Publication?, AttributeDatabaseError> in
            do throws(AttributeDatabaseError) {
                guard let layout = try state.database.append(services) else { return .success(nil) }
                let publication = Publication(
                    number: state.nextPublication, layout: layout, handlers: handlers(layout))
                state.nextPublication += 1
                state.handlers.insert(
                    Handler(number: publication.number, range: layout.handles, handlers: publication.handlers),
                    at: state.position(of: layout.handles.start))
                state.isProtected = state.database.isProtected
                return .success(publication)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The handle of a definition that is published; nil when it is not.
    func handle(of definition: DefinitionID) -> AttributeHandle? {
        state.withLock { state in
            state.handlers.lazy.compactMap { $0.handlers.definitions?[definition] }.first
        }
    }

    /// Ends the request streams of all publications with `reason`.
    func close(_ reason: BluetoothError) {
        let definitions = state.withLock { $0.handlers.compactMap(\.handlers.definitions) }
        for definitions in definitions { definitions.end(reason) }
    }

    /// Removes services; false when they are gone already.
    func remove(_ publication: UInt64) -> Bool {
        let removed = state.withLock { state -> Handler? in
            guard let index = state.handlers.firstIndex(where: { $0.number == publication }) else { return nil }
            let removed = state.handlers.remove(at: index)
            state.database.remove(removed.range)
            state.isProtected = state.database.isProtected
            return removed
        }
        removed?.handlers.definitions?.end(nil)
        // The program's handlers are released outside the lock.
        return withExtendedLifetime(removed) { removed != nil }
    }

    /// Has devices told what this server can do (Core Vol 3 Part G §7.4).
    func tellFeatures(_ features: GATTServerFeatures) {
        state.withLock { state in
            guard let handle = state.database.valueHandle(of: .serverSupportedFeatures, in: .genericAttribute) else {
                return
            }
            try? state.database.setValue([features.rawValue], of: handle)
        }
    }

    /// Whether anything is published.
    var isPublishing: Bool { state.withLock { !$0.handlers.isEmpty } }

    /// Where changes are indicated.
    var serviceChanged: AttributeHandle? {
        state.withLock { $0.database.valueHandle(of: .serviceChanged, in: .genericAttribute) }
    }
}

extension AttributeDatabase {
    fileprivate var isProtected: Bool {
        attributes.contains { !$0.permissions.isSubset(of: [.read, .write]) }
    }
}

extension BearerSecurity {
    /// What the host tells of a link. Its level says nothing of keys that are kept but not in use.
    init(_ security: LinkSecurity) {
        self.init(
            isEncrypted: security.level >= .medium, encryptionKeySize: Int(security.keySize),
            isAuthenticated: security.level >= .high, hasLongTermKey: security.level >= .medium)
    }
}

/// One of our own values on its way to the peer's client, with the caller that waits: until the host has the notification,
/// or until the indication is confirmed.
final class ValueCall: ValueUpdate {
    let call = Promise<Void, BluetoothError>()
    let value: [UInt8]
    let characteristic: AttributeHandle
    private let operation: BluetoothError.Operation
    private unowned let bearer: ATTBearer

    init(
        _ value: [UInt8], of characteristic: AttributeHandle, _ operation: BluetoothError.Operation,
        on bearer: ATTBearer
    ) {
        self.value = value
        self.characteristic = characteristic
        self.operation = operation
        self.bearer = bearer
    }

    var isAbandoned: Bool { call.isResolved }

    func end(_ failure: TransactionFailure?) {
        call.resolve(failure, operation, bearerEnd: bearer.closeReason)
    }
}

extension BluetoothError {
    /// Why a value cannot be sent to the peer's client.
    init(_ error: GATTServerError, _ operation: Operation) {
        switch error {
        case .notSubscribed: self.init(.notSubscribed, operation, "The device has not subscribed to this value.")
        case .clientOutOfSync:
            self.init(
                .notSubscribed, operation, "The device does not know yet that the services here have changed.",
                isRetryable: true)
        case .indicationOutstanding:
            self.init(.busy, operation, "The device has not confirmed the last indication.", isRetryable: true)
        case .insufficientSecurity(_, let code):
            self.init(
                .attributeProtocol, operation, "The link is not protected as this value demands.",
                cause: .attribute(code))
        }
    }
}

extension AttributeDatabase {
    /// What a device that is only a client still has to offer: the Generic Access and Generic Attribute services
    /// (Core Vol 3 Part C §12, Part G §7).
    static func generic(deviceName: String) -> AttributeDatabase {
        var deviceName = deviceName
        while deviceName.utf8.count > 248 { deviceName.removeLast() }
        let services = [
            GATTService(
                .genericAccess,
                characteristics: [
                    GATTCharacteristic(
                        .deviceName, properties: .read, value: .stored([UInt8](deviceName.utf8))),
                    GATTCharacteristic(.appearance, properties: .read, value: .stored([0x80, 0x00])),
                ]),
            GATTService(
                .genericAttribute,
                characteristics: [
                    GATTCharacteristic(.serviceChanged, properties: .indicate, value: .stored([1, 0, 0xFF, 0xFF])),
                    GATTCharacteristic(
                        .clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8),
                    GATTCharacteristic(.databaseHash, properties: .read, value: .stored([])),
                    GATTCharacteristic(
                        .serverSupportedFeatures, properties: .read, value: .stored([GATTServerFeatures().rawValue])),
                ]),
        ]
        return (try? AttributeDatabase(services)) ?? .empty
    }
}
