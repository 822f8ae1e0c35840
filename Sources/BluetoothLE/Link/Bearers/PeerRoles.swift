import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The peer as a client: the local attributes it accesses, and the security of its link.
///
/// Its configurations are part of the bearer's server; those of enhanced bearers are in the fixed channel's.
struct PeerClient {
    let localServer: LocalServer
    /// Whether the bearer's owner waits for a request.
    var isAwaited = false
    /// The size of the key with which the link is encrypted by the controller's report, which may precede the host's own;
    /// nil before.
    var reportedKeySize: Int?

    init(of localServer: LocalServer) {
        self.localServer = localServer
    }

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
}

/// The peer as a server: the subscribers to its values, and its features. Shared by all bearers of a link.
struct PeerServer {
    /// The subscribers to the peer's values, on all bearers.
    var subscribers = SubscriberTable()
    /// The peer's Service Changed indications.
    var serviceChanged = RemoteServiceChanged()
    /// Whether the peer supports Read Multiple Variable Requests, as far as is known.
    var readsSeveralValues = true
}
