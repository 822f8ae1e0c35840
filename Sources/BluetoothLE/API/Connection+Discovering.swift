import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

// Every discovery throws ``BluetoothError``: `.attributeProtocol` when the peer refuses, `.protocolViolation` when its
// responses are invalid, `.timedOut`, `.cancelled`, `.disconnected`.
extension Connection {
    /// The peer's attribute database: the cached one where the peer confirms it, otherwise discovered.
    ///
    /// - A database that this connection has discovered, and that has not changed since, costs no PDU.
    /// - The cached database of a device with a Database Hash costs one request, which reads the hash (Core Vol 3 Part
    ///   G §7.3).
    /// - That of a bonded device with Service Changed costs none, since the device indicates changes (§2.5.2), nor does
    ///   that of a device with neither, whose database cannot change. A handle of these is confirmed before the first
    ///   write to it on each link, which throws `BluetoothError.Code.attributesChanged` if it is another's.
    /// - All others are discovered in the fewest PDUs: ten services of five characteristics with UUIDs of 128 bits take
    ///   142 at an ATT_MTU of 23, 16 at 247 and 12 at 517. Primary services are discovered, and secondary ones that are
    ///   included.
    ///
    /// After a discovery, and without delaying the caller, the peer is requested to indicate changes and to refuse
    /// requests that rely on an old database, as far as it supports either; see ``serviceChanges()``.
    /// ``Adapter/setAttributeCache(_:)`` sets where databases are stored.
    ///
    /// Invalid declarations of the peer are left out or corrected, and listed in `RemoteDatabase.problems`; the log
    /// has them as warnings. A discovery ends after 4096 requests with its results so far
    /// and the problem `DatabaseProblem.Reason.tooManyRequests`.
    /// - Parameters:
    ///   - cached: false discovers in any case.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `BluetoothError`: `.attributeProtocol` when the peer refuses, `.protocolViolation` when a
    ///   response is malformed, `.timedOut`, `.cancelled`, `.disconnected`.
    public nonisolated(nonsending) func discover(
        cached: Bool = true, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> RemoteDatabase {
        try await core { (link) async throws(BluetoothError) in
            try await link.database.discover(link, cached: cached, timeout: timeout)
        }
    }

    /// A stream of changes of the peer's database, each as the range of handles that it concerns (Core Vol 3 Part G
    /// §7.1).
    ///
    /// They are reported once the database has been discovered, if the peer has Service Changed. After a change, calls
    /// with attributes discovered before throw `BluetoothError.Code.attributesChanged` until
    /// ``discover(cached:timeout:)`` is called again, which ends the subscriptions to characteristics that have gone
    /// and keeps the others. The stream throws the reason of the link's end; up to 256 changes wait for their consumer.
    public nonisolated(nonsending) func serviceChanges() async -> BoundedStream<AttributeHandleRange> {
        await core { $0.database.changes($0) }
    }

    /// Discovers primary services without their characteristics: all, or those with the given UUID
    /// (Core Vol 3 Part G §4.4.1, §4.4.2).
    public nonisolated(nonsending) func discoverServices(
        _ uuid: BluetoothUUID? = nil, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [RemoteService] {
        try await core { (link) async throws(BluetoothError) in try await link.discoverServices(uuid, timeout: timeout)
        }
    }

    /// Discovers primary services, of those with a given UUID only the ones in the first response.
    package nonisolated(nonsending) func discoverServices(
        _ uuid: BluetoothUUID?, isFirstOnly: Bool, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteService] {
        try await core { (link) async throws(BluetoothError) in
            try await link.discoverServices(uuid, isFirstOnly: isFirstOnly, timeout: timeout)
        }
    }

    /// Discovers the services that a service includes (Core Vol 3 Part G §4.5.1).
    ///
    /// A UUID of 128 bits takes one more request for each included service.
    public nonisolated(nonsending) func discoverIncludedServices(
        of service: RemoteService, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [RemoteIncludedService] {
        try await core { (link) async throws(BluetoothError) in
            try await link.discoverIncludedServices(of: service, timeout: timeout)
        }
    }

    /// Discovers the characteristics of a service, all or those with the given UUID (Core Vol 3 Part G §4.6.1,
    /// §4.6.2), without their descriptors.
    public nonisolated(nonsending) func discoverCharacteristics(
        _ uuid: BluetoothUUID? = nil, of service: RemoteService, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        try await core { (link) async throws(BluetoothError) in
            try await link.discoverCharacteristics(uuid, in: service.handles, timeout: timeout)
        }
    }

    /// Discovers the characteristics of an included service, as those of other services.
    public nonisolated(nonsending) func discoverCharacteristics(
        _ uuid: BluetoothUUID? = nil, of included: RemoteIncludedService, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        try await core { (link) async throws(BluetoothError) in
            try await link.discoverCharacteristics(uuid, in: included.handles, timeout: timeout)
        }
    }

    /// Discovers the descriptors of a characteristic (Core Vol 3 Part G §4.7.1).
    public nonisolated(nonsending) func discoverDescriptors(
        of characteristic: RemoteCharacteristic, timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> [RemoteDescriptor] {
        try await core { (link) async throws(BluetoothError) in
            try await link.discoverDescriptors(of: characteristic, timeout: timeout)
        }
    }
}

extension Connection {
    /// A stream of the values that the peer notifies or indicates.
    ///
    /// A characteristic without a Client Characteristic Configuration descriptor is listened to without a write.
    ///
    /// The subscription is active when the call returns: values that arrive while the peer is being configured are in
    /// the stream's buffer. Indications are confirmed as they arrive. The stream throws the reason of the link's end.
    ///
    /// Several subscriptions to one characteristic each get every value, and share the peer's configuration. Where some
    /// use notifications and some indications, the peer is configured for both, and each gets its own kind. The last
    /// consumer that leaves its loop ends the subscription at the peer; a new one meanwhile finds it active when its
    /// call returns.
    /// - Parameters:
    ///   - characteristic: one whose properties have `notify` or `indicate`.
    ///   - kind: which of the two to use.
    ///   - bufferCapacity: the maximum number of values that wait for the consumer. One more ends the stream with an
    ///     error of code `BluetoothError.Code.overflow` after those before it: none is lost silently.
    ///   - timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    public nonisolated(nonsending) func subscribe(
        to characteristic: RemoteCharacteristic, kind: SubscriptionKind = .automatic, bufferCapacity: Int = 4096,
        timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> BoundedStream<[UInt8]> {
        try await core { (link) async throws(BluetoothError) in
            try await link.subscribe(to: characteristic, kind: kind, bufferCapacity: bufferCapacity, timeout: timeout)
        }
    }
}
