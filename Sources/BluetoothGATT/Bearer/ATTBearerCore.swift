import BluetoothATT
import BluetoothPrimitives

/// The protocol rules of one ATT bearer, of its client and its server side, without a channel or a clock.
///
/// Every input is a method call; after each the owner performs the steps of ``next(into:)`` until it returns nil. There
/// are no callbacks. The owner passes the database to the methods that need it, and updates the link's protection in
/// ``server``.
package struct ATTBearerCore: ~Copyable {
    /// The state of the channel for sending.
    package enum SendState: Hashable, Sendable {
        case ready
        /// The channel is congested; sending waits until it is writable.
        case full
        /// The channel is closed for sending.
        case ended
    }

    /// The reason for which the rules close the bearer.
    package enum Failure: Hashable, Sendable {
        /// The peer sent too many responses in a row that match no request; the last one's opcode.
        case unexpectedResponse(ATTOpcode)
        /// A transaction timed out.
        case timedOut
    }

    /// An action for the owner.
    package enum Step {
        /// Send the contents of the writer, and report the channel's result.
        case send
        /// Call ``encodeValue(database:into:)`` with the database, after updating the link's protection, and send.
        case encodeValue
        /// Resume the caller of a completed operation.
        case end(EndedOperation)
        /// Notify the transaction of ``takeBegun()`` that the channel has accepted its request.
        case began
        /// Persist the state of the peer's client.
        case clientChanged
        /// Set or cancel a timer.
        case setTimer(BearerTimer, isOn: Bool)
        /// Pause or resume receiving: the peer's requests wait while its last response is not sent yet.
        case setReading(Bool)
        /// Close the bearer with ``close(_:)``.
        case close(Failure)
    }

    package private(set) var sending = SendState.ready
    private var engine: TransactionEngine
    private var served: BearerServer
    /// The PDU in the writer, until the channel accepts it; nil for a command sent ahead of the queue.
    private var outgoing: TransactionEngine.Outgoing?
    /// Whether ``Step/began`` is asked for, which costs each request a step.
    private var reportsBeginnings = false
    private var begun: (any ClientTransaction)?
    /// The transaction of the last step ``Step/began``.
    private var reported: (any ClientTransaction)?
    private var timers = BearerTimers()
    private var isReadingPaused = false
    private var failure: Failure?
    /// Whether the bearer is enhanced, which means that its ATT_MTU is the MTU of its L2CAP channel.
    private let isEnhanced: Bool

    /// A bearer on a channel that has just opened.
    package init(server: GATTServer, isEnhanced: Bool = false, waitingLimit: Int = 1024) {
        served = BearerServer(server)
        self.isEnhanced = isEnhanced
        engine = TransactionEngine(waitingLimit: waitingLimit)
    }

    /// The server of the bearer; only the core passes PDUs to it.
    package var server: GATTServer {
        _read { yield served.server }
        _modify { yield &served.server }
    }

    /// The current ATT_MTU.
    package var mtu: Int {
        get { engine.mtu }
        set {
            engine.mtu = newValue
            server.mtu = newValue
        }
    }

    /// The number of outstanding and queued requests.
    package var requestCount: Int { engine.requestCount }

    /// The number of received responses that matched no request.
    package var strayResponseCount: Int { engine.strayResponseCount }

    /// Whether the peer has not confirmed an indication yet.
    package var isConfirmationDue: Bool { engine.indicationInFlight != nil }

    /// The transactions in which the peer owes an answer.
    package var owed: OutstandingTransactions { engine.owed }

    /// Whether the channel is congested.
    package var isCongested: Bool { sending == .full }

    private var canSend: Bool { sending == .ready }
}

// MARK: - Steps

extension ATTBearerCore {
    /// The next action for the owner; nil until the next input.
    package mutating func next(into writer: inout ByteWriter) -> Step? {
        if let failure = failure.take() { return .close(failure) }
        if reportsBeginnings, begun != nil {
            reported = begun.take()
            return .began
        }
        if let ended = engine.nextEnded() { return .end(ended) }
        if served.consumeClientChange() { return .clientChanged }
        if canSend {
            outgoing = engine.nextToSend(into: &writer)
            // A request that cannot be encoded has ended.
            if let ended = outgoing == nil ? engine.nextEnded() : nil { return .end(ended) }
            switch outgoing {
            case .indication, .notification, .serviceChanged: return .encodeValue
            case .confirmation, .response, .request, .command: return .send
            case nil: break
            }
        }
        return nextWithoutSending()
    }

