/// The decisions of a connect of a group: which adapter makes the link.
///
/// A device stays with the adapters that have a bond with it. Otherwise the adapter with the best signal connects, of
/// those with room for another link; among adapters with about the same signal the one with the fewest links. A device
/// that no adapter has received lately is awaited by all of them.
struct GroupChooser {
    /// An adapter, as far as the decision depends on it.
    struct Candidate: Hashable {
        var id: Int
        var isReady = true
        var hasBond = false
        /// Whether this program has a link to the device already.
        var hasLink = false
        /// The latest RSSI of the device in dBm; nil if it was not received lately.
        var rssi: Int?
        /// The number of links of this program.
        var linkCount = 0
        /// Whether the controller has refused the last link because the link limit is reached, or others have the
        /// first claim to it.
        var isFull = false
    }

    /// The next step of a connect.
    enum Decision: Hashable {
        /// Connects by one adapter, for a time slice.
        case connect(Int)
        /// Connects by whichever of these adapters the device answers first, for the remaining time.
        case race([Int])
        /// Waits until one of these adapters has room for another link.
        case waitForRoom([Int])
        /// Waits for an adapter.
        case waitForAdapter
        case fail
    }

    /// The outcome of an attempt by one adapter.
    enum AttemptOutcome: Hashable {
        /// The controller has reached its limit of links.
        case full
        /// The device has not answered, or the link failed to be established.
        case unreachable
        /// The adapter was powered off, blocked or unplugged.
        case left
    }

    /// The difference of RSSI in dB below which two signals count as equal: the RSSI of a device at rest varies as much.
    static let margin = 6
    /// The longest time for which one adapter tries while others may.
    static let slice = Duration.seconds(10)

    /// The time for which one adapter tries of what remains: a third, so that others can still reach the device.
    static func slice(of remaining: Duration?) -> Duration { remaining.map { min($0 / 3, slice) } ?? slice }

    let waitsForAdapter: Bool
    let waitsForRoom: Bool
    private var outcomes: [Int: AttemptOutcome] = [:]

    init(waitsForAdapter: Bool, waitsForRoom: Bool) {
        (self.waitsForAdapter, self.waitsForRoom) = (waitsForAdapter, waitsForRoom)
    }

    /// Records the outcome of an attempt.
    mutating func record(_ outcome: AttemptOutcome, of id: Int) { outcomes[id] = outcome }

    func outcome(of id: Int) -> AttemptOutcome? { outcomes[id] }

    /// The adapters that could not be used although they seem to be ready.
    var departed: [Int] { outcomes.filter { $0.value == .left }.map(\.key) }

    /// Records that adapters have come, gone or changed.
    mutating func adaptersChanged() { outcomes = outcomes.filter { $0.value != .left } }

    /// Records that an adapter may have room again.
    mutating func roomChanged(at id: Int) { if outcomes[id] == .full { outcomes[id] = nil } }

    /// The adapters that may have the link; the one that has it already, if there is one.
    static func pool(_ candidates: [Candidate]) -> [Candidate] {
        if let linked = candidates.first(where: \.hasLink) { return [linked] }
        let bonded = candidates.filter(\.hasBond)
        return bonded.isEmpty ? candidates : bonded
    }

    func next(_ candidates: [Candidate]) -> Decision {
        let ready = Self.pool(candidates).filter { $0.isReady && outcomes[$0.id] != .left }
        guard !ready.isEmpty else { return waitsForAdapter ? .waitForAdapter : .fail }
        let untried = ready.filter { outcomes[$0.id] != .full }
        guard !untried.isEmpty else { return waitsForRoom ? .waitForRoom(ready.map(\.id)) : .fail }
        // A full adapter may have room again without this program's knowledge, so it comes last.
        let free = untried.filter { !$0.isFull }
        let choice = free.isEmpty ? untried : free
        if ready.count > 1, let best = Self.best(choice.filter { $0.rssi != nil && outcomes[$0.id] == nil }) {
            return .connect(best.id)
        }
        return .race(choice.map(\.id))
    }

    /// The adapter with the best signal; with the fewest links, if several are about as good.
    static func best(_ candidates: [Candidate]) -> Candidate? {
        guard let strongest = candidates.compactMap(\.rssi).max() else { return nil }
        let good = candidates.filter { $0.rssi.map { $0 > strongest - margin } ?? false }
        // The first of several that are equal.
        return good.reduce(nil) { best, next in
            guard let best else { return next }
            let isBetter = (next.linkCount, -(next.rssi ?? 0)) < (best.linkCount, -(best.rssi ?? 0))
            return isBetter ? next : best
        }
    }
}
