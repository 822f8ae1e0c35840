import BluetoothATT
import BluetoothLoop
import Synchronization

/// The receiver of the answer to a ``PeerQuestion``.
protocol AnswerReceiver: Sendable {
    /// Receives the answer, once, on the answering thread; returns whether it is in time.
    func resolve(_ answer: PeerQuestion.Answer) -> Bool
}

extension Promise: AnswerReceiver where Value == [UInt8], Failure == ATTErrorCode {}

/// A request that awaits a response; dropped unanswered, it is answered with Unlikely Error.
package final class PeerQuestion: Sendable {
    package typealias Answer = Result<[UInt8], ATTErrorCode>

    private let isAnswered = Atomic(false)
    private let receiver: (any AnswerReceiver)?

    /// Creates a question; without a receiver its answer does not count.
    init(for receiver: (any AnswerReceiver)?) {
        self.receiver = receiver
    }

    deinit {
        resolve(.failure(.unlikelyError))
    }

    /// Answers with the value of a read, or with nothing for a write; returns whether the answer counts: it is the
    /// first and in time. Called on any thread.
    @discardableResult
    package func resolve(_ answer: Answer) -> Bool {
        isAnswered.exchange(true, ordering: .acquiringAndReleasing) ? false : receiver?.resolve(answer) ?? false
    }

    /// Ends the question, whose answer would be too late.
    func close() { isAnswered.store(true, ordering: .releasing) }
}
