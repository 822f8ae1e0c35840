import BluetoothATT
import BluetoothPrimitives

/// All rules of one ATT bearer, of this side's clients and of its server, without a channel or a clock.
///
/// Every input is a call; after each the owner carries out the steps of ``next(into:)`` until there is none. Nothing is
/// called back from inside. The owner lends the database to the calls that need it, and keeps ``server`` informed of the
/// link's protection.
package struct ATTBearerCore {
    /// Whether the channel takes packets.
    package enum SendState: Hashable, Sendable {
        case ready
        /// Waits until the channel is writable.
        case full
        /// Nothing is sent any more.
        case ended
    }

    /// Whether requests may begin.
    private enum Quiescence {
        case open
        /// Nothing begins, and something is in flight.
        case quiescing
        /// Nothing begins, and the owner knows that nothing is in flight.
        case quiet
    }

    /// Why the rules demand that the bearer ends.
    package enum Failure: Hashable, Sendable {
        /// The peer answered a request that was not made.
        case wrongAnswer(ATTOpcode)
        /// The peer did not answer in time.
        case unanswered
    }

    /// What the owner has to do.
    package enum Step {
        /// Send what is in the writer, and report what the channel said.
        case send
        /// Lend the database to ``encodeValue(database:into:)``, with the link's protection up to date, and send.
        case encodeValue
        /// Resume the caller of an operation.
        case end(EndedOperation)
        /// Persist what is known of the peer's client.
        case clientChanged
        /// Set or cancel a timer.
        case setTimer(BearerTimer, isOn: Bool)
        /// Stop or resume receiving, since the peer's requests wait while it has no answer to the last.
        case setReading(Bool)
        /// Nothing is in flight and nothing begins.
        case quiet
        /// Close the bearer, with ``close(_:)``.
        case close(Failure)
    }

    package private(set) var sending = SendState.ready
    private var engine: TransactionEngine
    private var served: BearerServer
    /// What the writer holds that the channel has not taken; nil for a command that does not wait.
    private var outgoing: TransactionEngine.Outgoing?
    private var timers = BearerTimers()
    private var quiescence = Quiescence.open
    private var isReadingPaused = false
    private var failure: Failure?
    /// Whether the bearer is an L2CAP channel of its own, whose MTU is the bearer's.
    private let isEnhanced: Bool

    /// A bearer just opened.
    package init(server: GATTServer, isEnhanced: Bool = false, waitingLimit: Int = 1024) {
        served = BearerServer(server)
        self.isEnhanced = isEnhanced
        engine = TransactionEngine(waitingLimit: waitingLimit)
    }

    /// The server of the bearer. Its PDUs come from the core alone.
    package var server: GATTServer {
        _read { yield served.server }
        _modify { yield &served.server }
    }

    /// The ATT_MTU in force.
    package var mtu: Int {
        get { engine.mtu }
        set {
            engine.mtu = newValue
            server.mtu = newValue
        }
    }

    /// How many requests are under way or wait.
    package var requestCount: Int { engine.requestCount }

    /// How many responses came that answer no request of ours.
    package var strayResponseCount: Int { engine.strayResponseCount }

    /// Whether the channel takes nothing for now.
    package var isCongested: Bool { sending == .full }

    private var canSend: Bool { sending == .ready }
}

// MARK: - Steps

extension ATTBearerCore {
    /// The next thing to do; nil when there is nothing until the next input.
    package mutating func next(into writer: inout ByteWriter) -> Step? {
        if let failure = failure.take() { return .close(failure) }
        if let ended = engine.nextEnded() { return .end(ended) }
        if served.takeClientChange() { return .clientChanged }
        if canSend {
            outgoing = engine.nextToSend(into: &writer)
            // What cannot be sent, since its caller asked for what cannot be, has ended.
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
        if quiescence == .quiescing, engine.requestInFlight == nil, engine.indicationInFlight == nil {
            quiescence = .quiet
            return .quiet
        }
        return nil
    }

    /// Encodes the value whose turn it is; false when the client may not be sent it.
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

    /// Writes a Write Command that may go out before anything that waits; false when it has to wait for its turn.
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

    /// Whether a command or a notification may be sent at once, since nothing waits.
    package var isIdle: Bool { canSend && engine.isIdleForMessages }

    // MARK: What the channel says

    /// The channel took what was in the writer.
    package mutating func didSend() {
        guard let sent = outgoing.take() else { return }
        engine.didSend(sent)
        switch sent {
        case .response: if let mtu = served.didSendResponse() { engine.mtu = mtu }
        case .serviceChanged: served.didSendServiceChanged()
        case .confirmation, .request, .indication, .notification, .command: break
        }
    }

    /// The channel is full.
    package mutating func channelIsFull() {
        outgoing = nil
        if canSend { sending = .full }
    }

    /// The channel is writable.
    package mutating func channelIsWritable() {
        if sending != .ended { sending = .ready }
    }

    /// The channel has ended: what it still holds is good, and nothing is sent any more.
    package mutating func channelEnded() {
        outgoing = nil
        sending = .ended
    }
}

// MARK: - The client side

extension ATTBearerCore {
    /// Queues the requests of a client procedure.
    package mutating func submit(_ transaction: any ClientTransaction) { engine.submit(transaction) }

