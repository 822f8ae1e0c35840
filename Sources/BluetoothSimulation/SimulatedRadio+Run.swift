import BluetoothLoop
import Synchronization

/// A receive buffer has overflowed, since a program did not read fast enough (``RadioConditions/failsOnOverflow``).
public struct SimulationOverflowed: Error, Sendable, CustomStringConvertible {
    /// The number of dropped packets.
    public var count: Int
    /// Those of them that were HCI and management packets.
    public var eventCount = 0

    /// The error as a sentence.
    public var description: String {
        "\(count) packets were dropped because a receive buffer was full, of which \(eventCount) were HCI and management packets"
    }
}

extension SimulatedRadio {
    /// Runs `body` as a task on the radio's loop and lets time pass until it returns.
    ///
    /// In virtual time the clock advances only while `body`, and everything else on the loop, waits. While it does not
    /// run at all, nothing is simulated. The virtual clock does not know of work that `body` passes to other threads.
    /// - Parameters:
    ///   - limit: the maximum virtual time; ignored in real time.
    ///   - stallGrace: the real time without activity after which the simulation counts as stalled, since another
    ///     thread might still add to it.
    ///   - body: the task.
    /// - Throws: errors of `body`; ``SimulationStalled`` when it waits for something that will never happen or that
    ///   takes longer than `limit`: it is then cancelled, and if it does not end by that, abandoned.
    ///   ``SimulationOverflowed`` if ``RadioConditions/failsOnOverflow`` is set.
    public nonisolated(nonsending) func run<Result: Sendable>(
        limit: Duration = .seconds(3600), stallGrace: Duration = .seconds(5),
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let story = Story<Result>()
        let before = statistics
        virtualTime?.onStall(after: stallGrace, limit: limit, story.identifier) { [loop] reason in
            story.stall(reason, at: loop.now)
        }
        defer { virtualTime?.removeStallHandler(story.identifier) }
        let task = Task(executorPreference: loop) { [virtualTime] in
            let result: Swift.Result<Result, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            // From here on time is paused again.
            if story.finish(result) { virtualTime?.pauseTime() }
        }
        // Only now, since the handler of a stall needs the task.
        story.start(task)
        virtualTime?.resumeTime()
        let outcome = await withTaskCancellationHandler {
            await story.outcome()
        } onCancel: {
            task.cancel()
        }
        switch outcome {
        case .finished(let result):
            let value = try result.get()
            let (fails, now) = withWorld { ($0.conditions.failsOnOverflow, $0.statistics) }
            let events = now.eventOverflows - before.eventOverflows
            let count = now.receiveOverflows - before.receiveOverflows + events
            guard !fails || count == 0 else { throw SimulationOverflowed(count: count, eventCount: events) }
            return value
        case .stalled(let reason, let moment, let isAbandoned):
            // Otherwise the end of the body has paused time.
            if isAbandoned { virtualTime?.pauseTime() }
            throw SimulationStalled(reason: reason, moment: moment, open: withWorld { $0.openThings })
        }
    }
}

/// The state of one ``SimulatedRadio/run(limit:stallGrace:_:)``.
private final class Story<Success: Sendable>: Sendable {
    enum Outcome: Sendable {
        case finished(Swift.Result<Success, any Error>)
        case stalled(SimulationStalled.Reason, KernelInstant, isAbandoned: Bool)
    }

    private struct State {
        var task: Task<Void, Never>?
        var stall: (reason: SimulationStalled.Reason, moment: KernelInstant)?
    }

    private let state = Mutex(State())
    private let end = Promise<Outcome, Never>()

    var identifier: ObjectIdentifier { ObjectIdentifier(self) }

    func start(_ task: Task<Void, Never>) {
        state.withLock { $0.task = task }
    }

    /// Records the end of the body; false when it was abandoned before.
    func finish(_ result: Swift.Result<Success, any Error>) -> Bool {
        let stall = state.withLock { $0.stall }
        return end.succeed(stall.map { .stalled($0.reason, $0.moment, isAbandoned: false) } ?? .finished(result))
    }

    /// Cancels the body the first time, so that it can end; abandons it the second time.
    func stall(_ reason: SimulationStalled.Reason, at moment: KernelInstant) {
        let (first, task) = state.withLock { state in
            defer { state.stall = state.stall ?? (reason, moment) }
            return (state.stall, state.task)
        }
        guard let first else {
            task?.cancel()
            return
        }
        end.succeed(.stalled(first.reason, first.moment, isAbandoned: true))
    }

    func outcome() async -> Outcome {
        // The caller's cancellation cancels the body, which ends this.
        await end.value {}
    }
}

extension SimulatedRadio {
    /// Waits until `duration` has passed on the radio's clock.
    ///
    /// Throws when the task is cancelled.
    public nonisolated(nonsending) func sleep(for duration: Duration) async throws(CancellationError) {
        let isOver = await loop.sleep(for: duration)
        if !isOver || Task.isCancelled { throw CancellationError() }
    }
}
