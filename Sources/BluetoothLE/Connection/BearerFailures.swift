import ATT
import BluetoothHost
import BluetoothPrimitives
import GATT

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
