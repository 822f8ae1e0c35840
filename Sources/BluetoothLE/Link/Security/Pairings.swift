import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The pairings on one adapter: handles the host's pairing events, calls the agent as ``PairingQuestions`` decides, and has
/// the settings and the out-of-band data.
// Holds more than ten variables: it connects the agent, the host, the bonds and the links of one adapter.
//
// Confined to the event loop, with the adapter.
final class Pairings: PairingReceiver {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterRecord
    let host: any HostPairing
    private let bonds: BondManager
    private let admission: BondAdmission
    private let links: LinkRegistry
    /// The use of the links that come in.
    enum Incoming {
        case none
        /// They are accepted, and there is nothing to serve.
        case advertised
        case served
        /// The program accepts them, which the host may report only after their first question.
        case accepted
    }

    private(set) var incoming = Incoming.none
    private var agent: any PairingAgent = RefusingPairingAgent()
    private var settings = PairingSettings()
    private var end: BluetoothError?
    /// The state of all questions.
    private(set) var questions = PairingQuestions()
    /// The tasks in which the agent is called.
    private var calls: [PairingQuestions.Call: Task<Void, Never>] = [:]
    /// The pairings that this program has agreed to.
    private var agreed = AgreedPairings()
    /// Fires at the next deadline of the questions.
    private var timer: LoopTimer?
    /// The devices whose out-of-band data the host has.
    private var outOfBand: Set<BluetoothAddress> = []

    init(on adapter: AdapterRecord, _ bonds: BondManager, _ links: LinkRegistry) {
        mark = bonds.loop.components.mark("Pairings")
        (self.adapter, self.bonds, self.links) = (adapter, bonds, links)
        admission = BondAdmission(to: bonds)
        host = bonds.host
    }

    private var loop: EventLoop { bonds.loop }

    /// Subscribes to the host's pairing events.
    func follow() { host.receiver = self }

    /// Cancels all questions and refuses later ones, as the adapter is closed.
    func close(_ reason: BluetoothError) {
        end = reason
        host.close()
        perform(questions.endAll())
        agent = RefusingPairingAgent()
    }

    // MARK: Settings

    /// Sets the use of the links that come in. Centrals may pair, or encrypt with their keys, at any moment, but not with a
    /// program that only advertises.
    func setIncoming(_ incoming: Incoming) {
        let hasChanged = incoming != self.incoming
        self.incoming = incoming
        let isServing = incoming == .advertised ? hasAgent : incoming != .none
        host.setServing(isServing)
        if hasChanged, !isServing { linkEnded() }
    }

    private var hasAgent: Bool { !(agent is RefusingPairingAgent) }

    /// Ends the use of the settings with the last link.
    func linkEnded() {
        if links.isEmpty { host.release() }
    }

    /// Sets the agent and the adapter's pairing settings.
    nonisolated(nonsending) func setAgent(
        _ agent: any PairingAgent, _ settings: PairingSettings
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("set the pairing agent", adapter: adapter.information.name)
        try checkIsOwn(operation)
        let before = (agent: self.agent, settings: self.settings)
        (self.agent, self.settings) = (agent, settings)
        do throws(BluetoothError) {
            try await host.change(to: settings, operation)
        } catch {
            (self.agent, self.settings) = before
            throw error
        }
        do throws(BluetoothError) {
            if !links.isEmpty { try await prepareLink(operation) }
        } catch {
            self.agent = before.agent
            throw error
        }
        setIncoming(incoming)
    }

    /// Applies the settings and the bonds' keys to the host, if pairing is this program's responsibility.
    nonisolated(nonsending) func prepare(_ operation: BluetoothError.Operation) async throws(BluetoothError) {
        guard isOwn else { return }
        await bonds.load()
        try await apply(operation)
    }

