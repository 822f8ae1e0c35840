import BluetoothATT
import BluetoothGATT
import Synchronization

/// What a device does as a client of services that were published.
package enum PeerEvent: Sendable {
    /// It reads a value.
    case read(AttributeRequest, PeerQuestion)
    /// It writes values, all at once; without a question nobody waits for an answer.
    case write([AttributeWrite], PeerQuestion?)
    /// It has subscribed to a value, or ended its subscription.
    case subscription(PeerSubscription)
}

/// When a program is told of a device's reads and writes; a change of a subscription is told as it arrives.
package enum PeerEventDelivery: Sendable {
    /// Takes what happens on a link, on the loop and in the order in which it happens; it may neither wait nor block.
    package typealias Receiver = @Sendable (PeerEvent, Connection) -> Void

    /// Writes as they arrive, whatever waits, for who answers them before it returns or soon after.
    case atOnce(Receiver)
    /// Each with a question and when the one before it has been answered, for who lets a person or a thread decide. They
    /// wait and are given up like those of other handlers.
    case inTurn(Receiver)

    var receiver: Receiver {
        switch self {
        case .atOnce(let receiver), .inTurn(let receiver): receiver
        }
    }
}

/// What a device waits to be told; whoever drops it unanswered has it told Unlikely Error.
package final class PeerQuestion: Sendable {
    package typealias Answer = Result<[UInt8], ATTErrorCode>

    private let isAnswered = Atomic(false)
    private let onAnswer: @Sendable (Answer) -> Bool

    /// A question; `onAnswer` is called once, on the thread of whoever answers, and says whether that came in time.
    init(_ onAnswer: @escaping @Sendable (Answer) -> Bool) {
        self.onAnswer = onAnswer
    }

    deinit {
        resolve(.failure(.unlikelyError))
    }

    /// Answers with the value that was read, or with nothing that one was written; says whether that counts: it is the
    /// first answer and comes in time. Called on any thread.
    @discardableResult
    package func resolve(_ answer: Answer) -> Bool {
        isAnswered.exchange(true, ordering: .acquiringAndReleasing) ? false : onAnswer(answer)
    }
}
