import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

/// The questions that pairings ask: which are open, whom the agent is being asked about, and what has come of them.
///
/// What is to be done is returned, to be done at once and in this order. An open question is settled by its answer, by the
/// next question, or by the end of its time, of the pairing or of the adapter.
struct PairingQuestions: Hashable {
    /// Tells a call of the agent from those that have not returned.
    typealias Call = Int

    /// What is to be done.
    enum Action: Hashable {
        /// Has the agent asked; what it says goes to ``answered(_:_:of:at:)``.
        case ask(Call, PairingQuestion, PairingRequest)
        /// What the agent says counts for nothing any more.
        case cancel(Call)
        /// Hands the host an answer.
        case reply(PairingAnswer, PairingQuestion, BluetoothAddress)
        /// Has the host end a link whose pairing asks nothing that could be answered with no.
        case disconnect(BluetoothAddress)
    }

    /// How a question is dealt with.
    enum Verdict: Hashable {
        case ask
        case accept
        case refuse(PairingFailure)
    }

    /// How a pairing has gone so far.
    enum Course: Hashable {
        case begun
        /// Numbers are in play, so that they may be wrong.
        case numbered
        /// This side has said no.
        case refused(PairingFailure)
    }

    /// What has been asked and answered in the pairing with one device.
    struct Dialog: Hashable {
        /// The question that the agent is asked.
        struct Open: Hashable {
            let call: Call
            let question: PairingQuestion
        }

        fileprivate(set) var open: Open?
        fileprivate(set) var course = Course.begun
        fileprivate(set) var lastProgress: KernelInstant

        /// When the wait for the answer ends, or the dialog itself, where nothing tells its end.
        var deadline: KernelInstant {
            lastProgress.advanced(by: open?.question.wantsAnswer == true ? answerLimit : silenceLimit)
        }

        /// This side says no, unless it has already.
        fileprivate mutating func refuse(_ failure: PairingFailure) {
            if case .refused = course { return }
            course = .refused(failure)
        }
    }

    /// A question about a link that may yet turn out to be this program's.
    private struct Held: Hashable {
        let question: PairingQuestion
        let since: KernelInstant
    }

    /// How long the link that a question is about may take to be accepted by this program.
    private static let acceptLimit = Duration.seconds(5)
    /// How long an agent has for an answer. The pairing itself ends after 30 s without one (Core Vol 3 Part H §3.4).
    static let answerLimit = Duration.seconds(25)
    /// How long a dialog of which nothing more is heard is kept.
    private static let silenceLimit = Duration.seconds(35)

    /// How many devices may be asked about at the same time.
    private let limit: Int
    private(set) var dialogs: [BluetoothAddress: Dialog] = [:]
    /// The calls of the agent that have not returned, those included whose question is settled.
    private(set) var calls: Set<Call> = []
    private var held: [BluetoothAddress: Held] = [:]
    /// With whom this program does something that may need pairing, besides raising a link's protection, and how often.
    private var wishes: [BluetoothAddress: Int] = [:]

    init(limit: Int = 32) {
        self.limit = limit
    }

    // MARK: Asking