    private nonisolated(nonsending) func apply(_ operation: BluetoothError.Operation) async throws(BluetoothError) {
        do {
            try await host.apply().value(operation, timeout: nil, on: loop)
        } catch {
            throw error.about(operation)
        }
    }

    /// Removes a device's key from the host that is not stored, and ends its pairing.
    nonisolated(nonsending) func removeUnstored(_ peer: BluetoothAddress) async {
        guard isOwn else { return }
        let call = host.removeKeys(of: peer, disconnect: false)
        try? await call.value(.init("pair", peer: peer), timeout: nil, on: loop)
    }

    /// Applies the settings for a link that is about to be made, which begins with them, if an agent answers what its peer
    /// may ask.
    nonisolated(nonsending) func prepareLink(_ operation: BluetoothError.Operation) async throws(BluetoothError) {
        if isOwn, hasAgent { try await apply(operation) }
    }

    /// Notifies the host of a change of the adapter; with a reason, of its removal.
    func adapterChanged(_ reason: BluetoothError?) { host.adapterChanged(removed: reason) }

    // MARK: Availability

    /// Throws unless pairing is this program's responsibility.
    func checkIsOwn(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end { throw end }
        switch host.authority {
        case .ours: return
        case .others(let error), .notPermitted(let error): throw error.about(operation)
        }
    }

    private var isOwn: Bool { if case .ours = host.authority { true } else { false } }

    /// Whether the questions of a pairing would be answered, by this program or another.
    var canPair: Bool { if case .notPermitted = host.authority { false } else { true } }

    /// Whether the agent's input and output permit an authenticated pairing.
    var canAuthenticate: Bool { settings.ioCapability != .noInputNoOutput }

    /// Whether the agent permits no pairing without a number.
    var refusesJustWorks: Bool { agent.refusesJustWorks }

    /// Whether keys are stored.
    var isBondable: Bool { settings.isBondable }

    /// The reason why raising a link to a level would fail, as far as known beforehand.
    func obstacle(to level: SecurityLevel, _ addresses: LinkAddresses) -> PairingFailure? {
        guard isOwn, !hasKey(addresses) else { return nil }
        let canAuthenticate = canAuthenticate || hasOutOfBandData(addresses)
        if level >= .high, !canAuthenticate { return .insufficientLevel }
        return hasRoom(addresses, forAuthenticated: canAuthenticate) ? nil : .bondStoreFull
    }

    /// Returns whether there is a key from an earlier pairing with a link's peer.
    func hasKey(_ addresses: LinkAddresses) -> Bool { host.hasKey(addresses.all) }

    /// Returns whether the bond of a pairing would find room, or none would be made.
    private func hasRoom(_ addresses: LinkAddresses, forAuthenticated isAuthenticated: Bool) -> Bool {
        !isBondable || addresses.all.contains { bonds.bond(with: $0) != nil }
            || admission.hasRoom(forAuthenticated: isAuthenticated)
    }

    /// The bond that a pairing with a link's peer would replace, where the bonds of this program are those that count.
    private func bond(_ addresses: LinkAddresses) -> Bond? {
        guard ![.daemon, .notPermitted].contains(bonds.status) else { return nil }
        return addresses.all.lazy.compactMap { [bonds] in bonds.bond(behind: $0) }.first
    }

    // MARK: Out-of-band data

    /// The maximum number of devices with out-of-band data.
    private static let outOfBandLimit = 64

    nonisolated(nonsending) func makeOutOfBandData() async throws(BluetoothError) -> OutOfBandData {
        let operation = BluetoothError.Operation("make out-of-band data", adapter: adapter.information.name)
        try checkIsOwn(operation)
        try await prepare(operation)
        return try await host.makeOutOfBandData(operation)
    }

