import BluetoothATT

/// The arbitration of one Client Characteristic Configuration among all subscribers of the characteristic
/// (Core Vol 3 Part G §3.3.3.3).
///
/// One write is outstanding at a time; others follow until the peer has accepted the union of all subscribers'
/// requests. A subscriber is live once the peer has accepted its request. When the peer refuses, the subscribers that
/// are not live are removed.
///
/// Subscribers are identified by numbers that the owner chooses.
package struct SubscriptionArbiter: Sendable {
    private struct Subscriber {
        let id: UInt64
        let kind: ClientCharacteristicConfiguration
        /// Whether the peer has accepted the subscriber's request.
        var isLive = false
    }

    /// The outcome of a write.
    package enum Outcome: CaseIterable, Sendable {
        case accepted
        case refused
        /// The link was lost, so that the outcome is unknown.
        case unknown
    }

    /// The consequences of an input.
    package struct Decision {
        /// Whether the previously decided write, not yet sent, is withdrawn.
        package var isAbandoned = false
        /// The configuration to write now.
        package var write: ClientCharacteristicConfiguration?
        /// The subscribers that have become live.
        package var live: [UInt64] = []
    }

    /// The handle of the descriptor; nil if the peer has none, so that nothing is written.
    package let descriptor: AttributeHandle?
    /// The subscribers, in the order added.
    private var subscribers: [Subscriber] = []
    /// The configuration that the peer has accepted; nil when unknown.
    private var configured: ClientCharacteristicConfiguration? = []
    /// The configuration that the peer has refused, which is not written again for the same subscribers.
    private var refused: ClientCharacteristicConfiguration?
    /// The configuration in the outstanding write.
    private var written: ClientCharacteristicConfiguration?

    /// A characteristic without subscribers, which the peer neither notifies nor indicates.
    package init(descriptor: AttributeHandle?) {
        self.descriptor = descriptor
    }

    /// The union of all subscribers' requests.
    package var requested: ClientCharacteristicConfiguration { subscribers.reduce(into: []) { $0.formUnion($1.kind) } }

    /// Whether there are no subscribers, and no write is outstanding or needed.
    package var isIdle: Bool { subscribers.isEmpty && written == nil && (configured == [] || refused == []) }

    /// Adds a subscriber; ``next(isSent:)`` determines the consequences.
    package mutating func add(_ id: UInt64, _ kind: ClientCharacteristicConfiguration) {
        subscribers.append(Subscriber(id: id, kind: kind))
        refused = nil
    }

    /// Removes a subscriber; ``next(isSent:)`` determines the consequences.
    package mutating func remove(_ id: UInt64) { subscribers.removeAll { $0.id == id } }

    /// Determines the next write.
    ///
    /// - Parameter isSent: Whether the previously decided write has been sent.
    package mutating func next(isSent: Bool) -> Decision {
        var decision = Decision()
        let requested = requested
        if descriptor == nil { configured = requested }
        if let value = written, value != requested, !isSent {
            written = nil
            decision.isAbandoned = true
        }
        decision.live = confirmLive()
        guard written == nil, requested != configured, requested != refused else { return decision }
        written = requested
        decision.write = requested
        return decision
    }

    /// Marks the subscribers as live whose requests the peer has accepted, unless the outstanding write takes them
    /// back.
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

    /// Ends the outstanding write; returns the removed subscribers. ``next(isSent:)`` determines the consequences.
    package mutating func didEnd(_ outcome: Outcome) -> [UInt64] {
        guard let value = written.take() else { return [] }
        guard outcome != .accepted else {
            configured = value
            refused = nil
            return []
        }
        if outcome == .unknown { configured = nil }
        refused = value
        let out = subscribers.filter { !$0.isLive && $0.kind.isSubset(of: value) }.map { $0.id }
        subscribers.removeAll { !$0.isLive && $0.kind.isSubset(of: value) }
        return out
    }
}