    /// Queues a command.
    package mutating func submit(_ command: any CommandMessage) { engine.submit(command) }

    /// Begins no request, indication, command or notification from now on; ``Step/quiet`` comes when nothing waits for the
    /// peer's answer.
    ///
    /// A host may lose what arrives while a link is encrypted at this side's wish, so no answer is outstanding then.
    package mutating func quiesce() {
        engine.isHeld = true
        quiescence = .quiescing
    }

    /// Ends ``quiesce()``.
    package mutating func resume() {
        engine.isHeld = false
        quiescence = .open
    }

    /// Receives a PDU that is not a client's request or command; returns it when it is for the owner: values, and what is
    /// not known.
    ///
    /// - Throws: when it cannot be decoded; what follows from that has been done.
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
            if opcode.type == .response, !engine.receiveMalformedAnswer(error) { failure = .wrongAnswer(opcode) }
            throw error
        }
        switch pdu {
        case .handleValueIndication:
            engine.oweConfirmation()
            return pdu
        case .handleValueNotification, .multipleHandleValueNotification, .unknown: return pdu
        default:
            if !engine.receive(pdu) { failure = .wrongAnswer(opcode) }
            return nil
        }
    }

    private mutating func receiveConfirmation() {
        if engine.receiveConfirmation() == .serviceChanged { served.serviceChangedConfirmed() }
    }
}

// MARK: - The server side

extension ATTBearerCore {
    /// Queues a notification of one of our values.
    package mutating func notify(_ update: any ValueUpdate) { engine.notify(update) }

    /// Queues an indication of one of our values.
    package mutating func indicate(_ update: any ValueUpdate) { engine.indicate(update) }

    /// Receives a request, a command or a confirmation of the peer's client.
    ///
    /// - Returns: what the program has to know or to answer.
    package mutating func receive(_ bytes: RawSpan, database: inout AttributeDatabase) -> [GATTServerEvent] {
        guard let opcode = ATTOpcode(of: bytes), opcode.isSentByClient, !engine.isClosed else { return [] }
        if opcode == .handleValueConfirmation {
            receiveConfirmation()
            return []
        }
        if opcode.type == .request, engine.hasResponse { return [.requestOutOfTurn(opcode)] }
        if isEnhanced, opcode == .exchangeMTURequest {
            // An enhanced bearer's MTU is its channel's (Core Vol 3 Part F §3.4.2.1): Request Not Supported.
            _ = engine.respond([0x01, opcode.rawValue, 0, 0, ATTErrorCode.requestNotSupported.rawValue])
            return []
        }
        let events = served.receive(bytes, database: &database)
        respond()
        return events
    }

    /// Continues with what waits for the program.
    ///
    /// - Returns: what else the program has to know or to answer.
    package mutating func answer(_ answer: ServerAnswer, database: inout AttributeDatabase) -> [GATTServerEvent] {
        let events = served.answer(answer, database: &database)
        respond()
        return events
    }

    private mutating func respond() {
        // There is room: the server has at most one request, and none while a response waits.
        if served.response.count > 0 { _ = engine.respond(served.response.bytes) }
    }

    /// Our attributes have changed in `range`: the peer's client is sent an indication if it has subscribed to those of
    /// the characteristic at `handle`.
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

// MARK: - The end

extension ATTBearerCore {
    /// A time limit is over.
    package mutating func timedOut() {
        guard !engine.isClosed else { return }
        failure = .unanswered
    }

    /// Ends everything that waits; returns what the two sides still owe each other.
    ///
    /// - Parameter failure: the one that the core has asked for; nil when the owner ends the bearer.
    package mutating func close(_ failure: Failure? = nil) -> OutstandingTransactions {
        var outstanding = self.outstanding
        self.failure = nil
        outgoing = nil
        sending = .ended
        switch failure {
        case .unanswered:
            outstanding.isTooLate = true
            engine.timeOut()
        case .wrongAnswer:
            // The answer to what was asked is most likely still to come.
            outstanding.isResponseDue = true
            engine.close()
        case nil: engine.close()
        }
        return outstanding
    }

    /// What the two sides owe each other.
    package var outstanding: OutstandingTransactions {
        var outstanding = engine.outstandingAtEnd()
        if server.isWaitingForProgram || server.preparedWriteCount > 0 { outstanding.isPeerWaiting = true }
        return outstanding
    }
}
