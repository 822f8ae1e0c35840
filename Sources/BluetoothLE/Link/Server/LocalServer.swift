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
    private struct State {
        var database: AttributeDatabase
        /// The number of attributes that require security.
        var protectedCount: Int
        /// In ascending order of handles, without overlap.
        var publications: [Publication] = []

        /// The index of the first of ``publications`` whose range ends at or after `handle`.
        func position(of handle: AttributeHandle) -> Int {
            partitionPoint(of: publications) { $0.handles.end < handle }
        }

        func publication(of handle: AttributeHandle) -> Publication? {
            let index = position(of: handle)
            guard index < publications.count, publications[index].handles.contains(handle) else { return nil }
            return publications[index]
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

    /// The publication of an attribute.
    func publication(of handle: AttributeHandle) -> Publication? { state.withLock { $0.publication(of: handle) } }

    func isPublished(_ publication: Publication) -> Bool {
        self.publication(of: publication.handles.start) === publication
    }

    /// The stored value of an attribute of a publication; nil when the publication or the value does not exist.
    func value(of handle: AttributeHandle, in publication: Publication) -> [UInt8]? {
        state.withLock { state in
            guard state.publication(of: handle) === publication else { return nil }
            return state.database.attribute(at: handle)?.storedValue
        }
    }

    /// Changes the stored value of an attribute of a publication; false when the publication was removed.
    func setValue(
        _ value: [UInt8], of handle: AttributeHandle, in publication: Publication
    ) throws(AttributeDatabaseError) -> Bool {
        try state.withLock { (state) throws(AttributeDatabaseError) in
            guard state.publication(of: handle) === publication else { return false }
            try state.database.setValue(value, of: handle)
            return true
        }
    }

    /// Performs a write of a stored value that the program has accepted, or only checks it before the program is asked.
    /// Attributes of a removed publication, and those without a stored value, remain as they are.
    func perform(_ write: AttributeWrite, in publication: Publication, isCheck: Bool) throws(ATTErrorCode) {
        try state.withLock { (state) throws(ATTErrorCode) in
            guard state.publication(of: write.handle) === publication else { return }
            try state.database.perform(write, isCheck: isCheck)
        }
    }

    // MARK: Changes

    /// Adds services; `make` returns their publication at their handles. Nil when there are no services.
    func append(
        _ services: [GATTService], _ make: (DatabaseLayout) -> Publication
    ) throws(AttributeDatabaseError) -> Publication? {
        try state.withLock { (state) throws(AttributeDatabaseError) in
            guard let layout = try state.database.append(services) else { return nil }
            let publication = make(layout)
            for handle in publication.handledValues { state.database.askProgram(for: handle) }
            state.publications.insert(publication, at: state.position(of: layout.handles.start))
            state.protectedCount += state.database.protectedCount(in: layout.handles)
            return publication
        }
    }

    /// The handle of a published definition; nil when it is not published.
    func handle(of definition: DefinitionID) -> AttributeHandle? {
        state.withLock { $0.publications.lazy.compactMap { $0[definition] }.first }
    }

    /// Ends the request streams of all publications with `reason`.
    func close(_ reason: BluetoothError) {
        for publication in state.withLock({ $0.publications }) { publication.end(reason) }
    }

    /// Removes services; false when they were removed before.
    func remove(_ publication: Publication) -> Bool {
        let isRemoved = state.withLock { state in
            guard let index = state.publications.firstIndex(where: { $0 === publication }) else { return false }
            state.publications.remove(at: index)
            state.protectedCount -= state.database.protectedCount(in: publication.handles)
            state.database.remove(publication.handles)
            return true
        }
        if isRemoved { publication.end(nil) }
        return isRemoved
    }

    /// Sets the value of Server Supported Features (Core Vol 3 Part G §7.4).
    func reportFeatures(_ features: GATTServerFeatures) {
        state.withLock {
            _ = $0.database.setValue([features.rawValue], of: .serverSupportedFeatures, in: .genericAttribute)
        }
    }

    /// Sets the value of Peripheral Preferred Connection Parameters; false when the database does not have it.
    func setPreferredParameters(_ value: [UInt8]) -> Bool {
        state.withLock {
            $0.database.setValue(value, of: .peripheralPreferredConnectionParameters, in: .genericAccess)
        }
    }

    /// Replaces the generic services, which changes handles; false with nothing changed while services are published.
    func replaceGenericServices(by database: AttributeDatabase) -> Bool {
        state.withLock { state in
            guard state.publications.isEmpty else { return false }
            var database = database
            if let old = state.database.valueHandle(of: .serverSupportedFeatures, in: .genericAttribute),
                let features = state.database.attribute(at: old)?.storedValue
            {
                _ = database.setValue(features, of: .serverSupportedFeatures, in: .genericAttribute)
            }
            state.database = database
            return true
        }
    }

    /// Whether any services are published.
    var isPublishing: Bool { state.withLock { !$0.publications.isEmpty } }

    /// The value handle of Service Changed; nil when the database has none.
    var serviceChanged: AttributeHandle? {
        state.withLock { $0.database.valueHandle(of: .serviceChanged, in: .genericAttribute) }
    }
}

extension AttributeDatabase {
    /// Changes the stored value of the first characteristic with this UUID in a service; false when there is none.
    fileprivate mutating func setValue(
        _ value: [UInt8], of characteristic: BluetoothUUID, in service: BluetoothUUID
    ) -> Bool {
        guard let handle = valueHandle(of: characteristic, in: service) else { return false }
        return (try? setValue(value, of: handle)) != nil
    }

    /// The number of attributes in a range that require security.
    fileprivate func protectedCount(in range: AttributeHandleRange) -> Int {
        attributes[lowerBound(range.start)...].lazy.prefix { $0.handle <= range.end }
            .count(where: { !$0.permissions.isSubset(of: [.read, .write]) })
    }
}

extension BluetoothError {
    /// The error of a value that is not sent, as its link has kept others waiting and still has earlier values.
    static func linkIsBehind(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .busy, operation, "The link has not yet accepted earlier values, so this one is not sent.",
            isRetryable: true)
    }

    /// The reason why a value cannot be sent to the peer's client.
    init(_ error: GATTServerError, _ operation: Operation) {
        switch error {
        case .notSubscribed: self.init(.notSubscribed, operation, "The device has not subscribed to this value.")
        case .clientOutOfSync:
            self.init(
                .notSubscribed, operation, "The device does not yet know that the services here have changed.",
                isRetryable: true)
        case .insufficientSecurity(_, let code):
            self.init(
                .attributeProtocol, operation, "The link lacks the security that this value requires.",
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
        let services = [
            GATTService(.genericAccess) {
                GATTCharacteristic(.deviceName, properties: .read, value: .stored([UInt8](deviceName.utf8)))
                GATTCharacteristic(.appearance, properties: .read, value: .stored([0x80, 0x00]))
                if let value = preferredParameters {
                    GATTCharacteristic(
                        .peripheralPreferredConnectionParameters, properties: .read, value: .stored(value))
                }
            },
            GATTService(.genericAttribute) {
                GATTCharacteristic(.serviceChanged, properties: .indicate, value: .stored([1, 0, 0xFF, 0xFF]))
                GATTCharacteristic(.clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8)
                GATTCharacteristic(.databaseHash, properties: .read, value: .stored([]))
                GATTCharacteristic(
                    .serverSupportedFeatures, properties: .read, value: .stored([GATTServerFeatures().rawValue]))
            },
        ]
        return (try? AttributeDatabase(services)) ?? .empty
    }
}
