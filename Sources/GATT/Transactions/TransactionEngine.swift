import ATT
import BluetoothPrimitives

/// The rules of one ATT bearer (Core Vol 3 Part F §3.3.2, §3.3.3), as a state machine without a socket or a clock.
///
/// - One request is outstanding at a time, and one indication; the others wait in the order they came.
/// - A response answers the request in flight and no other; an abandoned request keeps its place until then.
/// - Responses and confirmations go out before anything of our own, since the peer waits for them.
/// - Commands and notifications go out in order whenever the socket takes them.
/// - After ``timeOut()`` or ``close()`` nothing is sent any more and everything that waits has failed.
///
/// The owner sends what ``nextToSend(into:)`` writes, reports with ``didSend(_:)``, feeds what arrives, and keeps one
/// timer of ``AttributeProtocol/transactionTimeout`` for each of ``requestInFlight`` and ``indicationInFlight``.
public struct TransactionEngine {
    /// What ``nextToSend(into:)`` has written.
    public enum Outgoing: Sendable, Hashable {
        /// Says that the peer's indication has arrived.
        case confirmation
        /// Answers the peer's request.
        case response
        /// A client's request of our own.
        case request
        /// A server's indication of our own.
        case indication
        /// A command or a notification.
        case message
    }

    /// The ATT_MTU in force: the longest PDU either side may send; less than 23 counts as 23.
    public var mtu: Int = AttributeProtocol.defaultMTU {
        didSet { mtu = max(mtu, AttributeProtocol.defaultMTU) }
    }
    /// Counts the requests sent; nil while none is unanswered. A new number starts the 30 s anew.
    public private(set) var requestInFlight: UInt64?
    /// Counts the indications sent; nil while none is unconfirmed.
    public private(set) var indicationInFlight: UInt64?
    /// How many responses came that answer nothing we asked.
    public private(set) var strayResponseCount = 0
    /// Whether the bearer is of no use any more.
    public private(set) var isClosed = false
    /// Whether nothing is begun for now: only what the peer waits for, confirmations and responses, is sent.
    public var isHeld = false

    private let waitingLimit: Int
    private var sequence: UInt64 = 0

    private var request: (any ClientTransaction)?
    private var requestOpcode = ATTOpcode(0)
    /// Whether a request of the transaction has been sent.
    private var hasBegun = false
    /// Whether the transaction is at its last request, since its caller gave up.
    private var isStopping = false
    private var requests = RingBuffer<any ClientTransaction>()

    private var indication: (any ServerTransaction)?
    private var indications = RingBuffer<any ServerTransaction>()

    private var messages = RingBuffer<any UnansweredMessage>()

    private var confirmationsOwed = 0
    private var response: ByteWriter

    /// An engine on which at most `waitingLimit` calls of each kind may wait; those whose callers gave up do
    /// not count.
    public init(waitingLimit: Int = 1024) {
        self.waitingLimit = waitingLimit
        response = ByteWriter(capacity: 0)
    }

    // MARK: What is to be sent

    /// Queues the requests of a client procedure.
    public mutating func submit(_ transaction: any ClientTransaction) {
        guard !isClosed else { return transaction.fail(.closed) }
        if requests.count >= waitingLimit { requests.removeAll { $0.isAbandoned } }
        guard requests.count < waitingLimit else { return transaction.fail(.tooManyWaiting(waitingLimit)) }
        requests.append(transaction)
    }

    /// Queues an indication.
    public mutating func submit(_ transaction: any ServerTransaction) {
        guard !isClosed else { return transaction.fail(.closed) }
        if indications.count >= waitingLimit { indications.removeAll { $0.isAbandoned } }
        guard indications.count < waitingLimit else { return transaction.fail(.tooManyWaiting(waitingLimit)) }
        indications.append(transaction)
    }

    /// Queues a command or a notification.
    public mutating func submit(_ message: any UnansweredMessage) {
        guard !isClosed else { return message.fail(.closed) }
        if messages.count >= waitingLimit { messages.removeAll { $0.isAbandoned } }
        guard messages.count < waitingLimit else { return message.fail(.tooManyWaiting(waitingLimit)) }
        messages.append(message)
    }

    /// How many requests' procedures are under way or wait.
    public var requestCount: Int { requests.count + (request == nil ? 0 : 1) }

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
    public var hasResponse: Bool { response.count > 0 }

