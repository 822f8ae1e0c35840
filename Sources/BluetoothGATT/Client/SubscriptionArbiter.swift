import BluetoothATT

/// What the peer is asked to send of one characteristic, for all its subscribers: the arbitration of one Client
/// Characteristic Configuration (Core Vol 3 Part G §3.3.3.3).
///
/// One write is under way at a time; when it has ended the next follows, until the peer has taken what all subscribers
/// together request. A subscriber is live once the peer has taken what it requests; one that is not when the peer refuses
/// is out.
///
/// Subscribers are numbers of the owner's, which keeps where their values go.
package struct SubscriptionArbiter: Sendable {
    private struct Subscriber {
        let id: UInt64
        let kind: ClientCharacteristicConfiguration
        /// Whether the peer has taken what it requests.
        var isLive = false
    }

    /// How a write ended.
    package enum Outcome: CaseIterable, Sendable {
        case taken
        case refused
        /// It is not known whether the peer has taken it.
        case lost
    }

    /// What follows from an input.
    package struct Decision {
        /// Whether the write that was decided on before, and not sent yet, is not to be sent.
        package var isAbandoned = false
        /// The configuration to be written now.
        package var write: ClientCharacteristicConfiguration?
        /// Those that are live from now on.
        package var live: [UInt64] = []
    }

    /// The descriptor that is written.
    package let descriptor: AttributeHandle
    /// The subscribers, in the order they came.
    private var subscribers: [Subscriber] = []
    /// What the peer has taken; nil when that is not known.
    private var configured: ClientCharacteristicConfiguration? = []
    /// What the peer has refused, which is not tried again for the same subscribers.
    private var refused: ClientCharacteristicConfiguration?
    /// What is being written.
    private var written: ClientCharacteristicConfiguration?

    /// A characteristic without subscribers, of which the peer sends nothing.
    package init(descriptor: AttributeHandle) {
        self.descriptor = descriptor
    }

    /// What all subscribers together request.
    package var wanted: ClientCharacteristicConfiguration { subscribers.reduce(into: []) { $0.formUnion($1.kind) } }

    /// Whether there is no subscriber, and nothing that the peer has to be asked.
    package var isIdle: Bool { subscribers.isEmpty && written == nil && (configured == [] || refused == []) }

    /// Adds a subscriber; ``next(isSent:)`` decides what follows.
    package mutating func add(_ id: UInt64, _ kind: ClientCharacteristicConfiguration) {
        subscribers.append(Subscriber(id: id, kind: kind))
        refused = nil
    }

    /// Removes a subscriber; ``next(isSent:)`` decides what follows.
    package mutating func remove(_ id: UInt64) { subscribers.removeAll { $0.id == id } }

    /// Decides what the peer is asked now.
    ///
    /// - Parameter isSent: whether the write that was decided on last has been sent.
    package mutating func next(isSent: Bool) -> Decision {
        var decision = Decision()
        let wanted = wanted
        if let value = written, value != wanted, !isSent {
            written = nil
            decision.isAbandoned = true
        }
        decision.live = confirmLive()
        guard written == nil, wanted != configured, wanted != refused else { return decision }
        written = wanted
        decision.write = wanted
        return decision
    }

    /// Those that the peer has taken the request of, unless it is being asked for something else.
    private mutating func confirmLive() -> [UInt64] {
        guard let configured else { return [] }
        let lasting = configured.intersection(written ?? configured)
        var live: [UInt64] = []
        for index in subscribers.indices
        where !subscribers[index].isLive && subscribers[index].kind.isSubset(of: lasting) {
            subscribers[index].isLive = true
            live.append(subscribers[index].id)
        }
        return live
    }

    /// The write has ended; returns those that are out. ``next(isSent:)`` decides what follows.
    package mutating func didEnd(_ outcome: Outcome) -> [UInt64] {
        guard let value = written.take() else { return [] }
        guard outcome != .taken else {
            configured = value
            refused = nil
            return []
        }
        if outcome == .lost { configured = nil }
        refused = value
        let out = subscribers.filter { !$0.isLive && $0.kind.isSubset(of: value) }.map(\.id)
        subscribers.removeAll { !$0.isLive && $0.kind.isSubset(of: value) }
        return out
    }
}
