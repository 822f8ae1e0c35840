import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The peer as a client: what it finds here, how well its link is protected, and who is told of what it does.
///
/// What it has configured is with the rules of the bearer, and of an enhanced one with those of the fixed channel's.
struct PeerClient {
    private let localServer: LocalServer
    /// Called before a request is processed.
    var onRequest: (() -> Void)?
    /// Called when what is known of the client has changed without a request.
    var onChange: (() -> Void)?
    /// Whether the controller has reported that the link is encrypted, which the host may take in a little later.
    var isToldEncrypted = false

    init(of localServer: LocalServer) {
        self.localServer = localServer
    }

    // MARK: Requests

    /// Processes a request or a command; returns what the program has to know or to answer.
    func receive(
        _ pdu: RawSpan, _ core: inout ATTBearerCore, enhancing main: ATTBearer?
    ) -> [GATTServerEvent] {
        if let main { core.server.client = main.client }
        let events = localServer.withDatabase { core.receive(pdu, database: &$0) }
        main?.client = core.server.client
        return events
    }

    /// Continues with what waited for the program; returns what else it has to know or to answer.
    func receive(
        _ answer: ServerAnswer, _ core: inout ATTBearerCore, enhancing main: ATTBearer?
    ) -> [GATTServerEvent] {
        if let main { core.server.client = main.client }
        let events = localServer.withDatabase { core.answer(answer, database: &$0) }
        main?.client = core.server.client
        return events
    }

    // MARK: Values

    /// Encodes the value whose turn it is; false when the client may not be sent it.
    func encodeValue(_ core: inout ATTBearerCore, into writer: inout ByteWriter) -> Bool {
        localServer.withDatabase { core.encodeValue(database: $0, into: &writer) }
    }

    /// Reads how the link is protected, where that counts.
    func updateSecurity(_ core: inout ATTBearerCore, of channel: any HostChannel) {
        guard localServer.isProtected, let security = try? channel.security() else { return }
        core.server.security = BearerSecurity(security)
        guard isToldEncrypted, !core.server.security.isEncrypted else { return }
        // No link is encrypted with a shorter key.
        core.server.security = BearerSecurity(isEncrypted: true, encryptionKeySize: 7, hasLongTermKey: true)
    }

    // MARK: Changes

    /// Our attributes have changed in `range`: the client is sent an indication if it wants to know.
    func servicesChanged(
        in range: AttributeHandleRange, _ serviceChanged: AttributeHandle?, _ core: inout ATTBearerCore
    ) {
        localServer.withDatabase { core.databaseChanged(in: range, $0, serviceChanged: serviceChanged) }
    }

    /// Our attributes have changed while the client was away: it is sent an indication if it wants to know.
    func indicateMissedChanges(_ core: inout ATTBearerCore) {
        core.indicateServiceChanged(in: .all, at: localServer.serviceChanged)
    }

    /// The attributes have changed, for what is prepared to be written on an enhanced bearer.
    func preparedWritesMayBeStale(_ core: inout ATTBearerCore) {
        localServer.withDatabase { core.server.databaseChanged($0) }
    }
}

/// The peer as a server: who subscribes to its values, and what is known of it. The same on all bearers of a link.
struct PeerServer {
    /// Who subscribes to the peer's values, on whichever bearer.
    var subscribers = SubscriberTable()
    /// Where the peer indicates changes of its services.
    var serviceChanged = RemoteServiceChanged()
    /// What the peer has said it does not know.
    var unsupportedRequests: Set<ATTOpcode> = []

    /// Hands the values of a PDU to those who subscribe to them.
    ///
    /// One that says that attributes have changed stays back: their range is returned, and ``deliverServiceChange(_:)``
    /// follows when that is known to those it concerns.
    mutating func receive(_ pdu: ATTServerPDU, _ record: BearerRecord) -> AttributeHandleRange? {
        switch pdu {
        case .handleValueNotification(let handle, let value):
            subscribers.deliver(value, of: handle, as: .notification)
        case .handleValueIndication(let handle, let value):
            if let range = serviceChanged.receiveIndication(of: handle, value) { return range }
            subscribers.deliver(value, of: handle, as: .indication)
        case .multipleHandleValueNotification(var list):
            while let entry = list.next() { subscribers.deliver(entry.value, of: entry.handle, as: .notification) }
        default: record.note("ignored unknown PDU \(pdu.opcode)")
        }
        return nil
    }

    /// Hands a change of attributes to those who subscribe to it themselves.
    mutating func deliverServiceChange(_ pdu: ATTServerPDU) {
        guard case .handleValueIndication(let handle, let value) = pdu, subscribers.contains(handle) else { return }
        subscribers.deliver(value, of: handle, as: .indication)
    }
}
