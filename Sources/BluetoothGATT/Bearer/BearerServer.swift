import BluetoothATT
import BluetoothPrimitives

/// What the program says to a request or a command of the peer's client.
package enum ServerAnswer: Sendable {
    /// The value read, or why not.
    case read(GATTReadRequest, Result<[UInt8], ATTErrorCode>)
    /// That everything is written, or why not.
    case write(GATTWriteRequest, Result<Void, ATTErrorCode>)
    /// Whether the client is authorised for what it asked.
    case authorization(GATTAuthorizationRequest, isAuthorized: Bool)
    /// The client is authorised for a command.
    case command(AttributeWrite)
    /// Refuses the request that waits, as a whole.
    case giveUp(ATTErrorCode)
}

/// The server of one bearer, with what it has written to be sent.
struct BearerServer {
    var server: GATTServer
    /// The response to be sent; empty when there is none.
    private(set) var response = ByteWriter(growingTo: 517)
    /// The ATT_MTU that the peer's client has exchanged, in force once our response is on its way.
    private var agreedMTU: Int?
    private var serviceChanged = ServiceChangedIndication()
    /// Whether what is known of the client has changed without a request.
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

    /// Continues with what waits for the program.
    mutating func answer(_ answer: ServerAnswer, database: inout AttributeDatabase) -> [GATTServerEvent] {
        response.removeAll()
        switch answer {
        case .read(let request, .success(let value)):
            return server.answer(request, value: value, database: &database, into: &response)
        case .read(let request, .failure(let code)):
            return server.refuse(request, with: code, database: &database, into: &response)
        case .write(let request, .success): return server.accept(request, database: &database, into: &response)
        case .write(let request, .failure(let code)): server.refuse(request, with: code, into: &response)
        case .authorization(let request, true):
            return server.authorize(request, database: &database, into: &response)
        case .authorization(let request, false):
            return server.refuse(request, database: &database, into: &response)
        case .command(let write): return server.carryOut(write, database: &database)
        case .giveUp(let code): server.giveUp(with: code, into: &response)
        }
        return []
    }

    /// The response is on its way; returns the ATT_MTU in force from now on if it is another.
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

    /// Makes Service Changed cover `range`; false when the client has not subscribed to its indications.
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

    /// Says once that what is known of the client has changed.
    mutating func takeClientChange() -> Bool {
        defer { isClientChanged = false }
        return isClientChanged
    }
}
