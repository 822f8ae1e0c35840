import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The pairings on one adapter: whether there can be any, who answers what they ask, and how they go.
//
// Lives on the loop, with the adapter.
final class Pairings {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterFacts
    let host: any HostPairing
    private var keys: PairingKeys
    private let links: any PairingLinks
    private let log: Logger
    private let dialogs: PairingDialogs
    /// Whether links are accepted, of which the host may tell after it has asked about them.
    var acceptsLinks = false
    private var end: BluetoothError?

    init(
        on adapter: AdapterFacts, _ host: any HostPairing, _ loop: EventLoop,
        _ bonds: BondKeeper, _ links: any PairingLinks, log: Logger
    ) {
        mark = loop.components.mark("Pairings")
        (self.adapter, self.host) = (adapter, host)
        self.log = log
        keys = PairingKeys(bonds: bonds)
        self.links = links
        dialogs = PairingDialogs(host, links, on: loop, log: log)
    }

    /// Begins to take what the host tells of pairings.
    func follow() { host.follow { [weak self] in self?.take($0) } }

    /// The adapter is closed: nobody answers any more.
    func close(_ reason: BluetoothError) {
        end = reason
        dialogs.close()
    }

    /// What is asked.
    var questions: PairingQuestions { dialogs.questions }

    // MARK: Settings

    /// Chooses who answers, and what the adapter brings to its pairings.
    nonisolated(nonsending) func setAgent(
        _ agent: any PairingAgent, _ settings: PairingSettings
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("set the pairing agent", adapter: adapter.information.name)
        try checkIsOwn(operation)
        let before = dialogs.agent
        dialogs.agent = agent
        do {
            try await host.change(to: settings, operation)
        } catch {
            dialogs.agent = before
            throw error
        }
    }

    /// Has the host get the settings, where pairing is this program's business.
    nonisolated(nonsending) func prepare(
        _ operation: BluetoothError.Operation, again: Bool = false
    ) async throws(BluetoothError) {
        if isOwn { try await host.apply(operation, again: again) }
    }

    /// The adapter has changed; with a reason, it is gone.
    func adapterChanged(_ reason: BluetoothError?) {
        if let reason { host.adapterIsGone(reason) } else { host.adapterChanged() }
    }

    // MARK: Whether there can be any

    /// Makes sure that pairing is this program's to do.
    func checkIsOwn(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end { throw end }
        switch host.authority {
        case .ours: return
        case .others(let error), .notPermitted(let error): throw error.about(operation)
        }
    }

    private var isOwn: Bool { if case .ours = host.authority { true } else { false } }

    /// Whether a pairing that begins now finds somebody to answer its questions: this program, or another.
    var canPair: Bool { if case .notPermitted = host.authority { false } else { true } }

    /// Whether what makes two devices sure of each other can be seen or entered here.
    var canAuthenticate: Bool { host.settings.ioCapability != .noInputNoOutput }

    /// Whether keys are kept.
    var isBondable: Bool { host.settings.isBondable }

    /// Why there is no point in raising a link to a level, as far as that is known before.
    func obstacle(to level: SecurityLevel, _ addresses: LinkAddresses) -> PairingFailure? {
        guard isOwn, !hasKey(addresses) else { return nil }
        if level >= .high, !canAuthenticate { return .insufficientLevel }
        return hasRoom(addresses, forAuthenticated: canAuthenticate) ? nil : .bondStoreFull
    }

    /// Whether there is a key from an earlier pairing with a link's peer.
    func hasKey(_ addresses: LinkAddresses) -> Bool { keys.exist(addresses) }

    /// Whether the bond that a pairing makes finds room, or there is none to be made.
    private func hasRoom(_ addresses: LinkAddresses, forAuthenticated isAuthenticated: Bool) -> Bool {
        !isBondable || keys.haveRoom(addresses, forAuthenticated: isAuthenticated)
    }

    // MARK: What happens

    private func take(_ event: PairingEvent) {
        switch event {
        case .question(let question, let peer): take(question, peer)
        case .failed(let peer):
            links.tell(peer, .failed)
            isOver(LinkAddresses(connected: peer, known: peer))
        case .keyMade(let peer, let key): keyMade(key, peer)
        case .keysForgotten(let peer): forgetKey(of: peer)
        }
    }

