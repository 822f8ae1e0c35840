import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The addresses of a link's peer.
struct LinkAddresses: Hashable, Sendable {
    /// The address the link was established with.
    var connected: BluetoothAddress
    /// The host's present address for the peer: after pairing its identity.
    var known: BluetoothAddress

    /// Both addresses, if they differ.
    var all: [BluetoothAddress] { connected == known ? [known] : [connected, known] }
}

/// The questions of all pairings, as a pure state machine: the open question, the call of the agent and the outcome so
/// far.
///
/// The returned actions are performed at once and in order. An open question ends with its answer, the next question,
/// its time limit, or the end of the pairing or the adapter.
struct PairingQuestions: Hashable {
    /// The number of a call of the agent, unique among those that have not returned.
    typealias Call = Int

    /// An action for the caller.
    enum Action: Hashable {
        /// Call the agent; its answer goes to ``answered(_:_:of:at:)``.
        case ask(Call, PairingQuestion, PairingRequest)
        /// Cancel a call of the agent, whose answer no longer counts.
        case cancel(Call)
        /// Pass an answer to the host.
        case reply(PairingAnswer, PairingQuestion, BluetoothAddress)
        /// Have the host end a link: its question has no answer that would refuse the pairing.
        case disconnect(BluetoothAddress)
    }

    /// The treatment of a question.
    enum Verdict: Hashable {
        case ask
        case accept
        case refuse(PairingFailure)
    }

    /// The questions and answers of the pairing with one device.
    struct Dialog: Hashable {
        /// The question that the agent is answering.
        struct Open: Hashable {
            let call: Call
            let question: PairingQuestion
        }

        fileprivate(set) var open: Open?
        /// The reason why this side has refused the pairing.
        fileprivate(set) var refusal: PairingFailure?
        fileprivate(set) var lastProgress: KernelInstant

        /// The deadline of the answer; without an open question, of the dialog, since nothing may report its end.
        var deadline: KernelInstant {
            lastProgress.advanced(by: open?.question.wantsAnswer == true ? answerLimit : silenceLimit)
        }

        /// Records a refusal by this side; the first one counts.
        fileprivate mutating func refuse(_ failure: PairingFailure) { refusal = refusal ?? failure }
    }

    /// A question about a link that this program may yet accept.
    private struct Held: Hashable {
        let question: PairingQuestion
        let since: KernelInstant
    }

    /// The maximum time between a question and the acceptance of its link by this program.
    private static let acceptLimit = Duration.seconds(5)
    /// The agent's time for an answer. The pairing itself ends after 30 s without one (Core Vol 3 Part H §3.4).
    static let answerLimit = Duration.seconds(25)
    /// The lifetime of a dialog without progress.
    private static let silenceLimit = Duration.seconds(35)

    /// The maximum number of simultaneous calls of the agent.
    private let limit: Int
    private(set) var dialogs: [BluetoothAddress: Dialog] = [:]
    /// The calls of the agent that have not returned, including those whose question has ended.
    private(set) var calls: Set<Call> = []
    private var held: [BluetoothAddress: Held] = [:]
    /// The devices that this program uses in a way that may cause pairing, other than by raising a link's security.
    var own = MarkedDevices()
    /// The bonded devices to which the host encrypts links automatically.
    var encrypting = MarkedDevices()

    init(limit: Int = 32) {
        self.limit = limit
    }

    // MARK: Asking

    /// Handles a question of a device's pairing.
    mutating func asked(
        _ question: PairingQuestion, _ request: PairingRequest, _ verdict: Verdict, at now: KernelInstant
    ) -> [Action] {
        let peer = request.peer
        var dialog = dialogs[peer] ?? Dialog(lastProgress: now)
        // A new question ends the one before it.
        var actions = dialog.open.map { [Action.cancel($0.call)] } ?? []
        dialog.open = nil
        dialog.lastProgress = now
        var verdict = verdict
        if case .ask = verdict {
            if let call = beginCall() {
                dialog.open = Dialog.Open(call: call, question: question)
                actions.append(.ask(call, question, request))
            } else {
                verdict = .refuse(.notConfirmed)
            }
        }
        switch verdict {
        case .ask: break
        case .accept: if question.wantsAnswer { actions.append(.reply(.yes, question, peer)) }
        case .refuse(let failure):
            if question.wantsAnswer {
                dialog.refuse(failure)
                actions.append(.reply(.no, question, peer))
            } else if failure != .notConfirmed {
                // Without a display the number cannot be entered at the device.
                dialog.refuse(failure)
                actions.append(.disconnect(peer))
            }
        }
        dialogs[peer] = dialog
        return actions
    }

    /// Reserves a call of the agent; nil at the limit.
    mutating func beginCall() -> Call? {
        guard let call = (0..<limit).first(where: { !calls.contains($0) }) else { return nil }
        calls.insert(call)
        return call
    }

    /// Releases a call of the agent that has returned.
    mutating func endCall(_ call: Call) { calls.remove(call) }

    /// Handles the agent's answer about a device.
    mutating func answered(
        _ call: Call, _ answer: PairingAnswer, of peer: BluetoothAddress, at now: KernelInstant
    ) -> [Action] {
        endCall(call)
        guard let open = dialogs[peer]?.open, open.call == call else { return [] }
        return settle(open, answer, peer, now)
    }

    private mutating func settle(
        _ open: Dialog.Open, _ answer: PairingAnswer, _ peer: BluetoothAddress, _ now: KernelInstant
    ) -> [Action] {
        dialogs[peer]?.open = nil
        guard open.question.wantsAnswer else { return [] }
        if case .no = answer { dialogs[peer]?.refuse(.notConfirmed) }
        dialogs[peer]?.lastProgress = now
        return [.reply(answer, open.question, peer)]
    }

