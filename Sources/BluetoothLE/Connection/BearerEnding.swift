import ATT
import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// The end of a bearer: why it has come, and who is told.
struct BearerEnding {
    private enum State {
        /// Tells what the end of the socket means, where more is known than the socket says.
        case open(explanation: ((ChannelFailure) -> BluetoothError?)?, onEnd: (BluetoothError) -> Void)
        case ended(BluetoothError)
    }

    private var state: State
    init(_ onEnd: @escaping (BluetoothError) -> Void) {
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
