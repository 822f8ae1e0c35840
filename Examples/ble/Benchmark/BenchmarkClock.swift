import BluetoothLE
import Synchronization

/// The clock of measurements, which is monotonic: the machine's, as in all of the programs, or that of a loop, which on a
/// simulated radio is the radio's.
struct BenchmarkClock: Sendable {
    private static let start = ContinuousClock.now

    var loop: EventLoop?

    /// The time since a fixed instant.
    func now() -> Duration {
        loop.map { .nanoseconds($0.now.nanoseconds) } ?? (ContinuousClock.now - Self.start)
    }

    /// Waits; false if the task is cancelled.
    func sleep(for duration: Duration) async -> Bool {
        if let loop { return await loop.sleep(for: duration) && !Task.isCancelled }
        return (try? await Task.sleep(for: duration)) != nil
    }
}

/// Detects that nothing arrives any more.
final class StallWatch: Sendable {
    private let count = Atomic<Int>(0)

    /// Records that something has arrived.
    func advance() { count.add(1, ordering: .relaxed) }

    /// Calls `onStall` once nothing has arrived for `timeout`, and at the latest after twice that time.
    func run(_ timeout: Duration, _ clock: BenchmarkClock, onStall: @Sendable () -> Void) async {
        var last = count.load(ordering: .relaxed)
        while await clock.sleep(for: timeout) {
            let now = count.load(ordering: .relaxed)
            guard now != last else { return onStall() }
            last = now
        }
    }
}

extension BluetoothError {
    /// The error of a peer that sends nothing more.
    static func stalled(_ timeout: Duration) -> BluetoothError {
        BluetoothError(.timedOut, Operation("measure"), "No data has arrived for \(timeout / .seconds(1)) s.")
    }
}