    private mutating func nextWithoutSending() -> Step? {
        let change = timers.nextChange(
            request: engine.requestInFlight, indication: engine.indicationInFlight)
        if let change { return .setTimer(change.timer, isOn: change.isOn) }
        guard sending != .ended else { return nil }
        if isReadingPaused != engine.hasResponse {
            isReadingPaused.toggle()
            return .setReading(!isReadingPaused)
        }
        return nil
    }

    /// Encodes the next value; false when the client must not receive it.
    package mutating func encodeValue(
        database: borrowing AttributeDatabase, into writer: inout ByteWriter
    ) -> Bool {
        guard let outgoing else { return false }
        do throws(GATTServerError) {
            try served.encode(outgoing, database: database, into: &writer)
            return true
        } catch {
            engine.drop(outgoing, .notSendable(error))
            self.outgoing = nil
            return false
        }
    }

    /// Writes a Write Command that can be sent ahead of the queue; false when it must be queued.
    package mutating func encodeCommand(
        _ value: RawSpan, to handle: AttributeHandle, into writer: inout ByteWriter
    ) -> Bool {
        guard isIdle else { return false }
        outgoing = nil
        writer.removeAll()
        writer.capacity = engine.mtu
        do { try ATTClientPDU.writeCommand(handle, value: value).encode(into: &writer) } catch { return false }
        return true
    }

    /// Writes a notification that can be sent ahead of the queue; false when it must be queued, whose turn also finds the
    /// reason why it must not be sent.
    package mutating func encodeNotification(
        _ value: RawSpan, of characteristic: AttributeHandle, database: borrowing AttributeDatabase,
        into writer: inout ByteWriter
    ) -> Bool {
        guard isIdle else { return false }
        outgoing = nil
        do throws(GATTServerError) {
            try served.encodeNotification(of: characteristic, value: value, database: database, into: &writer)
            return true
        } catch {
            return false
        }
    }

    /// Whether a command or a notification can be sent immediately: the queues are empty.
    package var isIdle: Bool { canSend && engine.isIdleForMessages }

    // MARK: Results of the channel

    /// The channel accepted the contents of the writer.
    package mutating func didSend() {
        guard let sent = outgoing.take() else { return }
        engine.didSend(sent)
        switch sent {
        case .request: if reportsBeginnings { begun = engine.currentTransaction }
        case .response: if let mtu = served.didSendResponse() { engine.mtu = mtu }
        case .serviceChanged: served.didSendServiceChanged()
        case .confirmation, .indication, .notification, .command: break
        }
    }

    /// The channel is congested.
    package mutating func channelIsFull() {
        outgoing = nil
        if canSend { sending = .full }
    }

    /// The channel accepts answers only, until it is writable: it holds requests, indications, commands and notifications.
    package mutating func channelHolds() {
        outgoing = nil
        engine.beginsNothing = true
    }

    /// The channel is writable again.
    package mutating func channelIsWritable() {
        engine.beginsNothing = false
        if sending != .ended { sending = .ready }
    }

    /// The channel is closed for sending; the PDUs received before remain valid.
    package mutating func channelEnded() {
        outgoing = nil
        sending = .ended
    }
}

// MARK: - The client side

extension ATTBearerCore {
    /// Returns the transaction of the step ``Step/began``.
    package mutating func takeBegun() -> (any ClientTransaction)? { reported.take() }

    /// Enqueues the transaction of a client procedure; with `reportsBeginning` it learns when its requests are sent.
    package mutating func submit(_ transaction: any ClientTransaction, reportsBeginning: Bool = false) {
        if reportsBeginning { reportsBeginnings = true }
        engine.submit(transaction)
    }

    /// Enqueues a command.
    package mutating func submit(_ command: any CommandMessage) { engine.submit(command) }

    /// Returns once whether a response matched no request.
    package mutating func consumeStrayResponse() -> Bool { engine.consumeStrayResponse() }

    /// Receives a PDU other than a request or a command; returns notifications, indications and unknown PDUs, which the
    /// owner handles.
    ///
    /// - Throws: ``ATTDecodingError`` for a malformed PDU, after its consequences have taken effect.
    @_lifetime(copy bytes)
    package mutating func receive(_ bytes: RawSpan) throws(ATTDecodingError) -> ATTServerPDU? {
        guard let opcode = ATTOpcode(of: bytes) else { return nil }
        if opcode == .handleValueConfirmation {
            receiveConfirmation()
            return nil
        }
        let pdu: ATTServerPDU
        do throws(ATTDecodingError) {
            pdu = try ATTServerPDU(decoding: bytes)
        } catch {
            let request = ATTOpcode(of: bytes.extracting(droppingFirst: 1))
            if opcode.type == .response, !engine.receiveMalformedResponse(error, to: request) {
                failure = .unexpectedResponse(opcode)
            }
            throw error
        }
        switch pdu {
        case .handleValueIndication:
            engine.enqueueConfirmation()
            return pdu
        case .handleValueNotification, .multipleHandleValueNotification, .unknown: return pdu
        default:
            if !engine.receive(pdu) { failure = .unexpectedResponse(opcode) }
            return nil
        }
    }

