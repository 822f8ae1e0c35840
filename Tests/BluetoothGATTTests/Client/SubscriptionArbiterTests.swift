import Testing

import BluetoothGATT

/// Core Vol 3 Part G §3.3.3.3 with several subscribers: the writes and the notifications of subscribers.
@Suite struct SubscriptionArbiterTests {
    typealias Kind = ClientCharacteristicConfiguration

    @Test("one write serves all equal requests, and a later subscriber is live immediately")
    func shared() {
        var arbiter = SubscriptionArbiter(descriptor: 7)
        arbiter.add(1, .notification)
        arbiter.add(2, .notification)
        #expect(arbiter.next(isSent: false).write == .notification)
        #expect(arbiter.didEnd(.accepted) == [])
        #expect(arbiter.next(isSent: false).live == [1, 2])
        arbiter.add(3, .notification)
        let decision = arbiter.next(isSent: false)
        #expect(decision.live == [3])
        #expect(decision.write == nil)
    }

    @Test("both kinds are requested together; an unsent write is withdrawn, a sent one is awaited")
    func bothKinds() {
        var arbiter = SubscriptionArbiter(descriptor: 7)
        arbiter.add(1, .notification)
        #expect(arbiter.next(isSent: false).write == .notification)
        arbiter.add(2, .indication)
        let decision = arbiter.next(isSent: false)
        #expect(decision.isAbandoned)
        #expect(decision.write == [.notification, .indication])
        arbiter.remove(1)
        #expect(arbiter.next(isSent: true).write == nil)
        #expect(arbiter.didEnd(.accepted) == [])
        let next = arbiter.next(isSent: false)
        #expect(next.live == [2])
        #expect(next.write == .indication)
    }

    @Test("a refusal removes the waiting subscribers, and an unknown outcome is corrected")
    func failures() {
        var arbiter = SubscriptionArbiter(descriptor: 7)
        arbiter.add(1, .notification)
        _ = arbiter.next(isSent: false)
        #expect(arbiter.didEnd(.refused) == [1])
        #expect(arbiter.next(isSent: false).write == nil)
        #expect(arbiter.isIdle)
        arbiter.add(2, .notification)
        #expect(arbiter.next(isSent: false).write == .notification)
        #expect(arbiter.didEnd(.unknown) == [2])
        #expect(arbiter.next(isSent: false).write == [])
        #expect(!arbiter.isIdle)
        #expect(arbiter.didEnd(.accepted) == [])
        #expect(arbiter.isIdle)
    }

    enum Input: CaseIterable {
        case addNotification, addIndication, removeFirst, removeLast, sent, accepted, refused, unknown
    }

    @Test("in every order of events each subscriber is notified once, and the peer has the requested configuration")
    func everySequence() {
        var sequences: [[Input]] = [[]]
        for _ in 0..<4 { sequences = sequences.flatMap { sequence in Input.allCases.map { sequence + [$0] } } }
        for sequence in sequences {
            var peer = Peer()
            for input in sequence { peer.apply(input) }
            while peer.written != nil { peer.apply(.accepted) }
            let requested = peer.arbiter.requested
            if !sequence.contains(.refused), !sequence.contains(.unknown) {
                #expect(peer.configuration == requested, "\(sequence)")
            }
            #expect(Set(peer.told).count == peer.told.count, "notified twice: \(sequence)")
            let live = Set(peer.told)
            #expect(peer.present.allSatisfy { live.contains($0) }, "not notified: \(sequence)")
        }
    }

    /// A peer scripted by the sequence.
    private struct Peer {
        var arbiter = SubscriptionArbiter(descriptor: 7)
        /// The peer's configuration.
        var configuration: Kind = []
        var written: Kind?
        var isSent = false
        /// The subscribers notified of being live or removed.
        var told: [UInt64] = []
        /// The remaining subscribers.
        var present: [UInt64] = []
        var count: UInt64 = 0

        mutating func apply(_ input: Input) {
            switch input {
            case .addNotification: add(.notification)
            case .addIndication: add(.indication)
            case .removeFirst: if !present.isEmpty { arbiter.remove(present.removeFirst()) }
            case .removeLast: if let last = present.popLast() { arbiter.remove(last) }
            case .sent: isSent = written != nil
            case .accepted: end(.accepted)
            case .refused: end(.refused)
            case .unknown: end(.unknown)
            }
            let decision = arbiter.next(isSent: isSent)
            if decision.isAbandoned { written = nil }
            if let value = decision.write {
                written = value
                isSent = false
            }
            told += decision.live
        }

        private mutating func add(_ kind: Kind) {
            count += 1
            present.append(count)
            arbiter.add(count, kind)
        }

        private mutating func end(_ outcome: SubscriptionArbiter.Outcome) {
            guard let value = written else { return }
            written = nil
            isSent = false
            if outcome == .accepted { configuration = value }
            let out = arbiter.didEnd(outcome)
            told += out
            present.removeAll { out.contains($0) }
        }
    }
}
