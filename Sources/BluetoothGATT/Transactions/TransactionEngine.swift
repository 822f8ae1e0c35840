import BluetoothATT
import BluetoothPrimitives

/// The order of PDUs on one ATT bearer (Core Vol 3 Part F §3.3.2, §3.3.3), as a state machine without a channel or a
/// clock.
///
/// - One request and one indication are outstanding at a time; others wait in the order queued.
/// - A response matches the outstanding request only; others are counted and dropped. An abandoned request keeps its
///   place until its response.
/// - Responses and confirmations are sent before all other PDUs, since the peer waits for them.
/// - Commands and notifications are sent in order whenever the channel accepts them.
/// - After ``timeOut()`` or ``close()`` nothing more is sent, and all waiting operations have failed.
///
/// The owner sends what
/// ``nextToSend(into:)`` writes and reports it with ``didSend(_:)``, passes received PDUs, ends the operations of ``nextEnded()``, and runs one timer of ``AttributeProtocol/transactionTimeout`` each for ``requestInFlight`` and ``indicationInFlight``.
public struct TransactionEngine {
    /// The PDU that ``nextToSend(into:)`` has written, or that the owner must encode.
    public enum Outgoing {
        /// The confirmation of the peer's indication.
        case confirmation
        /// The response to the peer's request.
        case response
        /// A request of a local client.
        case request
        /// A Service Changed indication, which the owner encodes.
        case serviceChanged
        /// An indication of a value, which the owner encodes.
        case indication(any ValueUpdate)
        /// A notification of a value, which the owner encodes.
        case notification(any ValueUpdate)
        /// A command.
        case command
    }

    private enum Indication {
        case value(any ValueUpdate)
        case serviceChanged
    }

    private enum Message {
        case command(any CommandMessage)
        case notification(any ValueUpdate)

        var operation: any BearerOperation {
            switch self {
            case .command(let message): message
            case .notification(let update): update
            }
        }
    }

    /// The current ATT_MTU, the maximum length of PDUs in both directions; values below 23 become 23.
    public var mtu: Int = AttributeProtocol.defaultMTU {
        didSet { mtu = max(mtu, AttributeProtocol.defaultMTU) }
    }
    /// The number of the outstanding indication; nil when there is none.
    public private(set) var indicationInFlight: UInt64?
    /// Whether the bearer is closed.
    public private(set) var isClosed = false
    /// Whether only confirmations and responses are sent, and no transaction begins.
    public var beginsNothing = false
    /// Whether Service Changed must be indicated, before any value.
    public var isServiceChangedPending = false

    private let waitingLimit: Int
    private var sequence: UInt64 = 0
    private var requests = RequestQueue()
    private var indication: Indication?
    private var indications = RingBuffer<any ValueUpdate>()
    private var messages = RingBuffer<Message>()
    private var pendingConfirmations = 0
    private var response: [UInt8] = []
    private var ended = EndedOperations()

    /// An engine with at most `waitingLimit` waiting operations of each kind; abandoned ones do not count.
    public init(waitingLimit: Int = 1024) {
        self.waitingLimit = waitingLimit
    }

    /// The number of the outstanding request; nil when there is none. Each new number restarts the 30 s timer.
    public var requestInFlight: UInt64? { requests.inFlight }

    /// The transaction whose turn it is; nil when there is none.
    var currentTransaction: (any ClientTransaction)? { requests.current }

    /// The number of responses that matched no request.
    public var strayResponseCount: Int { requests.strayResponseCount }

    /// Returns once whether a response matched no request.
    mutating func consumeStrayResponse() -> Bool { requests.consumeStrayResponse() }

    /// The next operation that has ended, in order; nil when there is none.
    public mutating func nextEnded() -> EndedOperation? { ended.popFirst() }

    private mutating func end(_ operation: any BearerOperation, _ failure: TransactionFailure?) {
        ended.append(operation, failure)
    }

    // MARK: Sending

    /// Enqueues the transaction of a client procedure.
    public mutating func submit(_ transaction: any ClientTransaction) {
        guard !isClosed else { return end(transaction, .closed) }
        requests.append(transaction, limit: waitingLimit, &ended)
    }

