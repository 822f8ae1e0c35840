import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The peer as a client: the local attributes it accesses, and the security of its link.
///
/// Its configurations are part of the bearer's server; those of enhanced bearers are in the fixed channel's.
struct PeerClient {
    private let localServer: LocalServer
    /// Called before a request is processed.
    var onRequest: (() -> Void)?
    /// Called when the client's state has changed without a request.
    var onChange: (() -> Void)?
    /// The size of the key with which the link is encrypted by the controller's report, which may precede the host's own;
    /// nil before.
    var reportedKeySize: Int?

    init(of localServer: LocalServer) {
        self.localServer = localServer
    }

    // MARK: Requests

    /// Has the core process a PDU or an answer with the database, and with the state of the client that all bearers of the
    /// link share; returns the events that concern the program.
    func serve(
        _ core: inout ATTBearerCore, enhancing main: ATTBearer?,
        _ body: (inout ATTBearerCore, inout AttributeDatabase) -> [GATTServerEvent]
    ) -> [GATTServerEvent] {
        if let main { core.server.client = main.client }
        let events = localServer.withDatabase { body(&core, &$0) }
        main?.client = core.server.client
        return events
    }

    // MARK: Values

    /// Encodes the next value update; false when the client may not receive it.
    func encodeValue(_ core: inout ATTBearerCore, into writer: inout ByteWriter) -> Bool {
        localServer.withDatabase { core.encodeValue(database: $0, into: &writer) }
    }

    /// Whether any attribute requires security.
    var requiresSecurity: Bool { localServer.isProtected }

    // MARK: Changes

    /// Indicates Service Changed for a change of the local attributes, if the client has subscribed.
    func servicesChanged(
        in range: AttributeHandleRange, _ serviceChanged: AttributeHandle?, _ core: inout ATTBearerCore
    ) {
        localServer.withDatabase { core.databaseChanged(in: range, $0, serviceChanged: serviceChanged) }
    }

    /// Indicates Service Changed for changes during the client's absence, if it has subscribed.
    func indicateMissedChanges(_ core: inout ATTBearerCore) {
        core.indicateServiceChanged(in: .all, at: localServer.serviceChanged)
    }

    /// Marks prepared writes on an enhanced bearer as outdated by a change of the attributes.
    func preparedWritesMayBeStale(_ core: inout ATTBearerCore) {
        localServer.withDatabase { core.server.databaseChanged($0) }
    }
}

/// The peer as a server: the subscribers to its values, and its features. Shared by all bearers of a link.
struct PeerServer {
    /// The subscribers to the peer's values, on all bearers.
    var subscribers = SubscriberTable()
    /// The peer's Service Changed indications.
    var serviceChanged = RemoteServiceChanged()
    /// The requests that the peer does not support.
    var unsupportedRequests: Set<ATTOpcode> = []

    /// Delivers the values of a PDU to their subscribers.
    ///
    /// An indication of Service Changed is withheld: its range is returned, and ``deliverServiceChange(_:)`` follows
    /// after the database was invalidated.
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

    /// Delivers a Service Changed indication to its own subscribers.
    mutating func deliverServiceChange(_ pdu: ATTServerPDU) {
        guard case .handleValueIndication(let handle, let value) = pdu, subscribers.contains(handle) else { return }
        subscribers.deliver(value, of: handle, as: .indication)
    }
}
