import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The pairings on one adapter: their settings, agent and keys, and the dispatch of the host's pairing events.
// Holds more than ten variables: it connects the agent, the host, the bonds and the links of one adapter.
//
// Confined to the event loop, with the adapter.
final class Pairings: PairingReceiver {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterRecord
    let host: any HostPairing
    private var keys: PairingKeys
    private let links: LinkRegistry
    private let log: Logger
    private let dialogs: PairingDialogs
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
    private var settings = PairingSettings()
    private var end: BluetoothError?
    /// The devices whose out-of-band data the host has.
    private var outOfBand: Set<BluetoothAddress> = []
    /// The bonded devices, with a count, to which the host encrypts links automatically.
    private var encrypting: [BluetoothAddress: Int] = [:]

    init(
        on adapter: AdapterRecord, _ host: any HostPairing, _ loop: EventLoop,
        _ bonds: BondManager, _ links: LinkRegistry, log: Logger
    ) {
        mark = loop.components.mark("Pairings")
        (self.adapter, self.host) = (adapter, host)
        self.log = log
        keys = PairingKeys(bonds: bonds)
        self.links = links
        dialogs = PairingDialogs(host, links, bonds, on: loop, log: log)
    }

    /// Subscribes to the host's pairing events.
    func follow() { host.receiver = self }

    /// Cancels all questions, as the adapter is closed.
    func close(_ reason: BluetoothError) {
        end = reason
        host.close()
        dialogs.close()
    }

    /// The state of all questions.
    var questions: PairingQuestions { dialogs.questions }

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