    /// Enqueues an indication of a value.
    public mutating func indicate(_ update: any ValueUpdate) {
        guard !isClosed else { return end(update, .closed) }
        if indications.count >= waitingLimit { indications.removeAll { $0.isAbandoned } }
        guard indications.count < waitingLimit else { return end(update, .tooManyWaiting(waitingLimit)) }
        indications.append(update)
    }

    /// Enqueues a notification of a value.
    public mutating func notify(_ update: any ValueUpdate) { append(.notification(update)) }

    /// Enqueues a command.
    public mutating func submit(_ command: any CommandMessage) { append(.command(command)) }

    private mutating func append(_ message: Message) {
        guard !isClosed else { return end(message.operation, .closed) }
        if messages.count >= waitingLimit { messages.removeAll { $0.operation.isAbandoned } }
        guard messages.count < waitingLimit else { return end(message.operation, .tooManyWaiting(waitingLimit)) }
        messages.append(message)
    }

    /// The number of current and waiting transactions.
    public var requestCount: Int { requests.count }

    /// Whether a command would be sent immediately, because no other PDU waits ahead of it.
    public var isIdleForMessages: Bool {
        !isClosed && !beginsNothing && messages.isEmpty && pendingConfirmations == 0 && !hasResponse
    }

    /// Adds a confirmation of the peer's indication to be sent.
    public mutating func enqueueConfirmation() {
        guard !isClosed else { return }
        pendingConfirmations += 1
    }

    /// Whether a response is pending; the peer must not send another request before it.
    public var hasResponse: Bool { !response.isEmpty }

    /// Enqueues the response to the peer's request, at most one at a time and at most ``mtu`` long; returns whether it
    /// was accepted.
    public mutating func respond(_ bytes: RawSpan) -> Bool {
        guard !isClosed, !hasResponse, !bytes.isEmpty, bytes.byteCount <= mtu else { return false }
        bytes.withUnsafeBytes { response.append(contentsOf: $0) }
        return true
    }

    /// Writes the next PDU into `writer`; nil when there is none. The owner encodes values.
    ///
    /// The state changes only in ``didSend(_:)``; after congestion the same PDU is returned again.
    public mutating func nextToSend(into writer: inout ByteWriter) -> Outgoing? {
        // A fast path: called after every packet, mostly without anything to send.
        guard pendingConfirmations > 0 || hasResponse || (!beginsNothing && hasSomethingToBegin), !isClosed else {
            return nil
        }
        writer.removeAll()
        writer.capacity = mtu
        if pendingConfirmations > 0 {
            return (try? encode(.handleValueConfirmation, into: &writer)).map { .confirmation }
        }
        if hasResponse {
            // The response fitted the ATT_MTU at its creation, and the peer waits for it.
            writer.capacity = max(mtu, response.count)
            return (try? writer.write(response)).map { .response }
        }
        guard !beginsNothing else { return nil }
        if requests.isReady, requests.writeNext(into: &writer, &ended) { return .request }
        if isIndicationReady, let outgoing = nextIndication() { return outgoing }
        return messages.isEmpty ? nil : nextMessage(into: &writer)
    }

    private var hasSomethingToBegin: Bool { requests.isReady || isIndicationReady || !messages.isEmpty }

    private var isIndicationReady: Bool {
        indicationInFlight == nil && (isServiceChangedPending || !indications.isEmpty)
    }

    private mutating func nextIndication() -> Outgoing? {
        if isServiceChangedPending { return .serviceChanged }
        while let update = indications.first {
            if !update.isAbandoned { return .indication(update) }
            _ = indications.popFirst()
        }
        return nil
    }

    private mutating func nextMessage(into writer: inout ByteWriter) -> Outgoing? {
        while let message = messages.first {
            if !message.operation.isAbandoned {
                switch message {
                case .notification(let update): return .notification(update)
                case .command(let command):
                    do {
                        try command.write(into: &writer)
                        return .command
                    } catch {
                        writer.removeAll()
                        end(command, error)
                    }
                }
            }
            _ = messages.popFirst()
        }
        return nil
    }

    /// Drops a value that the owner could not encode.
    public mutating func drop(_ outgoing: Outgoing, _ failure: TransactionFailure) {
        switch outgoing {
        case .serviceChanged: isServiceChangedPending = false
        case .indication: if let update = indications.popFirst() { end(update, failure) }
        case .notification: if let message = messages.popFirst() { end(message.operation, failure) }
        case .confirmation, .response, .request, .command: break
        }
    }