    /// Gives the host a device's data until the next pairing with it ends; nil removes them. Returns the level that a link
    /// must be raised to for a pairing with them.
    @discardableResult
    nonisolated(nonsending) func setOutOfBandData(
        _ data: OutOfBandData?, of peer: BluetoothAddress
    ) async throws(BluetoothError) -> SecurityLevel {
        let operation = BluetoothError.Operation("set out-of-band data", peer: peer)
        try checkIsOwn(operation)
        guard let data else {
            removeOutOfBandData(of: LinkAddresses(connected: peer, known: peer))
            return .low
        }
        guard outOfBand.contains(peer) || outOfBand.count < Self.outOfBandLimit else {
            throw BluetoothError(
                .overflow, operation, "The adapter already has the out-of-band data of \(Self.outOfBandLimit) devices.")
        }
        try await prepare(operation)
        // Before the host has them, so that a call cancelled meanwhile can remove them.
        outOfBand.insert(peer)
        do {
            return try await host.setOutOfBandData(data, of: peer)
                .value(operation, timeout: nil, on: loop)
        } catch {
            removeOutOfBandData(of: LinkAddresses(connected: peer, known: peer))
            throw error.about(operation)
        }
    }

    func hasOutOfBandData(_ addresses: LinkAddresses) -> Bool { !outOfBand.isDisjoint(with: addresses.all) }

    /// Removes the data of a device: they are for one pairing.
    func removeOutOfBandData(of addresses: LinkAddresses) {
        for peer in addresses.all where outOfBand.remove(peer) != nil { host.setOutOfBandData(nil, of: peer) }
    }

    // MARK: Events

    func receive(_ event: PairingEvent, of receivers: [any ChannelReceiver]) {
        let links = receivers.compactMap { ($0 as? LinkReceiver)?.link }
        // A link that the program has just released is ending.
        let held = links.filter { $0.connection != nil }
        switch event {
        case .security(let event): if let link = links.first { link.protection.securityChanged(event, link) }
        case .question(let question, let peer): handle(question, peer, on: held.first)
        case .failed(let peer, let failure):
            let link = held.first
            let addresses = LinkAddresses(connected: link?.peer ?? peer, known: peer)
            // The peer may refuse the pairing before this side is asked.
            agreed.remove(peer)
            if questions.encrypting.contains(addresses) { bonds.hostLacksKey(of: bond(addresses)?.identity ?? peer) }
            if let link { link.protection.pairingFailed(link, failure) }
            endDialogs(addresses)
            removeOutOfBandData(of: addresses)
        case .keys(let keys, let isStored): keysWereMade(keys, isStored: isStored, on: held)
        case .keysForgotten(let peer): bonds.isForgotten(peer)
        case .linkEnded: bonds.linkHasEnded()
        }
    }

    private func keysWereMade(_ made: PeerKeys, isStored: Bool, on links: [Link]) {
        let (peer, link) = (made.identity, links.first)
        let addresses = LinkAddresses(connected: link?.peer ?? peer, known: peer)
        // Its link may have ended.
        let isAgreed = agreed.haveMadeKey(of: peer, made.privateAddress, at: loop.now)
        if isStored {
            admission.addKeys(made, on: links, isOwn: isAgreed)
        } else if isAgreed || link != nil, case .ours = host.authority {
            admission.keyIsNotBonded(of: peer, on: links)
        }
        endDialogs(addresses)
        // A device can claim the identity of another: its key is no matter of a link with the bond's key.
        if let link, !link.bondedPeer.isBonded(link) || link.protection.isPairing {
            link.protection.keyWasMade(isStored: isStored)
        }
        removeOutOfBandData(of: addresses)
    }