    private var hasAgent: Bool { !(dialogs.agent is RefusingPairingAgent) }

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
        let before = (agent: dialogs.agent, settings: self.settings)
        (dialogs.agent, self.settings) = (agent, settings)
        do throws(BluetoothError) {
            try await host.change(to: settings, operation)
        } catch {
            (dialogs.agent, self.settings) = before
            throw error
        }
        do throws(BluetoothError) {
            if !links.isEmpty { try await prepareLink(operation) }
        } catch {
            dialogs.agent = before.agent
            throw error
        }
        setIncoming(incoming)
    }

    /// Applies the settings and the bonds' keys to the host, if pairing is this program's responsibility.
    nonisolated(nonsending) func prepare(_ operation: BluetoothError.Operation) async throws(BluetoothError) {
        guard isOwn else { return }
        await keys.bonds.load()
        try await apply(operation)
    }

    private nonisolated(nonsending) func apply(_ operation: BluetoothError.Operation) async throws(BluetoothError) {
        do {
            try await host.apply().value(operation, timeout: nil, on: keys.bonds.loop)
        } catch {
            throw error.about(operation)
        }
    }

    /// Removes a device's key from the host that is not stored, and ends its pairing.
    nonisolated(nonsending) func removeUnstored(_ peer: BluetoothAddress) async {
        guard isOwn else { return }
        let call = host.removeKeys(of: peer, disconnect: false)
        try? await call.value(.init("pair", peer: peer), timeout: nil, on: keys.bonds.loop)
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
    var refusesJustWorks: Bool { dialogs.agent.refusesJustWorks }

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
    func hasKey(_ addresses: LinkAddresses) -> Bool { keys.exist(addresses) }

    /// Returns whether the bond of a pairing would find room, or none would be made.
    private func hasRoom(_ addresses: LinkAddresses, forAuthenticated isAuthenticated: Bool) -> Bool {
        !isBondable || keys.haveRoom(addresses, forAuthenticated: isAuthenticated)
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
                .value(operation, timeout: nil, on: keys.bonds.loop)
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

    func receive(_ event: PairingEvent) {
        switch event {
        case .question(let question, let peer): handle(question, peer)
        case .failed(let peer, let failure):
            let failed = LinkAddresses(connected: links.connectedAddress(of: peer) ?? peer, known: peer)
            // The peer may refuse the pairing before this side is asked.
            dialogs.agreed.remove(peer)
            if isEncrypting(failed) { keys.bonds.hostLacksKey(of: keys.bond(failed)?.identity ?? peer) }
            links.report(peer, .failed(failure))
            endDialogs(LinkAddresses(connected: peer, known: peer))
            removeOutOfBandData(of: LinkAddresses(connected: links.connectedAddress(of: peer) ?? peer, known: peer))
        case .keys(let keys, let isStored): keysWereMade(keys, isStored: isStored)
        case .keysForgotten(let peer):
            keys.bonds.isForgotten(peer)
            forgetKey(of: peer)
        case .linkEnded: keys.bonds.linkHasEnded()
        }
    }

    private func keysWereMade(_ made: PeerKeys, isStored: Bool) {
        let peer = made.identity
        // Its link may have ended.
        let isAgreed = dialogs.agreed.haveMadeKey(of: peer, made.privateAddress, at: dialogs.now)
        if isStored {
            keys.bonds.addKeys(made, isOwn: isAgreed)
            keys.note(peer)
        } else if isAgreed || links.connectedAddress(of: peer) != nil, case .ours = host.authority {
            keys.bonds.keyIsNotBonded(of: peer)
        }
        let addresses = LinkAddresses(connected: links.connectedAddress(of: peer) ?? peer, known: peer)
        endDialogs(addresses)
        links.report(peer, .keyMade(isStored: isStored))
        removeOutOfBandData(of: addresses)
    }

    /// Removes a device whose key was deleted.
    func forgetKey(of peer: BluetoothAddress) { keys.forget(peer) }

    private func handle(_ question: PairingQuestion, _ peer: BluetoothAddress) {
        // The links of other programs are theirs to pair; a program with the authority over pairing handles all links.
        if case .others = host.authority { return }
        let connected = links.connectedAddress(of: peer)
        let addresses = LinkAddresses(connected: connected ?? peer, known: peer)
        let isOwnPairing = questions.isOwnPairing(addresses)
        guard connected != nil || isOwnPairing || isEncrypting(addresses) else {
            if incoming == .accepted, !dialogs.hold(question, peer) {
                log.debug("pairing questions about links of other programs are dropped")
            }
            return
        }
        let (isRaised, isConfirmed) = links.pairingAsked(peer)
        let bond = keys.bond(addresses)
        let request = PairingRequest(
            peer: peer, adapter: adapter.information.name, isInitiatedHere: isOwnPairing || isRaised,
            bond: isConfirmed ? nil : bond)
        log.debug("pairing asks", metadata: ["peer": "\(peer)"])
        let lostKey = isEncrypting(addresses) && (connected == nil || isRaised)
        if lostKey { keys.bonds.hostLacksKey(of: bond?.identity ?? peer) }
        let verdict: PairingQuestions.Verdict =
            lostKey ? .refuse(.keyMissing) : verdict(on: question, request, addresses, bond)
        // The agent shows the number to enter, and gives no answer.
        if case .ask = verdict, !question.wantsAnswer {
            dialogs.agreed.add(peer, at: dialogs.now)
            links.report(peer, .answered(agrees: true))
        }
        dialogs.update { $0.asked(question, request, verdict, at: $1) }
        if case .refuse(.insufficientLevel) = verdict, !request.isInitiatedHere {
            // Perhaps the link began with another program's settings: the next one has these.
            keys.bonds.notice(
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
            keys.bonds.reportRefusal(of: bond.identity, .keyMissing)
            return .refuse(.keyMissing)
        }
        if !hasRoom(addresses, forAuthenticated: question.isAboutNumber) {
            keys.bonds.reportRefusal(of: request.peer)
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
        keys.bonds.hostLacksKey(of: bond.identity)
        return true
    }

    // MARK: Links

    /// Marks pairings with a device as this program's own while `body` runs, such as the opening of a channel, which
    /// may make the host pair.
    nonisolated(nonsending) func allowingPairing<Value>(
        with peer: BluetoothAddress, _ body: nonisolated(nonsending) () async throws(BluetoothError) -> Value
    ) async throws(BluetoothError) -> Value {
        try await dialogs.markingOwnPairing(with: peer, body)
    }

    /// Marks a bonded device as connected to with the key of its bond, until ``endEncrypting(_:)``: a pairing means that
    /// the host has lost the key.
    func beginEncrypting(_ peer: BluetoothAddress) { encrypting[peer, default: 0] += 1 }

    func endEncrypting(_ peer: BluetoothAddress) {
        let count = (encrypting[peer] ?? 1) - 1
        encrypting[peer] = count > 0 ? count : nil
    }

    private func isEncrypting(_ addresses: LinkAddresses) -> Bool {
        addresses.all.contains { encrypting[$0] != nil }
    }

    /// Asks the agent to confirm a pairing that this program is about to begin; throws if it refuses or is out of time.
    /// - Parameter answer: receives the answer; failing it ends the question.
    nonisolated(nonsending) func askFirst(
        about peer: BluetoothAddress, _ operation: BluetoothError.Operation, until deadline: KernelInstant?,
        _ answer: Promise<Bool, BluetoothError>
    ) async throws(BluetoothError) {
        let request = PairingRequest(peer: peer, adapter: adapter.information.name, isInitiatedHere: true)
        try await dialogs.askFirst(request, operation, until: deadline, answer)
    }

    /// Handles the held question about a link that this program has accepted.
    func resolveHeldQuestions(for addresses: LinkAddresses) {
        for peer in addresses.all {
            if let question = dialogs.release(peer) { handle(question, peer) }
        }
    }

    /// Returns whether there is a dialog with a link's peer.
    func isPairing(_ addresses: LinkAddresses) -> Bool { questions.isPairing(addresses) }

    /// The reason why this side has refused the pairing on a link; nil if it has not.
    func refusal(_ addresses: LinkAddresses) -> PairingFailure? { questions.refusal(addresses) }

    /// Removes the dialogs of a link that has ended or is encrypted.
    func endDialogs(_ addresses: LinkAddresses) { dialogs.update { questions, _ in questions.end(addresses) } }

    /// Ends a pairing on this side: refuses its open question and has the host end the link, which the host might
    /// otherwise keep up as long as the pairing lasts.
    func abort(_ addresses: LinkAddresses) {
        dialogs.update { $0.abort(addresses, at: $1) }
        host.disconnect(addresses.known, connectedAs: addresses.connected)
    }
}
