import BluetoothATT
import BluetoothPrimitives

/// A server's state for one client, shared by all its bearers.
///
/// Persist it for a bonded client between links; see ``GATTClientRecord``.
public struct GATTClientState: Hashable, Sendable {
    /// The client's change-awareness (Core Vol 3 Part G §2.5.2.1).
    enum Awareness: Hashable, Sendable {
        case aware
        case unaware
        /// The client has read the Database Hash since the change, and becomes change-aware with its next request.
        case hasReadHash
        /// The client has received Database Out Of Sync since the change, and becomes change-aware with its next
        /// request.
        case hasReceivedOutOfSync
    }

    /// The configurations by value handle; no entry means neither notification nor indication.
    public internal(set) var configurations: [AttributeHandle: ClientCharacteristicConfiguration]
    /// The value handles that the client has configured on this link.
    var configured: Set<AttributeHandle> = []
    /// The value of Client Supported Features as written by the client; empty until then.
    var features: [UInt8] = []
    var awareness = Awareness.aware
    /// Whether the client has read the current Database Hash on this link.
    var hasReadHash = false
    /// The attributes for which the client is authorized.
    public private(set) var authorizedRanges: [AttributeHandleRange] = []
    /// The number of database changes since the bearer opened.
    public private(set) var changeCount: UInt64 = 0

    /// A client with the given configurations and no other state.
    public init(configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:]) {
        self.configurations = configurations
    }

    /// The features that the client supports.
    public var supportedFeatures: GATTClientFeatures { GATTClientFeatures(rawValue: features.first ?? 0) }

    /// Whether the client is change-aware.
    public var isChangeAware: Bool { awareness == .aware }

    /// Whether the client must be refused because it is change-unaware and supports robust caching.
    var isOutOfSync: Bool { awareness != .aware && supportedFeatures.contains(.robustCaching) }

    /// Authorizes the client for the attributes in `range` that require authorization, until ``endAuthorization(in:)``.
    public mutating func authorize(_ range: AttributeHandleRange) {
        if !authorizedRanges.contains(range) { authorizedRanges.append(range) }
    }

    /// Revokes the client's authorization for the attributes in `range`.
    public mutating func endAuthorization(in range: AttributeHandleRange) {
        authorizedRanges.removeAll { $0.start <= range.end && range.start <= $0.end }
    }

    /// Whether the client is authorized for an attribute.
    public func isAuthorized(for handle: AttributeHandle) -> Bool {
        authorizedRanges.contains { $0.contains(handle) }
    }

    /// Records a change of the database.
    mutating func databaseChanged(_ database: borrowing AttributeDatabase) {
        changeCount &+= 1
        awareness = .unaware
        hasReadHash = false
        for handle in configurations.keys where database.position(of: handle) == nil { configurations[handle] = nil }
        for handle in configured where database.position(of: handle) == nil { configured.remove(handle) }
    }

    /// Records that the client confirmed a Service Changed indication, sent when the change count was `changeCount`.
    public mutating func confirmedServiceChanged(_ changeCount: UInt64) {
        if changeCount == self.changeCount { awareness = .aware }
    }
}

extension GATTServer {
    /// Records that attributes were added or removed: the client is change-unaware. Prepared writes remain prepared;
    /// executing them is refused when one of their attributes was removed.
    public mutating func databaseChanged(_ database: borrowing AttributeDatabase) {
        client.databaseChanged(database)
        if preparedWriteCount > 0 { preparedWrites.databaseChanged(database) }
        pendingRequest?.own.removeAll { database.position(of: $0.handle) == nil }
    }

    /// Whether a PDU may be processed, given the client's change-awareness (Core Vol 3 Part G §2.5.2.1); refuses
    /// requests of a client that is out of sync.
    mutating func isInSync(_ pdu: RawSpan, _ opcode: ATTOpcode, into writer: inout ByteWriter) -> Bool {
        guard client.awareness != .aware else { return true }
        guard opcode.type == .request else { return opcode.type != .command || !client.isOutOfSync }
        guard client.awareness == .unaware else {
            client.awareness = .aware
            return true
        }
        guard client.isOutOfSync, let handle = firstHandle(of: pdu) else { return true }
        client.awareness = .hasReceivedOutOfSync
        write(.errorResponse(ATTError(requestOpcode: opcode, handle: handle, code: .databaseOutOfSync)), to: &writer)
        return false
    }

    /// The first handle that a request depends on; nil for discovery requests.
    private func firstHandle(of pdu: RawSpan) -> AttributeHandle? {
        guard let pdu = try? ATTClientPDU(decoding: pdu) else { return nil }
        switch pdu {
        case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _),
            .prepareWriteRequest(let handle, _, _):
            return handle
        case .readMultipleRequest(var handles), .readMultipleVariableRequest(var handles):
            return handles.next() ?? AttributeHandle.none
        case .readByTypeRequest(let range, let type):
            return type == .include || type == .characteristic || range == .all ? nil : range.start
        default: return nil
        }
    }

    /// Records that a response contained the current Database Hash.
    mutating func didReadHash() {
        client.hasReadHash = true
        if client.awareness == .unaware { client.awareness = .hasReadHash }
    }
}
