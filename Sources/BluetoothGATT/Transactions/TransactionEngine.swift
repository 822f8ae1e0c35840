import BluetoothATT
import BluetoothPrimitives

/// The order of PDUs on one ATT bearer (Core Vol 3 Part F §3.3.2, §3.3.3), as a state machine without a channel or a clock.
///
/// - One request is outstanding at a time, and one indication; the others wait in the order they came.
/// - A response answers the request in flight and no other; an abandoned request keeps its place until then.
/// - Responses and confirmations go out before anything of our own, since the peer waits for them.
/// - Commands and notifications go out in order whenever the channel takes them.
/// - After ``timeOut()`` or ``close()`` nothing is sent any more and everything that waits has failed.
///
/// The owner sends what ``nextToSend(into:)`` writes, reports with ``didSend(_:)``, feeds what arrives, ends the
/// operations of ``nextEnded()``, and keeps one timer of ``AttributeProtocol/transactionTimeout`` for each of
/// ``requestInFlight`` and ``indicationInFlight``.
public struct TransactionEngine {
    /// What ``nextToSend(into:)`` has written, or what the owner has to encode.
    public enum Outgoing {
        /// Confirms the peer's indication.
        case confirmation
        /// Answers the peer's request.
        case response
        /// A client's request of our own.
        case request
        /// The indication of Service Changed, which the owner encodes.
        case serviceChanged
        /// An indication of a value, which the owner encodes.
        case indication(any ValueUpdate)
        /// A notification of a value, which the owner encodes.
        case notification(any ValueUpdate)
        /// A command.
        case command
    }

    /// What a confirmation is for.
    public enum Confirmation: Sendable {
        /// No indication, or a value's.
        case value
        /// The indication of Service Changed.
        case serviceChanged
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

    /// The ATT_MTU in force: the longest PDU either side may send; less than 23 counts as 23.
    public var mtu: Int = AttributeProtocol.defaultMTU {
        didSet { mtu = max(mtu, AttributeProtocol.defaultMTU) }
    }
    /// Counts the indications sent; nil while none is unconfirmed.
    public private(set) var indicationInFlight: UInt64?
    /// Whether the bearer has ended.
    public private(set) var isClosed = false
    /// Whether nothing is begun for now: only what the peer waits for, confirmations and responses, is sent.
    public var isHeld = false
    /// Whether Service Changed has to be indicated, before any value.
    public var isServiceChangedPending = false

    private let waitingLimit: Int
    private var sequence: UInt64 = 0
    private var requests: RequestQueue
    private var indication: Indication?
    private var indications = RingBuffer<any ValueUpdate>()
    private var messages = RingBuffer<Message>()
    private var confirmationsOwed = 0
    private var response: [UInt8] = []
    private var ended = EndedOperations()

    /// An engine on which at most `waitingLimit` calls of each kind may wait; those whose callers gave up do
    /// not count.
    public init(waitingLimit: Int = 1024) {
        self.waitingLimit = waitingLimit
        requests = RequestQueue(limit: waitingLimit)
    }

    /// Counts the requests sent; nil while none is unanswered. A new number starts the 30 s anew.
    public var requestInFlight: UInt64? { requests.inFlight }

    /// How many responses came that answer no request of ours.
    public var strayResponseCount: Int { requests.strayResponseCount }

    /// The next operation that has ended, in the order in which they did; nil when there is none.
    public mutating func nextEnded() -> EndedOperation? { ended.popFirst() }

    private mutating func end(_ operation: any BearerOperation, _ failure: TransactionFailure?) {
        ended.append(operation, failure)
    }

    // MARK: What is to be sent

    /// Queues the requests of a client procedure.
    public mutating func submit(_ transaction: any ClientTransaction) {
        guard !isClosed else { return end(transaction, .closed) }
        requests.append(transaction, &ended)
    }

    /// Queues an indication of a value.
    public mutating func indicate(_ update: any ValueUpdate) {
        guard !isClosed else { return end(update, .closed) }
        if indications.count >= waitingLimit { indications.removeAll { $0.isAbandoned } }
        guard indications.count < waitingLimit else { return end(update, .tooManyWaiting(waitingLimit)) }
        indications.append(update)
    }

    /// Queues a notification of a value.
    public mutating func notify(_ update: any ValueUpdate) { append(.notification(update)) }

    /// Queues a command.
    public mutating func submit(_ command: any CommandMessage) { append(.command(command)) }

    private mutating func append(_ message: Message) {
        guard !isClosed else { return end(message.operation, .closed) }
        if messages.count >= waitingLimit { messages.removeAll { $0.operation.isAbandoned } }
        guard messages.count < waitingLimit else { return end(message.operation, .tooManyWaiting(waitingLimit)) }
        messages.append(message)
    }

    /// How many requests' procedures are under way or wait.
    public var requestCount: Int { requests.count }

    /// Whether a command would go out at once, before anything that waits.
    public var isIdleForMessages: Bool {
        !isClosed && !isHeld && messages.isEmpty && confirmationsOwed == 0 && !hasResponse
    }

    /// Owes the peer a confirmation of its indication.
    public mutating func oweConfirmation() {
        guard !isClosed else { return }
        confirmationsOwed += 1
    }

    /// Whether a response waits to be sent; the peer may not make another request before it has it.
    public var hasResponse: Bool { !response.isEmpty }

