import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Synchronization

/// The local attribute server: one database for all devices.
///
/// Used on the loop, and from any thread to read and change stored values.
final class LocalServer: Sendable {
    private struct Handler {
        /// The number of earlier publications, which distinguishes this one from others at the same handles.
        var number: UInt64
        var range: AttributeHandleRange
        var handlers: AttributeHandlers
    }

    private struct State {
        var database: AttributeDatabase
        /// The number of attributes that require security.
        var protectedCount: Int
        /// In ascending order of handles, without overlap.
        var handlers: [Handler] = []
        var nextPublication: UInt64 = 0

        /// The index of the first of ``handlers`` whose range ends at or after `handle`.
        func position(of handle: AttributeHandle) -> Int {
            var (low, high) = (0, handlers.count)
            while low < high {
                let middle = low + (high - low) / 2
                if handlers[middle].range.end < handle { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// Whether an attribute belongs to a current publication.
        func isPublished(_ number: UInt64, at handle: AttributeHandle) -> Bool {
            let index = position(of: handle)
            return index < handlers.count && handlers[index].number == number
                && handlers[index].range.contains(handle)
        }
    }

    private let state: Mutex<State>

    init(_ database: AttributeDatabase) {
        state = Mutex(State(database: database, protectedCount: database.protectedCount(in: .all)))
    }

    /// Whether requests require the link's security to be known.
    var isProtected: Bool { state.withLock { $0.protectedCount > 0 } }

    func withDatabase<Result>(_ body: (inout AttributeDatabase) -> sending Result) -> sending Result {
        state.withLock { body(&$0.database) }
    }

    /// The handlers of an attribute.
    func handlers(of handle: AttributeHandle) -> AttributeHandlers? { publication(of: handle)?.handlers }

    /// The publication of an attribute: its handles and its handlers.
    func publication(of handle: AttributeHandle) -> (range: AttributeHandleRange, handlers: AttributeHandlers)? {
        state.withLock { state in
            let position = state.position(of: handle)
            guard position < state.handlers.count, state.handlers[position].range.contains(handle) else { return nil }
            return (state.handlers[position].range, state.handlers[position].handlers)
        }
    }

    /// Whether services are still published; `handle` is any of theirs.
    func isPublished(_ publication: UInt64, at handle: AttributeHandle) -> Bool {
        state.withLock { $0.isPublished(publication, at: handle) }
    }

    /// The stored value of an attribute of a publication; nil when the publication or the value does not exist.
    func value(of handle: AttributeHandle, in publication: UInt64) -> [UInt8]? {
        state.withLock { state in
            guard state.isPublished(publication, at: handle) else { return nil }
            return state.database.attribute(at: handle)?.storedValue
        }
    }

    /// Changes the stored value of an attribute of a publication; false when the publication was removed.
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

    /// Published services: their number, their handles and their handlers.
    struct Publication: Sendable {
        let number: UInt64
        let layout: DatabaseLayout
        let handlers: AttributeHandlers
    }

    /// Adds services, with the handlers that `handlers` returns for their handles; nil when there are no services.
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
                state.protectedCount += state.database.protectedCount(in: layout.handles)
                return .success(publication)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The handle of a published definition; nil when it is not published.
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

    /// Removes services; false when they were removed before.
    func remove(_ publication: UInt64) -> Bool {
        let removed = state.withLock { state -> Handler? in
            guard let index = state.handlers.firstIndex(where: { $0.number == publication }) else { return nil }
            let removed = state.handlers.remove(at: index)
            state.protectedCount -= state.database.protectedCount(in: removed.range)
            state.database.remove(removed.range)
            return removed
        }
        removed?.handlers.definitions?.end(nil)
        // The program's handlers are released outside the lock.
        return withExtendedLifetime(removed) { removed != nil }
    }

    /// Sets the value of Server Supported Features (Core Vol 3 Part G §7.4).
    func reportFeatures(_ features: GATTServerFeatures) {
        state.withLock { state in
            guard let handle = state.database.valueHandle(of: .serverSupportedFeatures, in: .genericAttribute) else {
                return
            }
            try? state.database.setValue([features.rawValue], of: handle)
        }
    }

    /// Sets the value of Peripheral Preferred Connection Parameters; false when the database does not have it.
    func setPreferredParameters(_ value: [UInt8]) -> Bool {
        state.withLock { state in
            let uuid = BluetoothUUID.peripheralPreferredConnectionParameters
            guard let handle = state.database.valueHandle(of: uuid, in: .genericAccess) else { return false }
            return (try? state.database.setValue(value, of: handle)) != nil
        }
    }

    /// Replaces the generic services, which changes handles; false with nothing changed while services are published.
    func replaceGenericServices(by database: AttributeDatabase) -> Bool {
        state.withLock { state in
            guard state.handlers.isEmpty else { return false }
            var database = database
            if let old = state.database.valueHandle(of: .serverSupportedFeatures, in: .genericAttribute),
                let features = state.database.attribute(at: old)?.storedValue,
                let new = database.valueHandle(of: .serverSupportedFeatures, in: .genericAttribute)
            {
                try? database.setValue(features, of: new)
            }
            state.database = database
            return true
        }
    }

    /// Whether any services are published.
    var isPublishing: Bool { state.withLock { !$0.handlers.isEmpty } }

    /// The value handle of Service Changed; nil when the database has none.
    var serviceChanged: AttributeHandle? {
        state.withLock { $0.database.valueHandle(of: .serviceChanged, in: .genericAttribute) }
    }
}

extension AttributeDatabase {
    /// The number of attributes in a range that require security.
    fileprivate func protectedCount(in range: AttributeHandleRange) -> Int {
        attributes[lowerBound(range.start)...].lazy.prefix { $0.handle <= range.end }
            .count(where: { !$0.permissions.isSubset(of: [.read, .write]) })
    }
}

/// A notification or indication of a local value with its waiting caller, which is resumed once the host has the
/// notification, or once the indication is confirmed.
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
    /// The error of a value that is not sent, as its link has kept others waiting and still has earlier values.
    static func linkIsBehind(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .busy, operation, "The link has not taken earlier values yet, so this one is not sent.", isRetryable: true)
    }

    /// The reason why a value cannot be sent to the peer's client.
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
    /// The services that a device must offer even if it is only a client: Generic Access and Generic Attribute (Core
    /// Vol 3 Part C §12, Part G §7).
    /// - Parameter preferredParameters: the value of Peripheral Preferred Connection Parameters; nil for none.
    static func generic(deviceName: String, preferredParameters: [UInt8]? = nil) -> AttributeDatabase {
        var deviceName = deviceName
        while deviceName.utf8.count > 248 { deviceName.removeLast() }
        var access = [
            GATTCharacteristic(.deviceName, properties: .read, value: .stored([UInt8](deviceName.utf8))),
            GATTCharacteristic(.appearance, properties: .read, value: .stored([0x80, 0x00])),
        ]
        if let preferredParameters {
            access.append(
                GATTCharacteristic(
                    .peripheralPreferredConnectionParameters, properties: .read, value: .stored(preferredParameters)))
        }
        let services = [
            GATTService(.genericAccess, characteristics: access),
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