    // MARK: Ending

    /// The next time at which ``late(at:)`` has something to do.
    var nextMoment: KernelInstant? { dialogs.values.lazy.map(\.deadline).min() }

    /// Refuses the questions whose time is over, and removes the dialogs without progress.
    mutating func late(at now: KernelInstant) -> [Action] {
        let late = dialogs.filter { $0.value.deadline <= now }.sorted { $0.value.deadline < $1.value.deadline }
        var actions: [Action] = []
        for (peer, dialog) in late {
            if let open = dialog.open, open.question.wantsAnswer {
                actions.append(.cancel(open.call))
                actions += settle(open, .no, peer, now)
            } else {
                actions += end(peer)
            }
        }
        return actions
    }

    /// Refuses the open questions about a link's peer and removes its dialogs.
    mutating func abort(_ addresses: LinkAddresses, at now: KernelInstant) -> [Action] {
        var actions: [Action] = []
        for peer in addresses.all {
            let open = dialogs[peer]?.open
            if let open { actions += settle(open, .no, peer, now) + [.cancel(open.call)] }
            actions += end(peer)
        }
        return actions
    }

    /// Removes the dialogs and held questions of a link's peer, whose pairing or link has ended.
    mutating func end(_ addresses: LinkAddresses) -> [Action] {
        addresses.all.flatMap { peer in
            held[peer] = nil
            return end(peer)
        }
    }

    private mutating func end(_ peer: BluetoothAddress) -> [Action] {
        dialogs.removeValue(forKey: peer)?.open.map { [.cancel($0.call)] } ?? []
    }

    /// Removes all dialogs and held questions.
    mutating func endAll() -> [Action] {
        held = [:]
        return Array(dialogs.keys).flatMap { end($0) }
    }

    // MARK: Links that are not accepted yet

    /// Holds a question about a link that this program may yet accept; false if others had to be dropped for it.
    mutating func hold(_ question: PairingQuestion, _ peer: BluetoothAddress, at now: KernelInstant) -> Bool {
        let hasRoom = held.count < limit || held[peer] != nil
        if !hasRoom { held = [:] }
        held[peer] = Held(question: question, since: now)
        return hasRoom
    }

    /// Removes and returns the held question about a link, if the link was accepted in time.
    mutating func release(_ peer: BluetoothAddress, at now: KernelInstant) -> PairingQuestion? {
        guard let held = held.removeValue(forKey: peer), held.since.duration(to: now) < Self.acceptLimit else {
            return nil
        }
        return held.question
    }

    // MARK: Outcomes

    private func dialog(_ addresses: LinkAddresses) -> Dialog? {
        addresses.all.lazy.compactMap { dialogs[$0] }.first
    }

    /// Returns whether there is a dialog with a link's peer.
    func isPairing(_ addresses: LinkAddresses) -> Bool { dialog(addresses) != nil }

    /// The reason why this side has refused the pairing with a link's peer; nil if it has not.
    func refusal(_ addresses: LinkAddresses) -> PairingFailure? { dialog(addresses)?.refusal }
}

/// Devices, each with the number of its marks.
struct MarkedDevices: Hashable {
    private var counts: [BluetoothAddress: Int] = [:]

    mutating func begin(_ peer: BluetoothAddress) { counts[peer, default: 0] += 1 }

    mutating func end(_ peer: BluetoothAddress) {
        let count = (counts[peer] ?? 1) - 1
        counts[peer] = count > 0 ? count : nil
    }

    /// Returns whether a link's peer is marked.
    func contains(_ addresses: LinkAddresses) -> Bool { addresses.all.contains { counts[$0] != nil } }
}

/// The pairings that this program has agreed to: their keys may come after the end of the link.
struct AgreedPairings {
    /// By the device's address in the question: when, and whether no key has come yet.
    private var pairings: [BluetoothAddress: (time: KernelInstant, isOpen: Bool)] = [:]
    /// The maximum time from an answer to the keys (Core Vol 3 Part H §3.4).
    private static let lifetime = Duration.seconds(30)

    mutating func add(_ peer: BluetoothAddress, at now: KernelInstant) {
        pairings = pairings.filter { $0.value.time.duration(to: now) < Self.lifetime }
        if pairings.count < 64 { pairings[peer] = (now, true) }
    }

    /// Forgets a pairing that has failed.
    mutating func remove(_ peer: BluetoothAddress) { pairings[peer] = nil }

    /// Whether one of the pairings has made a key.
    ///
    /// A device that had an address of another kind than a private one is known by its identity alone: then the only
    /// pairing without keys so far counts.
    mutating func haveMadeKey(
        of identity: BluetoothAddress, _ privateAddress: BluetoothAddress?, at now: KernelInstant
    ) -> Bool {
        let recent = pairings.filter { $0.value.time.duration(to: now) < Self.lifetime }
        var peer = [privateAddress ?? identity, identity].first { recent[$0] != nil }
        let open = recent.filter(\.value.isOpen)
        if peer == nil, privateAddress == nil, open.count == 1 { peer = open.first?.key }
        guard let peer else { return false }
        pairings[peer]?.isOpen = false
        return true
    }
}

extension PairingQuestion {
    /// Calls the agent's method for the question.
    func answer(of agent: any PairingAgent, _ request: PairingRequest) async throws -> PairingAnswer {
        switch self {
        case .confirm: return try await agent.confirmPairing(request) ? .yes : .no
        case .compare(let number): return try await agent.compareNumber(number, request) ? .yes : .no
        case .enter: return try await agent.enterPasskey(request).map { .passkey($0) } ?? .no
        case .show(let passkey, let count):
            try await agent.showPasskey(passkey, enteredCount: count, request)
            return .yes
        }
    }
}