    /// Takes the response to the peer's request, at most one at a time and no longer than ``mtu``; says whether it was
    /// taken.
    public mutating func respond(_ bytes: [UInt8]) -> Bool {
        guard !isClosed, !hasResponse, !bytes.isEmpty, bytes.count <= mtu else { return false }
        response.removeAll()
        response.capacity = bytes.count
        do { try response.write(bytes) } catch { return false }
        return true
    }

    /// Writes the PDU that is to be sent next into `writer`, or returns nil when there is none.
    ///
    /// Nothing changes until ``didSend(_:)``; a full socket is asked again later with the same PDU.
    public mutating func nextToSend(into writer: inout ByteWriter) -> Outgoing? {
        guard !isClosed else { return nil }
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
                do { try writer.write(response.bytes) } catch { throw .invalid("\(error)") }
            }
        }
        guard !isHeld else { return nil }
        if let outgoing = nextRequest(into: &writer) { return outgoing }
        if let outgoing = nextIndication(into: &writer) { return outgoing }
        return nextMessage(into: &writer)
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

    private mutating func nextRequest(into writer: inout ByteWriter) -> Outgoing? {
        guard requestInFlight == nil else { return nil }
        while true {
            if request == nil {
                request = requests.popFirst()
                hasBegun = false
                isStopping = false
            }
            guard let transaction = request else { return nil }
            if transaction.isAbandoned, !isStopping {
                // What has not begun has left nothing behind.
                guard hasBegun, transaction.stop() == .next else {
                    request = nil
                    continue
                }
                isStopping = true
            }
            do {
                try transaction.writeRequest(into: &writer)
                return .request
            } catch {
                request = nil
                writer.removeAll()
                transaction.fail(error)
            }
        }
    }

    private mutating func nextIndication(into writer: inout ByteWriter) -> Outgoing? {
        guard indicationInFlight == nil else { return nil }
        while true {
            if indication == nil { indication = indications.popFirst() }
            guard let transaction = indication else { return nil }
            do {
                if !transaction.isAbandoned {
                    try transaction.writeIndication(into: &writer)
                    return .indication
                }
            } catch {
                writer.removeAll()
                transaction.fail(error)
            }
            indication = nil
        }
    }

    private mutating func nextMessage(into writer: inout ByteWriter) -> Outgoing? {
        while let message = messages.first {
            do {
                if !message.isAbandoned {
                    try message.write(into: &writer)
                    return .message
                }
            } catch {
                writer.removeAll()
                message.fail(error)
            }
            _ = messages.popFirst()
        }
        return nil
    }

    /// Takes note that the kernel took what ``nextToSend(into:)`` wrote last into `writer`.
    public mutating func didSend(_ outgoing: Outgoing, _ writer: ByteWriter) {
        guard !isClosed else { return }
        switch outgoing {
        case .confirmation: confirmationsOwed -= 1
        case .response: response.removeAll()
        case .request:
            sequence &+= 1
            requestInFlight = sequence
            requestOpcode = ATTOpcode(writer.bytes.first ?? 0)
            hasBegun = true
        case .indication:
            sequence &+= 1
            indicationInFlight = sequence
        case .message: messages.popFirst()?.wasSent()
        }
    }

    // MARK: What arrives

    /// Takes a response or an Error Response. Notifications and indications are the owner's.
    ///
    /// Returns false when the answer does not belong to the request in flight: which answer belongs to which request
    /// cannot be told any more, so the owner has to close the bearer.
    public mutating func receive(_ answer: ATTServerPDU) -> Bool {
        guard requestInFlight != nil, let transaction = request else {
            strayResponseCount += 1
            return true
        }
        guard answers(answer) else {
            finishRequest(transaction, .violation("\(answer.opcode) came as the answer to a \(requestOpcode)"))
            return false
        }
        requestInFlight = nil
        // An abandoned transaction that would go on is stopped when its turn to send comes.
        if transaction.receive(answer) == .done || isStopping { request = nil }
        return true
    }

    private func answers(_ answer: ATTServerPDU) -> Bool {
        if case .errorResponse(let error) = answer { return error.requestOpcode == requestOpcode }
        return answer.opcode == requestOpcode.answer
    }

    /// Takes note that the bytes of a response or an Error Response could not be decoded.
    ///
    /// Returns false when it does not belong to the request in flight, as ``receive(_:)`` does.
    @discardableResult
    public mutating func receiveMalformedAnswer(_ error: ATTDecodingError) -> Bool {
        guard requestInFlight != nil, let transaction = request else {
            strayResponseCount += 1
            return true
        }
        guard error.opcode == .errorResponse || error.opcode == requestOpcode.answer else {
            finishRequest(transaction, .violation("\(error)"))
            return false
        }
        requestInFlight = nil
        transaction.fail(.violation("\(error)"))
        // The peer may have done what it was asked, so it may have to be told to forget it.
        if isStopping || transaction.stop() == .done { request = nil }
        isStopping = true
        return true
    }

    private mutating func finishRequest(_ transaction: any ClientTransaction, _ failure: TransactionFailure) {
        requestInFlight = nil
        request = nil
        transaction.fail(failure)
    }

    /// Takes the peer's confirmation of the indication in flight; one nobody waits for is passed over.
    public mutating func receiveConfirmation() {
        guard indicationInFlight != nil, let transaction = indication else { return }
        indicationInFlight = nil
        indication = nil
        transaction.confirm()
    }

    // MARK: The end

    /// Takes note that the request or indication in flight was not answered in time: it fails with
    /// ``TransactionFailure/timedOut``, all others with ``TransactionFailure/closed``, and nothing is sent any more.
    ///
    /// Of a request and an indication the one that was sent first is late.
    public mutating func timeOut() {
        if let sent = requestInFlight, sent < indicationInFlight ?? .max {
            let late = request
            request = nil
            late?.fail(.timedOut)
        } else if indicationInFlight != nil {
            let late = indication
            indication = nil
            late?.fail(.timedOut)
        }
        close()
    }

    /// The transactions that would be outstanding if the bearer ended now. Call it right before ``close()`` or
    /// ``timeOut()``.
    public func outstandingAtEnd() -> OutstandingTransactions {
        guard !isClosed else { return OutstandingTransactions() }
        // Nothing is left behind by an Execute Write Request that is on its way, whatever it says.
        let isExecuting = requestInFlight != nil && requestOpcode == .executeWriteRequest
        return OutstandingTransactions(
            isResponseDue: requestInFlight != nil, isConfirmationDue: indicationInFlight != nil,
            isCancellationDue: hasBegun && !isExecuting && request?.stop() == .next,
            isPeerWaiting: hasResponse || confirmationsOwed > 0)
    }

    /// Ends everything that waits with ``TransactionFailure/closed``.
    public mutating func close() {
        guard !isClosed else { return }
        isClosed = true
        requestInFlight = nil
        indicationInFlight = nil
        confirmationsOwed = 0
        response.removeAll()
        let ended = (request, indication)
        (request, indication) = (nil, nil)
        ended.0?.fail(.closed)
        ended.1?.fail(.closed)
        while let transaction = requests.popFirst() { transaction.fail(.closed) }
        while let transaction = indications.popFirst() { transaction.fail(.closed) }
        while let message = messages.popFirst() { message.fail(.closed) }
    }
}