    /// A device's pairing asks something.
    mutating func asked(
        _ question: PairingQuestion, _ request: PairingRequest, _ verdict: Verdict, at now: KernelInstant
    ) -> [Action] {
        let peer = request.peer
        var dialog = dialogs[peer] ?? Dialog(lastProgress: now)
        // The question before it is settled.
        var actions = dialog.open.map { [Action.cancel($0.call)] } ?? []
        dialog.open = nil
        dialog.lastProgress = now
        if question.isAboutNumber, dialog.course == .begun { dialog.course = .numbered }
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
                // Nobody can enter the number at the device now.
                dialog.refuse(failure)
                actions.append(.disconnect(peer))
            }
        }
        dialogs[peer] = dialog
        return actions
    }

    /// Makes room for a call of the agent; nil where it is asked about as many devices as may be.
    mutating func beginCall() -> Call? {
        guard let call = (0..<limit).first(where: { !calls.contains($0) }) else { return nil }
        calls.insert(call)
        return call
    }

    /// A call of the agent has returned.
    mutating func endCall(_ call: Call) { calls.remove(call) }

    /// The agent has answered what it was asked about a device.
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

    /// When ``late(at:)`` has something to do next.
    var nextMoment: KernelInstant? { dialogs.values.lazy.map(\.deadline).min() }

    /// Answers no where nobody has answered in time, and ends the dialogs of which nothing more was heard.
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

    /// Says no where something is asked, and ends the dialogs with a link's peer.
    mutating func abort(_ addresses: LinkAddresses, at now: KernelInstant) -> [Action] {
        var actions: [Action] = []
        for peer in addresses.all {
            let open = dialogs[peer]?.open
            if let open { actions += settle(open, .no, peer, now) + [.cancel(open.call)] }
            actions += end(peer)
        }
        return actions
    }

    /// The pairing with a link's peer has ended, or its link.
    mutating func end(_ addresses: LinkAddresses) -> [Action] {
        addresses.all.flatMap { peer in
            held[peer] = nil
            return end(peer)
        }
    }

    private mutating func end(_ peer: BluetoothAddress) -> [Action] {
        dialogs.removeValue(forKey: peer)?.open.map { [.cancel($0.call)] } ?? []
    }

    /// Nobody answers any more.
    mutating func endAll() -> [Action] {
        held = [:]
        return Array(dialogs.keys).flatMap { end($0) }
    }

    // MARK: Who is asked about

    /// This program does something with a device that may have the host pair, until ``endWish(_:)``.
    mutating func beginWish(_ peer: BluetoothAddress) { wishes[peer, default: 0] += 1 }

    /// Ends what ``beginWish(_:)`` began.
    mutating func endWish(_ peer: BluetoothAddress) {
        let count = (wishes[peer] ?? 1) - 1
        wishes[peer] = count > 0 ? count : nil
    }

    /// Whether this program does something with a device that may have the host pair.
    func isWished(_ addresses: LinkAddresses) -> Bool { addresses.all.contains { wishes[$0] != nil } }

    /// Keeps a question about a link that may yet turn out to be this program's; false where others had to go for it.
    mutating func hold(_ question: PairingQuestion, _ peer: BluetoothAddress, at now: KernelInstant) -> Bool {
        let hasRoom = held.count < limit || held[peer] != nil
        if !hasRoom { held = [:] }
        held[peer] = Held(question: question, since: now)
        return hasRoom
    }

    /// The question about a link, if one was kept and the link has come in time.
    mutating func release(_ peer: BluetoothAddress, at now: KernelInstant) -> PairingQuestion? {
        guard let held = held.removeValue(forKey: peer), held.since.duration(to: now) < Self.acceptLimit else {
            return nil
        }
        return held.question
    }

    // MARK: What has come of it

    private func dialog(_ addresses: LinkAddresses) -> Dialog? {
        addresses.all.lazy.compactMap { dialogs[$0] }.first
    }

    /// Whether something has been asked about a pairing with a link's peer that has not ended.
    func isPairing(_ addresses: LinkAddresses) -> Bool { dialog(addresses) != nil }

    /// What has come of the pairing on a link that was not protected as it should be.
    ///
    /// - Parameters:
    ///   - since: when it was heard of last, where nothing has been asked.
    ///   - hasKey: whether there is a key from an earlier pairing.
    func failure(
        _ addresses: LinkAddresses, since: KernelInstant?, hasKey: Bool, at now: KernelInstant
    ) -> PairingFailure {
        let dialog = dialog(addresses)
        if case .refused(let failure) = dialog?.course { return failure }
        if let since = dialog?.lastProgress ?? since, since.duration(to: now) >= .seconds(29) { return .timedOut }
        if dialog?.course == .numbered { return .authenticationFailed }
        return dialog == nil && hasKey ? .keyMissing : .rejected
    }
}

extension PairingQuestion {
    /// Has an agent answer.
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
