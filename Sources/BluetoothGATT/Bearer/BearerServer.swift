import BluetoothATT
import BluetoothPrimitives

/// The server of one bearer with its pending response and its pending Service Changed indication.
struct BearerServer {
    var server: GATTServer
    /// The pending response; empty when there is none.
    private(set) var response = ByteWriter(growingTo: 517)
    /// The ATT_MTU from the last exchange, in force once the response has been sent.
    private var agreedMTU: Int?
    private var serviceChanged = ServiceChangedIndication()
    /// Whether the client's state changed without a request.
    private var isClientChanged = false

    init(_ server: GATTServer) {
        self.server = server
    }

    /// Receives a request, a command or a confirmation.
    mutating func receive(_ bytes: RawSpan, database: inout AttributeDatabase) -> [GATTServerEvent] {
        let events = server.receive(bytes, database: &database, into: &response)
        for case .mtuExchanged(let mtu) in events { agreedMTU = mtu }
        return events
    }

    /// Continues the request of an event with the program's answer, or with nil refuses the pending request.
    mutating func answer(
        _ event: GATTServerEvent?, with result: Result<[UInt8], ATTErrorCode>, database: inout AttributeDatabase
    ) -> [GATTServerEvent] {
        server.answer(event, with: result, database: &database, into: &response)
    }

    /// Records that the response was sent; returns a new ATT_MTU if one is now in force.
    mutating func didSendResponse() -> Int? { agreedMTU.take() }

    // MARK: Values

    /// Encodes an indication or a notification.
    mutating func encode(
        _ outgoing: TransactionEngine.Outgoing, database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) throws(GATTServerError) {
        switch outgoing {
        case .notification(let update):
            try server.encodeNotification(
                of: update.characteristic, value: update.value.span.bytes, database: database, into: &writer)
        case .indication(let update):
            try server.encodeIndication(
                of: update.characteristic, value: update.value.span.bytes, database: database, into: &writer)
        case .serviceChanged:
            do throws(GATTServerError) {
                try server.encodeIndication(
                    of: serviceChanged.pending?.handle ?? .none, value: serviceChanged.value.span.bytes,
                    database: database, into: &writer)
            } catch {
                serviceChanged.cancel()
                throw error
            }
        case .confirmation, .response, .request, .command: break
        }
    }

    // MARK: Service Changed

    /// Adds `range` to the pending Service Changed indication; false when the client has not subscribed to it.
    mutating func includeInServiceChanged(_ range: AttributeHandleRange, at handle: AttributeHandle?) -> Bool {
        guard let handle, server.client.configurations[handle]?.contains(.indication) == true else { return false }
        serviceChanged.include(range, at: handle)
        return true
    }

    mutating func didSendServiceChanged() { serviceChanged.didSend(to: server.client) }

    mutating func serviceChangedConfirmed() {
        serviceChanged.confirm(by: &server.client)
        isClientChanged = true
    }

    /// Returns once whether the client's state changed without a request.
    mutating func consumeClientChange() -> Bool {
        defer { isClientChanged = false }
        return isClientChanged
    }
}
