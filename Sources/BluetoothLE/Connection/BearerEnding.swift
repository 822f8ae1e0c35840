import ATT
import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// The end of a bearer: why it has come, who is told, and what becomes of the socket.
struct BearerEnding {
    private enum State {
        /// Tells what the end of the socket means, where more is known than the socket says.
        case open(explanation: ((ChannelFailure) -> BluetoothError?)?, onEnd: (BluetoothError) -> Void)
        case ended(BluetoothError)
    }

    private var state: State
    /// Gets the socket when answers are outstanding at the end; nil closes it in any case.
    private let drain: LoopBound<BearerDrain>?

    init(_ drain: LoopBound<BearerDrain>?, _ onEnd: @escaping (BluetoothError) -> Void) {
        self.drain = drain
        state = .open(explanation: nil, onEnd: onEnd)
    }

    /// Why the bearer has ended; nil while it has not.
    var reason: BluetoothError? { if case .ended(let reason) = state { reason } else { nil } }

    var hasCome: Bool { if case .ended = state { true } else { false } }

    /// Tells what the end of the socket means, or, with nil, that it comes later; without one the socket's word counts.
    var explanation: ((ChannelFailure) -> BluetoothError?)? {
        get { if case .open(let explanation, _) = state { explanation } else { nil } }
        set { if case .open(_, let onEnd) = state { state = .open(explanation: newValue, onEnd: onEnd) } }
    }

    /// Takes the first reason; returns who is to be told of it, nil when there has been another.
    mutating func begin(_ reason: BluetoothError) -> ((BluetoothError) -> Void)? {
        guard case .open(_, let onEnd) = state else { return nil }
        state = .ended(reason)
        return onEnd
    }

    /// Leaves the socket to those who wait for the last answers, if there are such, and closes it otherwise.
    func letGo(of socket: any HostChannel, owing outstanding: OutstandingTransactions) {
        if let drain, !outstanding.isEmpty { drain.value.begin(socket, outstanding) } else { socket.close() }
    }

    /// The same for a bearer that nobody holds any more, on whichever thread; its socket closes by itself.
    func abandon(_ socket: any HostChannel, owing outstanding: OutstandingTransactions, on loop: EventLoop) {
        guard let drain, !outstanding.isEmpty else { return }
        loop.execute { drain.value.begin(socket, outstanding) }
    }
}

extension BluetoothError {
    /// Why the rules of a bearer demand its end.
    init(_ failure: ATTBearerCore.Failure, _ peer: BluetoothAddress) {
        switch failure {
        case .wrongAnswer(let opcode):
            self.init(
                .protocolViolation, .init("exchange attributes", peer: peer),
                "The peer answered a request that was not made (\(opcode)); the link is closed.",
                disconnectReason: .protocolViolation)
        case .unanswered:
            self.init(
                .disconnected, .init("exchange attributes", peer: peer),
                "The peer did not answer within \(AttributeProtocol.transactionTimeout.inSeconds); the link is closed.",
                isRetryable: true, disconnectReason: .attributeTimeout)
        }
    }
}
