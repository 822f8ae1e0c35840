import BluetoothATT
import BluetoothPrimitives

/// The server of one bearer with its pending response and its pending Service Changed indication.
struct BearerServer: ~Copyable {
    var server: GATTServer
    /// The pending response; empty when there is none.
    private(set) var response = ByteWriter(growingTo: 517)
    /// The ATT_MTU from the last exchange, in force once the response has been sent.
    private var agreedMTU: Int?
    /// The affected range of the pending Service Changed indication and the handle of the characteristic
    /// (Core Vol 3 Part G §7.1); nil when none is pending. While it is pending it also covers later changes, so that at
    /// most one is pending.
    private var serviceChanged: (range: AttributeHandleRange, handle: AttributeHandle)?
    /// The client's change count at the time the outstanding Service Changed indication was sent.
    private var sentChangeCount: UInt64 = 0
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
            try encodeNotification(
                of: update.characteristic, value: update.value.span.bytes, database: database, into: &writer)
        case .indication(let update):
            try server.encodeIndication(
                of: update.characteristic, value: update.value.span.bytes, database: database, into: &writer)
        case .serviceChanged:
            let value = serviceChanged.map { encoded($0.range.start) + encoded($0.range.end) } ?? []
            do throws(GATTServerError) {
                try server.encodeIndication(
                    of: serviceChanged?.handle ?? .none, value: value.span.bytes, database: database, into: &writer)
            } catch {
                // The client has not subscribed, or its link lacks the required protection.
                serviceChanged = nil
                throw error
            }
        case .confirmation, .response, .request, .command: break
        }
    }

    /// Encodes a notification.
    mutating func encodeNotification(
        of characteristic: AttributeHandle, value: RawSpan, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) throws(GATTServerError) {
        try server.encodeNotification(of: characteristic, value: value, database: database, into: &writer)
    }

    // MARK: Service Changed

    /// Adds `range` to the pending Service Changed indication; false when the client has not subscribed to it.
    mutating func includeInServiceChanged(_ range: AttributeHandleRange, at handle: AttributeHandle?) -> Bool {
        guard let handle, server.client.configurations[handle]?.contains(.indication) == true else { return false }
        serviceChanged = (serviceChanged?.range.joined(with: range) ?? range, handle)
        return true
    }

    mutating func didSendServiceChanged() {
        sentChangeCount = server.client.changeCount
        serviceChanged = nil
    }

    mutating func serviceChangedConfirmed() {
        server.client.confirmedServiceChanged(sentChangeCount)
        isClientChanged = true
    }

    /// Returns once whether the client's state changed without a request.
    mutating func consumeClientChange() -> Bool {
        defer { isClientChanged = false }
        return isClientChanged
    }
}