    private func keyMade(_ key: MadeKey, _ peer: BluetoothAddress) {
        if key.isStored { keys.note(peer) }
        isOver(LinkAddresses(connected: links.connectedAddress(of: peer) ?? peer, known: peer))
        links.tell(peer, .keyMade(key))
    }

    /// A device's key is gone from this machine.
    func forgetKey(of peer: BluetoothAddress) { keys.forget(peer) }

    private func take(_ question: PairingQuestion, _ peer: BluetoothAddress) {
        // The links of other programs are theirs to pair, and where one does all, all are its.
        if case .others = host.authority { return }
        let connected = links.connectedAddress(of: peer)
        let addresses = LinkAddresses(connected: connected ?? peer, known: peer)
        let isWished = questions.isWished(addresses)
        guard connected != nil || isWished else {
            if acceptsLinks, !dialogs.hold(question, peer) {
                log.debug("questions about links of others are forgotten")
            }
            return
        }
        let isRaised = links.pairingAsked(peer)
        let request = PairingRequest(
            peer: peer, adapter: adapter.information.name, isInitiatedHere: isWished || isRaised)
        log.debug("pairing asks", metadata: ["peer": "\(peer)"])
        let verdict = verdict(on: question, request, addresses)
        dialogs.update { $0.asked(question, request, verdict, at: $1) }
    }

    private func verdict(
        on question: PairingQuestion, _ request: PairingRequest, _ addresses: LinkAddresses
    ) -> PairingQuestions.Verdict {
        // Whoever has taken the device's place could pair like that, too.
        if case .confirm = question, keys.areAuthenticated(addresses) {
            log.notice("a pairing that would replace a better key is refused", metadata: ["peer": "\(request.peer)"])
            return .refuse(.keyMissing)
        }
        if !hasRoom(addresses, forAuthenticated: question.isAboutNumber) {
            keys.bonds.tellRefused(request.peer)
            return .refuse(.bondStoreFull)
        }
        if case .confirm = question, request.isInitiatedHere { return .accept }
        return .ask
    }

    // MARK: Links

    /// Does something that may have the host pair with a device, such as opening a channel: that is this program's own
    /// pairing then.
    nonisolated(nonsending) func expected<Value>(
        with peer: BluetoothAddress, _ body: nonisolated(nonsending) () async throws(BluetoothError) -> Value
    ) async throws(BluetoothError) -> Value {
        try await dialogs.wish(for: peer, body)
    }

    /// Asks the agent whether to pair at all, for a request of this program's; nobody says no.
    /// - Parameter answer: takes the answer; failing it ends the question.
    nonisolated(nonsending) func askFirst(
        about peer: BluetoothAddress, _ operation: BluetoothError.Operation, until deadline: KernelInstant?,
        _ answer: Promise<Bool, BluetoothError>
    ) async throws(BluetoothError) {
        let request = PairingRequest(peer: peer, adapter: adapter.information.name, isInitiatedHere: true)
        try await dialogs.askFirst(request, operation, until: deadline, answer)
    }

    /// A link has become this program's: what was asked about it is asked now.
    func mayConcern(_ addresses: LinkAddresses) {
        for peer in addresses.all {
            if let question = dialogs.release(peer) { take(question, peer) }
        }
    }

    /// Whether something has been asked about a pairing with a link's peer that has not ended.
    func isPairing(_ addresses: LinkAddresses) -> Bool { questions.isPairing(addresses) }

    /// What has come of the pairing on a link that was not protected as it should be.
    func failure(_ addresses: LinkAddresses, since: KernelInstant?) -> PairingFailure {
        questions.failure(addresses, since: since, hasKey: hasKey(addresses), at: dialogs.now)
    }

    /// A link has ended or is encrypted, and what was asked about it is settled.
    func isOver(_ addresses: LinkAddresses) { dialogs.update { questions, _ in questions.end(addresses) } }

    /// Ends a pairing on this side: says no where something is asked, and has the host end the link, which it may keep
    /// up as long as the pairing is under way.
    func abort(_ addresses: LinkAddresses) {
        dialogs.update { $0.abort(addresses, at: $1) }
        host.disconnect(addresses.known, connectedAs: addresses.connected)
    }

    /// There was no room for the bond that a pairing has made.
    func bondWasRefused(_ identity: BluetoothAddress) {
        links.bondWasRefused(identity)
    }
}