    /// Queues the response to the peer's request, at most one at a time and no longer than ``mtu``; says whether it was
    /// taken.
    public mutating func respond(_ bytes: [UInt8]) -> Bool {
        guard !isClosed, !hasResponse, !bytes.isEmpty, bytes.count <= mtu else { return false }
        response = bytes
        return true
    }

    /// Writes the PDU to be sent next into `writer`, or returns nil when there is none; a value is encoded by the owner.
    ///
    /// Nothing changes until ``didSend(_:)``; after a full channel the same PDU comes again.
    public mutating func nextToSend(into writer: inout ByteWriter) -> Outgoing? {
        // Asked after every packet, mostly for nothing.
        guard confirmationsOwed > 0 || hasResponse || (!isHeld && hasSomethingToBegin), !isClosed else { return nil }
        writer.removeAll()
        writer.capacity = mtu
        if confirmationsOwed > 0 {
            return write(.confirmation, into: &writer) { (writer) throws(TransactionFailure) in
                try encode(.handleValueConfirmation, into: &writer)
            }
        }
        if hasResponse {
            // It fitted when it was made, and the peer waits for it.
            writer.capacity = max(mtu, response.count)
            return write(.response, into: &writer) { (writer) throws(TransactionFailure) in
                do { try writer.write(response) } catch { throw .invalid("\(error)") }
            }
        }
        guard !isHeld else { return nil }
        if requests.isReady, requests.writeNext(into: &writer, &ended) { return .request }
        if isIndicationReady, let outgoing = nextIndication() { return outgoing }
        return messages.isEmpty ? nil : nextMessage(into: &writer)
    }

    private var hasSomethingToBegin: Bool { requests.isReady || isIndicationReady || !messages.isEmpty }

    private var isIndicationReady: Bool {
        indicationInFlight == nil && (isServiceChangedPending || !indications.isEmpty)
    }

    private func write(
        _ kind: Outgoing, into writer: inout ByteWriter, _ body: (inout ByteWriter) throws(TransactionFailure) -> Void
    ) -> Outgoing? {
        do {
            try body(&writer)
            return kind
        } catch {
            return nil
        }
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

    /// The kernel took what ``nextToSend(into:)`` gave last.
    public mutating func didSend(_ outgoing: Outgoing) {
        guard !isClosed else { return }
        switch outgoing {
        case .confirmation: confirmationsOwed -= 1
        case .response: response = []
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

    // MARK: What arrives

    /// Receives a response or an Error Response. Notifications and indications are the owner's.
    ///
    /// Returns false when the answer does not belong to the request in flight: which answer belongs to which request
    /// cannot be told any more, so the owner has to close the bearer.
    public mutating func receive(_ answer: ATTServerPDU) -> Bool { requests.receive(answer, &ended) }

    /// Receives the bytes of a response or an Error Response that could not be decoded.
    ///
    /// Returns false when it does not belong to the request in flight, as ``receive(_:)`` does.
    @discardableResult
    public mutating func receiveMalformedAnswer(_ error: ATTDecodingError) -> Bool {
        requests.receiveMalformedAnswer(error, &ended)
    }

    /// Receives the peer's confirmation of the indication in flight; one of nothing is ignored.
    @discardableResult
    public mutating func receiveConfirmation() -> Confirmation {
        guard indicationInFlight != nil, let confirmed = indication.take() else { return .value }
        indicationInFlight = nil
        guard case .value(let update) = confirmed else { return .serviceChanged }
        end(update, nil)
        return .value
    }

    // MARK: The end

    /// The request or indication in flight was not answered in time: it fails with
    /// ``TransactionFailure/timedOut``, all others with ``TransactionFailure/closed``, and nothing is sent any more.
    ///
    /// Of a request and an indication the one that was sent first is late.
    public mutating func timeOut() {
        if let sent = requestInFlight, sent < indicationInFlight ?? .max {
            requests.timeOut(&ended)
        } else if indicationInFlight != nil, case .value(let late)? = indication.take() {
            end(late, .timedOut)
        }
        close()
    }

    /// The transactions that would be outstanding if the bearer ended now. Call it right before ``close()`` or
    /// ``timeOut()``.
    public func outstandingAtEnd() -> OutstandingTransactions {
        guard !isClosed else { return OutstandingTransactions() }
        return OutstandingTransactions(
            isResponseDue: requestInFlight != nil, isConfirmationDue: indicationInFlight != nil,
            isCancellationDue: requests.isCancellationDue, isPeerWaiting: hasResponse || confirmationsOwed > 0)
    }

    /// Ends everything that waits with ``TransactionFailure/closed``.
    public mutating func close() {
        guard !isClosed else { return }
        isClosed = true
        indicationInFlight = nil
        isServiceChangedPending = false
        confirmationsOwed = 0
        response = []
        requests.closeCurrent(&ended)
        if case .value(let update)? = indication.take() { end(update, .closed) }
        requests.closeWaiting(&ended)
        while let update = indications.popFirst() { end(update, .closed) }
        while let message = messages.popFirst() { end(message.operation, .closed) }
    }
}

/// Writes `pdu` into `writer`; what does not fit is the caller's mistake.
func encode(_ pdu: ATTClientPDU, into writer: inout ByteWriter) throws(TransactionFailure) {
    do {
        try pdu.encode(into: &writer)
    } catch {
        throw .invalid("\(pdu.opcode) does not fit into an ATT_MTU of \(writer.capacity): \(error)")
    }
}
