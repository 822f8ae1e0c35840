import BluetoothATT
import BluetoothPrimitives

/// What a server knows of one client, on however many bearers it comes.
///
/// To be kept for a bonded client between its links.
public struct GATTClientState: Hashable, Sendable {
    /// Whether the client knows of the last change of the database (Core Vol 3 Part G §2.5.2.1).
    enum Awareness: Hashable, Sendable {
        case aware
        case unaware
        /// It has read the Database Hash since, and is aware with its next request.
        case hasReadHash
        /// It has been told Database Out Of Sync since, and is aware with its next request.
        case isToldOutOfSync
    }

    /// What the client wants to be sent, by the handle of the characteristic's value; what is not there is not wanted.
    public internal(set) var configurations: [AttributeHandle: ClientCharacteristicConfiguration]
    /// What the client has said on this link whether it wants to be sent, by the handle of the characteristic's value.
    var configured: Set<AttributeHandle> = []
    /// The value of Client Supported Features as the client has written it; empty until then.
    var features: [UInt8] = []
    var awareness = Awareness.aware
    /// Whether the client has read on this link what hash the database has now.
    var hasReadHash = false
    /// The attributes for which the client has been authorised.
    public private(set) var authorizedRanges: [AttributeHandleRange] = []
    /// Counts the changes of the database since the bearer was opened.
    public private(set) var changeCount: UInt64 = 0

    /// A client of which no more is known than what it wants to be sent.
    public init(configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:]) {
        self.configurations = configurations
    }

    /// What the client can do.
    public var supportedFeatures: GATTClientFeatures { GATTClientFeatures(rawValue: features.first ?? 0) }

    /// Whether the client knows of the last change of the database.
    public var isChangeAware: Bool { awareness == .aware }

    /// Whether the client has to be kept from what it does not know to have changed.
    var isOutOfSync: Bool { awareness != .aware && supportedFeatures.contains(.robustCaching) }

    /// Authorises the client to read and write the attributes in `range` where that takes it, until
    /// ``endAuthorization(in:)``.
    public mutating func authorize(_ range: AttributeHandleRange) {
        if !authorizedRanges.contains(range) { authorizedRanges.append(range) }
    }

    /// Takes back what the client was authorised for in `range`.
    public mutating func endAuthorization(in range: AttributeHandleRange) {
        authorizedRanges.removeAll { $0.start <= range.end && range.start <= $0.end }
    }

    /// Whether the client has been authorised to use an attribute.
    public func isAuthorized(for handle: AttributeHandle) -> Bool {
        authorizedRanges.contains { $0.contains(handle) }
    }

    /// Takes note that the database is another now.
    mutating func databaseChanged(_ database: borrowing AttributeDatabase) {
        changeCount &+= 1
        awareness = .unaware
        hasReadHash = false
        for handle in configurations.keys where database.position(of: handle) == nil { configurations[handle] = nil }
        for handle in configured where database.position(of: handle) == nil { configured.remove(handle) }
    }

    /// Takes note that the client confirmed an indication of Service Changed that was sent when there had been
    /// `changeCount` changes.
    public mutating func confirmedServiceChanged(_ changeCount: UInt64) {
        if changeCount == self.changeCount { awareness = .aware }
    }
}

extension GATTServer {
    /// Takes note that attributes have been added or removed: the client does not know yet. What it has prepared to write
    /// stays prepared; where an attribute of it is gone, executing is refused.
    public mutating func databaseChanged(_ database: borrowing AttributeDatabase) {
        client.databaseChanged(database)
        preparedWrites.databaseChanged(database)
        if case .write(let request, let opcode, var own)? = question {
            own.removeAll { database.position(of: $0.handle) == nil }
            question = .write(request, opcode: opcode, own: own)
        }
    }

    /// Whether a PDU may be worked off as far as the client's knowledge of the database goes
    /// (Core Vol 3 Part G §2.5.2.1); refuses requests of a client that has to look first.
    mutating func isInSync(_ pdu: RawSpan, _ opcode: ATTOpcode, into writer: inout ByteWriter) -> Bool {
        guard client.awareness != .aware else { return true }
        guard opcode.type == .request else { return opcode.type != .command || !client.isOutOfSync }
        guard client.awareness == .unaware else {
            client.awareness = .aware
            return true
        }
        guard client.isOutOfSync, let handle = handleAskedFor(pdu) else { return true }
        client.awareness = .isToldOutOfSync
        write(.errorResponse(ATTError(requestOpcode: opcode, handle: handle, code: .databaseOutOfSync)), to: &writer)
        return false
    }

    /// The first handle a request relies on; nil for the requests that find out about handles.
    private func handleAskedFor(_ pdu: RawSpan) -> AttributeHandle? {
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

    /// Takes note that an answer has told the client the hash.
    mutating func didReadHash() {
        client.hasReadHash = true
        if client.awareness == .unaware { client.awareness = .hasReadHash }
    }
}