    private func handle(_ question: PairingQuestion, _ peer: BluetoothAddress, on link: Link?) {
        // The links of other programs are theirs to pair; a program with the authority over pairing handles all links.
        if case .others = host.authority { return }
        let addresses = LinkAddresses(connected: link?.peer ?? peer, known: peer)
        let isOwnPairing = questions.own.contains(addresses)
        let isEncrypting = questions.encrypting.contains(addresses)
        guard link != nil || isOwnPairing || isEncrypting else {
            if incoming == .accepted, !questions.hold(question, peer, at: loop.now) {
                bonds.log.debug("pairing questions about links of other programs are dropped")
            }
            return
        }
        let (isRaised, isConfirmed) = link.map { $0.protection.pairingAsked($0) } ?? (false, false)
        let bond = bond(addresses)
        let request = PairingRequest(
            peer: peer, adapter: adapter.information.name, isInitiatedHere: isOwnPairing || isRaised,
            bond: isConfirmed ? nil : bond)
        bonds.log.debug("pairing asks", metadata: ["peer": "\(peer)"])
        let lostKey = isEncrypting && (link == nil || isRaised)
        if lostKey { bonds.hostLacksKey(of: bond?.identity ?? peer) }
        let verdict: PairingQuestions.Verdict =
            lostKey ? .refuse(.keyMissing) : verdict(on: question, request, addresses, bond)
        // The agent shows the number to enter, and gives no answer.
        if case .ask = verdict, !question.wantsAnswer { agrees(to: peer, on: link) }
        perform(questions.asked(question, request, verdict, at: loop.now), on: link)
        if case .refuse(.insufficientLevel) = verdict, !request.isInitiatedHere {
            // Perhaps the link began with another program's settings: the next one has these.
            admission.notice(
                "a pairing without a number is refused, and the link ends; the next may have one", of: peer)
            if isOwn { host.apply() }
            abort(addresses)
        }
    }

    private func verdict(
        on question: PairingQuestion, _ request: PairingRequest, _ addresses: LinkAddresses, _ bond: Bond?
    ) -> PairingQuestions.Verdict {
        // There is no question with the data: the device does not use them, or an attacker prevents it.
        if hasOutOfBandData(addresses) { return .refuse(.outOfBandDataRejected) }
        if let bond, refusesReplacement(of: bond, question, request) {
            admission.reportRefusal(of: bond.identity, .keyMissing)
            return .refuse(.keyMissing)
        }
        if !hasRoom(addresses, forAuthenticated: question.isAboutNumber) {
            admission.reportRefusal(of: request.peer)
            return .refuse(.bondStoreFull)
        }
        if case .confirm = question, refusesJustWorks { return .refuse(.insufficientLevel) }
        if case .confirm = question, request.isInitiatedHere { return .accept }
        return .ask
    }

    /// Whether a question would replace a bond in a way that no agent may permit.
    private func refusesReplacement(
        of bond: Bond, _ question: PairingQuestion, _ request: PairingRequest
    ) -> Bool {
        // An attacker in the device's place could pair like that, too.
        if case .confirm = question, bond.isAuthenticated { return true }
        guard request.bond != nil, request.isInitiatedHere else { return false }
        // The host was to encrypt the link with the key of the bond, and has lost it.
        bonds.hostLacksKey(of: bond.identity)
        return true
    }

    // MARK: Asking the agent

    /// - Parameter link: that of an answer.
    private func perform(_ actions: [PairingQuestions.Action], on link: Link? = nil) {
        for action in actions {
            switch action {
            case .ask(let call, let question, let request): ask(call, question, request, on: WeakReference(to: link))
            case .cancel(let call): calls[call]?.cancel()
            case .reply(let answer, let question, let peer):
                if answer != .no { agrees(to: peer, on: link) }
                host.reply(answer, to: question, peer)
            case .disconnect(let peer): host.disconnect(peer, connectedAs: peer)
            }
        }
        guard let moment = questions.nextMoment else {
            timer?.cancel()
            return
        }
        if timer == nil { timer = loop.makeTimer(of: self) { $0.perform($0.questions.late(at: $0.loop.now)) } }
        timer?.set(at: moment)
    }

    private func agrees(to peer: BluetoothAddress, on link: Link?) {
        agreed.add(peer, at: loop.now)
        link?.protection.agrees()
    }