/// The outstanding transactions of a bearer, of both sides.
public struct OutstandingTransactions: Hashable, Sendable {
    /// Whether the peer has not responded to a request.
    public var isResponseDue = false
    /// Whether the peer has not confirmed an indication.
    public var isConfirmationDue = false
    /// Whether the peer has prepared writes to cancel (Execute Write Request).
    public var isCancellationDue = false
    /// Whether the peer waits for a response or a confirmation from this side.
    public var isPeerWaiting = false

    /// By default, nothing is outstanding.
    public init(
        isResponseDue: Bool = false, isConfirmationDue: Bool = false, isCancellationDue: Bool = false,
        isPeerWaiting: Bool = false
    ) {
        self.isResponseDue = isResponseDue
        self.isConfirmationDue = isConfirmationDue
        self.isCancellationDue = isCancellationDue
        self.isPeerWaiting = isPeerWaiting
    }

    /// Whether nothing is outstanding.
    public var isEmpty: Bool { self == OutstandingTransactions() }
}

/// Writes `pdu` into `writer`; what does not fit is the caller's mistake.
func encode(_ pdu: ATTClientPDU, into writer: inout ByteWriter) throws(TransactionFailure) {
    do {
        try pdu.encode(into: &writer)
    } catch {
        throw .invalid("\(pdu.opcode) does not fit into an ATT_MTU of \(writer.capacity): \(error)")
    }
}
