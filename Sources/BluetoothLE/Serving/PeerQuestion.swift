import BluetoothATT
import Synchronization

/// A request that awaits a response; dropped unanswered, it is answered with Unlikely Error.
package final class PeerQuestion: Sendable {
    package typealias Answer = Result<[UInt8], ATTErrorCode>

    private let isAnswered = Atomic(false)
    private let onAnswer: @Sendable (Answer) -> Bool

    /// Creates a question; `onAnswer` is called once, on the answering thread, and returns whether the answer was in
    /// time.
    init(_ onAnswer: @escaping @Sendable (Answer) -> Bool) {
        self.onAnswer = onAnswer
    }

    deinit {
        resolve(.failure(.unlikelyError))
    }

    /// Answers with the value of a read, or with nothing for a write; returns whether the answer counts: it is the
    /// first and in time. Called on any thread.
    @discardableResult
    package func resolve(_ answer: Answer) -> Bool {
        isAnswered.exchange(true, ordering: .acquiringAndReleasing) ? false : onAnswer(answer)
    }

    /// Ends the question, whose answer would be too late.
    func close() { isAnswered.store(true, ordering: .releasing) }
}
