import BluetoothATT
import BluetoothPrimitives

/// The program's answer to a request or a command of the peer's client.
package enum ServerAnswer: Sendable {
    /// The value read, or the error code.
    case read(GATTReadRequest, Result<[UInt8], ATTErrorCode>)
    /// Success of the whole write, or the error code.
    case write(GATTWriteRequest, Result<Void, ATTErrorCode>)
    /// The client's authorization for its request.
    case authorization(GATTAuthorizationRequest, isAuthorized: Bool)
    /// The client's authorization for a command.
    case command(AttributeWrite)
    /// A refusal of the pending request as a whole.
    case refuse(ATTErrorCode)
}

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

    /// Continues a request with the program's answer.
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
        case .command(let write): return server.perform(write, database: &database)
        case .refuse(let code): server.refusePending(with: code, into: &response)
        }
        return []
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