    /// Records that the kernel accepted the PDU of ``nextToSend(into:)``.
    public mutating func didSend(_ outgoing: Outgoing) {
        guard !isClosed else { return }
        switch outgoing {
        case .confirmation: pendingConfirmations -= 1
        case .response: response.removeAll(keepingCapacity: true)
        case .request:
            sequence &+= 1
            requests.didSend(number: sequence)
        case .serviceChanged:
            isServiceChangedPending = false
            begin(.serviceChanged)
        case .indication: if let update = indications.popFirst() { begin(.value(update)) }
        case .notification, .command: if let message = messages.popFirst() { end(message.operation, nil) }
        }
    }

    private mutating func begin(_ indication: Indication) {
        sequence &+= 1
        indicationInFlight = sequence
        self.indication = indication
    }

    // MARK: Receiving

    /// Receives a response or an Error Response; the owner handles notifications and indications.
    ///
    /// Returns false when 16 in a row have matched no request while one was outstanding: the owner must close the bearer.
    public mutating func receive(_ answer: ATTServerPDU) -> Bool { requests.receive(answer, &ended) }

    /// Receives a response or an Error Response that could not be decoded.
    ///
    /// Returns false when too many have matched no request, as ``receive(_:)`` does.
    ///
    /// - Parameter request: The opcode of the request that a malformed Error Response names, if it is that long.
    @discardableResult
    public mutating func receiveMalformedResponse(_ error: ATTDecodingError, to request: ATTOpcode? = nil) -> Bool {
        requests.receiveMalformedResponse(error, to: request, &ended)
    }

    /// Receives the peer's confirmation of the outstanding indication, and returns whether that was Service Changed; an
    /// unexpected one is ignored.
    @discardableResult
    public mutating func receiveConfirmation() -> Bool {
        guard indicationInFlight != nil, let confirmed = indication.take() else { return false }
        indicationInFlight = nil
        guard case .value(let update) = confirmed else { return true }
        end(update, nil)
        return false
    }

    // MARK: Closing

    /// The outstanding request or indication timed out: it fails with
    /// ``TransactionFailure/timedOut``, all others with ``TransactionFailure/closed``, and nothing more is sent.
    ///
    /// If both are outstanding, the one sent first has timed out.
    public mutating func timeOut() {
        if let sent = requestInFlight, sent < indicationInFlight ?? .max {
            requests.endCurrent(.timedOut, &ended)
        } else if indicationInFlight != nil, case .value(let late)? = indication.take() {
            end(late, .timedOut)
        }
        close()
    }

    /// The transactions in which the peer owes an answer.
    package var owed: OutstandingTransactions {
        guard !isClosed else { return OutstandingTransactions() }
        return OutstandingTransactions(request: requests.outstanding, isConfirmationDue: indicationInFlight != nil)
    }

    /// The transactions that would be outstanding if the bearer closed now. It stops the current transaction: call it
    /// directly before ``close()`` or ``timeOut()``.
    public func outstandingAtEnd() -> OutstandingTransactions {
        guard !isClosed else { return OutstandingTransactions() }
        var outstanding = owed
        outstanding.isCancellationDue = requests.stop()
        outstanding.isPeerWaiting = hasResponse || pendingConfirmations > 0
        return outstanding
    }

    /// Ends all operations with ``TransactionFailure/closed``.
    public mutating func close() {
        guard !isClosed else { return }
        isClosed = true
        indicationInFlight = nil
        isServiceChangedPending = false
        pendingConfirmations = 0
        response = []
        requests.endCurrent(.closed, &ended)
        if case .value(let update)? = indication.take() { end(update, .closed) }
        requests.closeWaiting(&ended)
        while let update = indications.popFirst() { end(update, .closed) }
        while let message = messages.popFirst() { end(message.operation, .closed) }
    }
}

/// Encodes `pdu` into `writer`; a PDU that does not fit is the caller's mistake.
func encode(_ pdu: ATTClientPDU, into writer: inout ByteWriter) throws(TransactionFailure) {
    do {
        try pdu.encode(into: &writer)
    } catch {
        throw .invalid("\(pdu.opcode) does not fit into an ATT_MTU of \(writer.capacity): \(error)")
    }
}