    private mutating func receiveConfirmation() {
        if engine.receiveConfirmation() { served.serviceChangedConfirmed() }
    }
}

// MARK: - The server side

extension ATTBearerCore {
    /// Enqueues a notification of a local value.
    package mutating func notify(_ update: any ValueUpdate) { engine.notify(update) }

    /// Enqueues an indication of a local value.
    package mutating func indicate(_ update: any ValueUpdate) { engine.indicate(update) }

    /// Receives a request, a command or a confirmation from the peer's client.
    ///
    /// - Returns: The events that the program must know of or respond to.
    package mutating func receive(_ bytes: RawSpan, database: inout AttributeDatabase) -> [GATTServerEvent] {
        guard let opcode = ATTOpcode(of: bytes), opcode.isSentByClient, !engine.isClosed else { return [] }
        if opcode == .handleValueConfirmation {
            receiveConfirmation()
            return []
        }
        if opcode.type == .request, engine.hasResponse { return [.requestOutOfTurn(opcode)] }
        if isEnhanced, opcode == .exchangeMTURequest {
            // The MTU of an enhanced bearer is its channel's (Core Vol 3 Part F §3.4.2.1): Request Not Supported.
            let refusal = [0x01, opcode.rawValue, 0, 0, ATTErrorCode.requestNotSupported.rawValue]
            _ = engine.respond(refusal.span.bytes)
            return []
        }
        let events = served.receive(bytes, database: &database)
        respond()
        return events
    }

    /// Continues the request of an event with the program's answer, or with nil refuses the pending request as a whole.
    ///
    /// - Returns: Further events that the program must know of or respond to.
    package mutating func answer(
        _ event: GATTServerEvent?, with result: Result<[UInt8], ATTErrorCode>, database: inout AttributeDatabase
    ) -> [GATTServerEvent] {
        let events = served.answer(event, with: result, database: &database)
        respond()
        return events
    }

    private mutating func respond() { Self.pass(served.response, to: &engine) }

    private static func pass(_ response: borrowing ByteWriter, to engine: inout TransactionEngine) {
        // The response always fits: the server has at most one request, and none while a response is pending.
        if response.count > 0 { _ = engine.respond(response.span) }
    }

    /// Updates the server after the local attributes in `range` changed, and indicates Service Changed if the client
    /// has subscribed to it at `handle`.
    package mutating func databaseChanged(
        in range: AttributeHandleRange, _ database: borrowing AttributeDatabase, serviceChanged handle: AttributeHandle?
    ) {
        server.databaseChanged(database)
        server.client.endAuthorization(in: range)
        indicateServiceChanged(in: range, at: handle)
    }

    /// Indicates Service Changed if the peer's client has subscribed to it.
    package mutating func indicateServiceChanged(in range: AttributeHandleRange, at handle: AttributeHandle?) {
        guard !engine.isClosed, served.includeInServiceChanged(range, at: handle) else { return }
        engine.isServiceChangedPending = true
    }
}

// MARK: - Closing

extension ATTBearerCore {
    /// A transaction timed out.
    package mutating func timedOut() {
        guard !engine.isClosed else { return }
        failure = .timedOut
    }

    /// Ends all operations; returns the outstanding transactions of both sides.
    ///
    /// - Parameter failure: The failure that the core reported; nil when the owner closes the bearer.
    package mutating func close(_ failure: Failure? = nil) -> OutstandingTransactions {
        var outstanding = outstandingAtEnd()
        self.failure = nil
        outgoing = nil
        sending = .ended
        switch failure {
        case .timedOut:
            outstanding.hasTimedOut = true
            engine.timeOut()
        case .unexpectedResponse, nil: engine.close()
        }
        return outstanding
    }

    /// The transactions of both sides that would be outstanding if the bearer closed now, which must follow: the current
    /// transaction has been stopped.
    package func outstandingAtEnd() -> OutstandingTransactions {
        var outstanding = engine.outstandingAtEnd()
        if server.isWaitingForProgram || server.preparedWriteCount > 0 { outstanding.isPeerWaiting = true }
        return outstanding
    }
}