    private func ask(
        _ call: PairingQuestions.Call, _ question: PairingQuestion, _ request: PairingRequest,
        on link: WeakReference<Link>
    ) {
        let returned = LoopBound<(PairingAnswer) -> Void>(
            { [weak self] answer in
                guard let self else { return }
                calls[call] = nil
                if answer == .no, let bond = request.bond { admission.reportRefusal(of: bond.identity, .notConfirmed) }
                perform(questions.answered(call, answer, of: request.peer, at: loop.now), on: link.object)
            }, on: loop)
        calls[call] = Task(executorPreference: loop) { [agent, log = bonds.log] in
            var answer = PairingAnswer.no
            do {
                answer = try await question.answer(of: agent, request)
            } catch {
                log.debug("the pairing agent threw: \(type(of: error))", metadata: ["peer": "\(request.peer)"])
            }
            returned.value(answer)
        }
    }

    /// Asks the agent to confirm a pairing that this program is about to begin; throws if it refuses or is out of time.
    /// - Parameter answer: receives the answer; failing it ends the question.
    nonisolated(nonsending) func askFirst(
        about peer: BluetoothAddress, _ operation: BluetoothError.Operation, until deadline: KernelInstant?,
        _ answer: Promise<Bool, BluetoothError>
    ) async throws(BluetoothError) {
        let request = PairingRequest(peer: peer, adapter: adapter.information.name, isInitiatedHere: true)
        guard let call = questions.beginCall() else { throw .pairing(operation, .notConfirmed) }
        let limit = loop.now.advanced(by: PairingQuestions.answerLimit)
        let returned = LoopBound<() -> Void>({ [weak self] in self?.questions.endCall(call) }, on: loop)
        let task = Task(executorPreference: loop) { [agent] in
            answer.succeed((try? await agent.confirmPairing(request)) ?? false)
            returned.value()
        }
        defer { task.cancel() }
        var isConfirmed = false
        do {
            isConfirmed = try await answer.value(
                operation, timeout: loop.now.duration(to: min(limit, deadline ?? limit)), on: loop)
        } catch {
            // Only the agent's time limit counts as a refusal, not the caller's.
            guard error.code == .timedOut, deadline.map({ loop.now < $0 }) ?? true else { throw error }
        }
        if !isConfirmed { throw .pairing(operation, .notConfirmed) }
    }

    // MARK: Links

    /// Marks pairings with a device as this program's own while `body` runs, such as the opening of a channel, which
    /// may make the host pair.
    nonisolated(nonsending) func allowingPairing<Value>(
        with peer: BluetoothAddress, _ body: nonisolated(nonsending) () async throws(BluetoothError) -> Value
    ) async throws(BluetoothError) -> Value {
        questions.own.begin(peer)
        defer { questions.own.end(peer) }
        return try await body()
    }

    /// Marks a bonded device as connected to with the key of its bond, until ``endEncrypting(_:)``: a pairing means that
    /// the host has lost the key.
    func beginEncrypting(_ peer: BluetoothAddress) { questions.encrypting.begin(peer) }

    func endEncrypting(_ peer: BluetoothAddress) { questions.encrypting.end(peer) }

    /// Handles the held question about a link that this program has accepted.
    func resolveHeldQuestions(on link: Link) {
        for peer in link.addresses.all {
            if let question = questions.release(peer, at: loop.now) { handle(question, peer, on: link) }
        }
    }

    /// Removes the dialogs of a link that has ended or is encrypted.
    func endDialogs(_ addresses: LinkAddresses) { perform(questions.end(addresses)) }

    /// Ends a pairing on this side: refuses its open question and has the host end the link, which the host might
    /// otherwise keep up as long as the pairing lasts.
    func abort(_ addresses: LinkAddresses) {
        perform(questions.abort(addresses, at: loop.now))
        host.disconnect(addresses.known, connectedAs: addresses.connected)
    }
}
