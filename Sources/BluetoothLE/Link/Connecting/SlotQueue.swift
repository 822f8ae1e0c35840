import BluetoothLoop
import BluetoothSockets

/// The queue of connects that wait until the controller has room for another link.
///
/// Each end of a link admits the connect that has waited longest. One that finds the room gone returns to its place. One
/// whose device does not answer holds the room for a time slice only, so that it blocks no other. A connect that came
/// while others had the first claim tries when they have their links, as there may be room for it, too.
struct SlotQueue {
    /// The time for which an admitted connect is the only one.
    static let slice = Duration.seconds(8)

    private struct Place {
        let id: UInt64
        var state: State
        var isWaiting: Bool { if case .waiting = state { true } else { false } }
    }

    private enum State {
        /// Refused, or behind others that were.
        case waiting(Promise<Void, BluetoothError>?, wasRefused: Bool)
        /// Trying, for the room of an ended link since `admitted`; of its own accord if that is nil.
        case trying(admitted: KernelInstant?, ends: UInt64)
    }

    /// In the order of arrival.
    private var places: [Place] = []
    private var lastID: UInt64 = 0
    /// The number of links that have ended.
    private var ends: UInt64 = 0

    /// The number of connects that wait.
    var waitingCount: Int { places.count { $0.isWaiting } }

    /// Whether others have the first claim to room: they wait, or were admitted to it.
    var isClaimed: Bool {
        places.contains { if case .trying(admitted: nil, _) = $0.state { false } else { true } }
    }

    /// Adds a connect at the end; it may try at once unless the room is claimed.
    mutating func enter() -> UInt64 {
        lastID += 1
        let state: State =
            isClaimed ? .waiting(nil, wasRefused: false) : .trying(admitted: nil, ends: ends)
        places.append(Place(id: lastID, state: state))
        return lastID
    }

    /// Begins to wait for the turn of a connect; nil if it may try now.
    mutating func wait(_ id: UInt64) -> Promise<Void, BluetoothError>? {
        guard let index = index(of: id), case .waiting(_, let wasRefused) = places[index].state else { return nil }
        let call = Promise<Void, BluetoothError>()
        places[index].state = .waiting(call, wasRefused: wasRefused)
        return call
    }

    /// Records that the controller has refused a connect because the link limit is reached.
    ///
    /// A link may have ended since the connect began to try; then it tries again.
    mutating func refused(_ id: UInt64) {
        guard let index = index(of: id) else { return }
        if case .waiting(let call, _) = places[index].state { places[index].state = .waiting(call, wasRefused: true) }
        guard case .trying(_, let before) = places[index].state else { return }
        places[index].state = before == ends ? .waiting(nil, wasRefused: true) : .trying(admitted: nil, ends: ends)
    }

    /// Removes a connect that has succeeded, failed or given up; room that it was admitted for and has not used goes to
    /// the next.
    mutating func leave(_ id: UInt64, hasLink: Bool, at now: KernelInstant) {
        guard let index = index(of: id) else { return }
        let place = places.remove(at: index)
        guard case .trying(.some, _) = place.state else { return }
        if hasLink, case .waiting(_, wasRefused: true)? = places.first(where: \.isWaiting)?.state { return }
        admitNext(at: now)
    }

    /// Records the end of a link.
    mutating func linkEnded(at now: KernelInstant) {
        ends &+= 1
        admitNext(at: now)
    }

    /// Passes on the room of the connects that have used their time slice.
    mutating func passOn(at now: KernelInstant) {
        for index in places.indices {
            guard case .trying(let admitted?, let ends) = places[index].state,
                admitted.duration(to: now) >= Self.slice
            else { continue }
            places[index].state = .trying(admitted: nil, ends: ends)
            admitNext(at: now)
        }
    }

    /// The end of the next time slice; nil while no connect is admitted.
    var nextDeadline: KernelInstant? {
        places.compactMap { place in
            if case .trying(let admitted?, _) = place.state { admitted.advanced(by: Self.slice) } else { nil }
        }.min()
    }

    private mutating func admitNext(at now: KernelInstant) {
        guard let index = places.firstIndex(where: { $0.isWaiting }), case .waiting(let call, _) = places[index].state
        else { return }
        places[index].state = .trying(admitted: now, ends: ends)
        call?.succeed()
    }

    /// Fails the connects that wait: the adapter cannot be used, and all links have ended.
    mutating func fail(_ reason: BluetoothError) {
        ends &+= 1
        for index in places.indices {
            guard case .waiting(let call, _) = places[index].state else { continue }
            call?.fail(reason)
            // One that was refused, and does not wait yet, finds out by trying.
            places[index].state = .trying(admitted: nil, ends: ends)
        }
    }

    private func index(of id: UInt64) -> Int? { places.firstIndex { $0.id == id } }
}
