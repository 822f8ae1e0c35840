import BluetoothKernel
import BluetoothPrimitives
import Management

// The one owner of the questions that pairing asks. A question is asked by a task that belongs to the dialog with its
// device: the next question, the answer's time limit, the end of the pairing and that of the adapter cancel it.
extension AdapterSession {
    func setPairingAgent(
        _ agent: (any PairingAgent)?, ioCapability: IOCapability? = nil, isBondable: Bool = true,
        secureConnections: SecureConnectionsMode = .on
    ) async throws(BluetoothError) {
        let operation = operation("set the pairing agent")
        try checkOwnsPairing(operation)
        let before = (pairing.agent, pairing.settings.wanted)
        pairing.agent = agent
        pairing.settings.wanted = PairingSettings(
            ioCapability: ioCapability ?? agent?.ioCapability ?? .noInputNoOutput, isBondable: isBondable,
            secureConnections: secureConnections)
        do {
            try await sendPairingSettings(operation, again: true)
        } catch {
            (pairing.agent, pairing.settings.wanted) = before
            // The kernel may have a part of the new settings.
            resendPairingSettings()
            throw error
        }
    }

    /// Makes sure that pairing is this program's to do.
    func checkOwnsPairing(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end { throw end }
        let environment = kernel.environment()
        if environment.isBluetoothDaemonRunning { throw .pairing(operation, .ownedByDaemon) }
        guard environment.hasNetAdmin else {
            throw .notPermitted(operation, executable: environment.executablePath)
        }
    }

    /// Whether a pairing that begins now finds somebody to answer its questions: this program, or BlueZ's daemon.
    var canPair: Bool {
        let environment = kernel.environment()
        return environment.hasNetAdmin || environment.isBluetoothDaemonRunning
    }

    /// Whether what makes two devices sure of each other can be seen or entered here.
    var canAuthenticate: Bool { pairing.settings.wanted.ioCapability != .noInputNoOutput }

    /// Has the kernel get the pairing settings, where pairing is this program's business.
    func preparePairing(_ operation: BluetoothError.Operation, again: Bool = false) async throws(BluetoothError) {
        let environment = kernel.environment()
        guard environment.hasNetAdmin, !environment.isBluetoothDaemonRunning else { return }
        try await sendPairingSettings(operation, again: again)
    }

    // MARK: Settings

    private func sendPairingSettings(
        _ operation: BluetoothError.Operation, again: Bool
    ) async throws(BluetoothError) {
        perform(pairing.settings.send(again: again, for: information))
        guard !pairing.settings.isApplied else { return }
        let call = pairing.settingsWaiters.makePromise()
        do {
            try await call.value(operation, timeout: nil, on: loop)
        } catch {
            throw error.about(operation)
        }
    }

    /// Sends the settings again if the kernel has lost them; until it has them all, whenever the adapter changes.
    func resendPairingSettings() {
        perform(pairing.settings.resend(for: information))
    }

    /// The adapter is gone, and with it what its kernel was sent.
    func pairingAdapterIsGone(_ reason: BluetoothError) {
        perform(pairing.settings.adapterLost(reason))
    }

    private func perform(_ action: KernelPairingSettings.Action?) {
        switch action {
        case nil: break
        case .send(let command):
            Task(executorPreference: loop) { [weak self, management, index = information.index] in
                var failure: BluetoothError?
                do throws(BluetoothError) {
                    try await management.value.sendWhenIdle(command, to: index)
                } catch {
                    failure = error
                }
                await self?.pairingSettingAnswered(failure)
            }
        case .finish(let error):
            pairing.settingsWaiters.resolveAll(error.map { .failure($0) } ?? .success(()))
        }
    }

    private func pairingSettingAnswered(_ failure: BluetoothError?) {
        if let failure { log.debug("\(failure)") }
        perform(pairing.settings.answered(failure, for: information))
    }

    // MARK: What happens

    /// Begins to take the questions of pairings.
    func followPairing() {
        // Where that is not to be had, the adapter cannot be followed either, which is told there.
        _ = try? management.value.follow { [weak self] notice in
            self?.assumeIsolated { adapter in
                let own = adapter.information.index
                switch notice {
                case .pairing(own, let pairing): adapter.take(pairing)
                case .longTermKey(own, let key):
                    adapter.take(.keyMade(key.address, MadeKey(kind: key.kind, isStored: true)))
                case .unpaired(own, let peer): adapter.forgetKey(of: peer)
                default: break
                }
            }
        }
    }

    /// Nobody answers any more.
    func endPairing() {
        for peer in Array(pairing.dialogs.keys) { endDialog(peer) }
        pairing.held = [:]
        pairing.agent = nil
    }

    private func take(_ notice: PairingNotice) {
        switch notice {
        case .question(let question, let peer): take(question, peer)
        case .failed(let peer):
            pairing.held[peer] = nil
            connection(of: peer)?.assumeIsolated { $0.pairingFailed() }
            endDialog(peer)
        case .keyMade(let peer, let key):
            pairing.held[peer] = nil
            if key.isStored, pairing.keyHolders.count < 1024 { pairing.keyHolders.insert(peer) }
            endDialog(peer)
            guard let connection = connection(of: peer) else { return }
            endDialog(connection.peer)
            connection.assumeIsolated { $0.keyWasMade(key) }
        }
    }

    /// The link to a device, by any of the addresses that the kernel knows it by.
    private func connection(of peer: BluetoothAddress) -> Connection? {
        localServer.connections.first { $0.peer == peer }
            ?? localServer.connections.first { $0.assumeIsolated { $0.socketPeer } == peer }
    }

    // MARK: Questions

    private func take(_ question: PairingQuestion, _ peer: BluetoothAddress) {
        let connection = connection(of: peer)
        // The links of other programs are theirs to pair, and where the daemon runs, all are its.
        guard !kernel.environment().isBluetoothDaemonRunning else { return }
        let isWished = pairing.wishes[peer] != nil || connection.map { pairing.wishes[$0.peer] != nil } ?? false
        guard connection != nil || isWished else {
            // A link that is accepted here may be told of after it.
            guard acceptance != nil else { return }
            if pairing.held.count >= PairingTable.dialogLimit, pairing.held[peer] == nil {
                log.debug("\(pairing.held.count) questions about links of others are forgotten")
                pairing.held = [:]
            }
            pairing.held[peer] = (question, loop.now)
            return
        }
        let isOwn = connection?.assumeIsolated { connection in
            connection.pairingAsked()
            return connection.securityRaise?.isWanted == true
        }
        let request = PairingRequest(peer: peer, adapter: information.name, isInitiatedHere: isWished || isOwn ?? false)
        log.debug("pairing asks", metadata: ["peer": "\(peer)"])
        // Whoever has taken the device's place could pair like that, too.
        if case .confirm = question, hasAuthenticatedKey(of: peer) || hasAuthenticatedKey(of: connection?.peer ?? peer)
        {
            note(question, peer)
            pairing.dialogs[peer]?.wouldWeaken = true
            log.notice("a pairing that would replace a better key is refused", metadata: ["peer": "\(peer)"])
            return reply(.no, to: question, peer)
        }
        if !hasRoom(for: peer, forAuthenticated: question.isAboutNumber),
            connection.map({ hasRoom(for: $0.peer, forAuthenticated: question.isAboutNumber) }) != true
        {
            note(question, peer)
            pairing.dialogs[peer]?.findsNoRoom = true
            bondKeeper.value.tellRefused(peer)
            reply(.no, to: question, peer)
            // A number that is to be shown is not asked about; nobody can enter it now.
            if !question.wantsAnswer { disconnect(peer) }
            return
        }
        if case .confirm = question, request.isInitiatedHere {
            note(question, peer)
            return reply(.yes, to: question, peer)
        }
        guard pairing.askingCount < PairingTable.dialogLimit, let agent = pairing.agent else {
            note(question, peer)
            return reply(.no, to: question, peer)
        }
        let number = pairing.nextQuestion
        pairing.nextQuestion &+= 1
        pairing.askingCount += 1
        note(question, peer, number)
        pairing.dialogs[peer]?.open?.task = Task(executorPreference: loop) { [weak self, log] in
            var answer = PairingAnswer.no
            do {
                answer = try await question.answer(of: agent, request)
            } catch {
                log.debug("the pairing agent threw: \(type(of: error))", metadata: ["peer": "\(peer)"])
            }
            await self?.answered(number, answer, peer)
        }
    }

    /// A link has become this program's: what was asked about it is asked now.
    func pairingMayConcern(_ connection: Connection) {
        for peer in [connection.peer, connection.assumeIsolated { $0.socketPeer }] {
            guard let held = pairing.held.removeValue(forKey: peer),
                held.since.duration(to: loop.now) < PairingTable.acceptLimit
            else { continue }
            take(held.question, peer)
        }
    }

    /// Takes note of a question; the one before it is settled.
    private func note(_ question: PairingQuestion, _ peer: BluetoothAddress, _ number: UInt64? = nil) {
        if pairing.dialogs[peer] == nil {
            let timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.dialogIsLate(peer) } }
            pairing.dialogs[peer] = PairingDialog(timer: timer, lastProgress: loop.now)
        }
        pairing.dialogs[peer]?.open?.task?.cancel()
        pairing.dialogs[peer]?.open = number.map { PairingDialog.Open(number: $0, question: question) }
        pairing.dialogs[peer]?.lastProgress = loop.now
        if question.isAboutNumber { pairing.dialogs[peer]?.hasNumber = true }
        let waits = number != nil && question.wantsAnswer
        pairing.dialogs[peer]?.timer.set(after: waits ? PairingTable.answerLimit : PairingTable.silenceLimit)
    }

    private func answered(_ number: UInt64, _ answer: PairingAnswer, _ peer: BluetoothAddress) {
        pairing.askingCount -= 1
        guard let open = pairing.dialogs[peer]?.open, open.number == number else { return }
        pairing.dialogs[peer]?.open = nil
        reply(answer, to: open.question, peer)
    }

    /// Hands the kernel an answer.
    private func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress) {
        guard let command = question.command(answer, to: peer) else { return }
        if case .no = answer { pairing.dialogs[peer]?.isRefusedHere = true }
        pairing.dialogs[peer]?.lastProgress = loop.now
        pairing.dialogs[peer]?.timer.set(after: PairingTable.silenceLimit)
        connection(of: peer)?.assumeIsolated { $0.pairingProgressed() }
        management.value.post(command, to: information.index) { [log] answer in
            if case .failure(let error) = answer { log.debug("\(error)") }
        }
    }

    /// Nobody has answered in time, or nothing more was heard of the pairing.
    private func dialogIsLate(_ peer: BluetoothAddress) {
        guard let open = pairing.dialogs[peer]?.open, open.question.wantsAnswer else { return endDialog(peer) }
        open.task?.cancel()
        pairing.dialogs[peer]?.open = nil
        reply(.no, to: open.question, peer)
    }

    private func endDialog(_ peer: BluetoothAddress) {
        pairing.dialogs.removeValue(forKey: peer)?.open?.task?.cancel()
    }

    // MARK: Links

    /// Does something that may have the kernel pair with a device, such as opening a channel: that is this program's own
    /// pairing then.
    func withPairing<Value: Sendable>(
        with peer: BluetoothAddress, _ body: @Sendable () async throws(BluetoothError) -> Value
    ) async throws(BluetoothError) -> Value {
        pairingIsExpected(with: peer)
        defer { pairingIsNotExpected(with: peer) }
        return try await body()
    }

    /// What follows may have the kernel pair with a device; ``pairingIsNotExpected(with:)`` follows.
    func pairingIsExpected(with peer: BluetoothAddress) { pairing.wishes[peer, default: 0] += 1 }

    func pairingIsNotExpected(with peer: BluetoothAddress) {
        let count = (pairing.wishes[peer] ?? 1) - 1
        pairing.wishes[peer] = count > 0 ? count : nil
    }

    /// Asks the agent whether to pair at all, for a request of this program's; nobody says no.
    /// - Parameter call: takes the answer; failing it ends the question.
    func askToPair(
        with peer: BluetoothAddress, _ operation: BluetoothError.Operation, until deadline: KernelInstant?,
        _ call: Promise<Bool, BluetoothError>
    ) async throws(BluetoothError) {
        guard let agent = pairing.agent, pairing.askingCount < PairingTable.dialogLimit else {
            throw .pairing(operation, .notConfirmed)
        }
        let request = PairingRequest(peer: peer, adapter: information.name, isInitiatedHere: true)
        let limit = loop.now.advanced(by: PairingTable.answerLimit)
        pairing.askingCount += 1
        let task = Task(executorPreference: loop) { [weak self] in
            call.succeed((try? await agent.confirmPairing(request)) ?? false)
            await self?.askedToPair()
        }
        defer { task.cancel() }
        var isConfirmed = false
        do {
            isConfirmed = try await call.value(
                operation, timeout: loop.now.duration(to: min(limit, deadline ?? limit)), on: loop)
        } catch {
            // The agent's time is over, and not the caller's.
            guard error.code == .timedOut, deadline.map({ loop.now < $0 }) ?? true else { throw error }
        }
        if !isConfirmed { throw .pairing(operation, .notConfirmed) }
    }

    private func askedToPair() {
        pairing.askingCount -= 1
    }

    /// What has come of the pairing on a link that was not protected as it should be.
    func pairingFailure(of connection: Connection, since: KernelInstant?) -> PairingFailure {
        let address = connection.assumeIsolated { $0.socketPeer }
        let dialog = pairing.dialogs[connection.peer] ?? pairing.dialogs[address]
        if dialog?.wouldWeaken == true { return .keyMissing }
        if dialog?.findsNoRoom == true { return .bondStoreFull }
        if dialog?.isRefusedHere == true { return .notConfirmed }
        if let since = dialog?.lastProgress ?? since, since.duration(to: loop.now) >= .seconds(29) { return .timedOut }
        if dialog?.hasNumber == true { return .authenticationFailed }
        if dialog == nil, hasKey(of: connection.peer) || hasKey(of: address) { return .keyMissing }
        return .rejected
    }

    /// Whether there is a key from an earlier pairing with a device.
    func hasKey(of peer: BluetoothAddress) -> Bool {
        guard bondKeeper.value.standing == .loaded else { return pairing.keyHolders.contains(peer) }
        return bondKeeper.value.bond(with: peer) != nil
    }

    /// Whether the key from an earlier pairing is one that made sure of the device.
    private func hasAuthenticatedKey(of peer: BluetoothAddress) -> Bool {
        bondKeeper.value.standing == .loaded && bondKeeper.value.bond(with: peer)?.isAuthenticated == true
    }

    /// Whether the bond that a pairing with a device makes finds room, or makes none.
    func hasRoom(for peer: BluetoothAddress, forAuthenticated isAuthenticated: Bool) -> Bool {
        guard pairing.settings.wanted.isBondable else { return true }
        return bondKeeper.value.bond(with: peer) != nil || bondKeeper.value.hasRoom(forAuthenticated: isAuthenticated)
    }

    /// There was no room for the bond that a pairing has made.
    func bondWasRefused(_ identity: BluetoothAddress) {
        for connection in localServer.connections {
            connection.assumeIsolated { if $0.identity == identity || $0.peer == identity { $0.bondWasRefused() } }
        }
    }

    /// Has the kernel end a link.
    private func disconnect(_ peer: BluetoothAddress) {
        management.value.post(.disconnect(ManagementAddress(peer)), to: information.index) { [log] answer in
            if case .failure(let error) = answer { log.debug("\(error)") }
        }
    }

    /// A device's key is gone from this machine.
    func forgetKey(of peer: BluetoothAddress) {
        pairing.keyHolders.remove(peer)
    }

    /// Whether something has been asked about a pairing with a link's device that has not ended.
    func isPairing(on connection: Connection) -> Bool {
        pairing.dialogs[connection.peer] != nil
            || pairing.dialogs[connection.assumeIsolated { $0.socketPeer }] != nil
    }

    /// A link has ended or is encrypted, and what was asked about it is settled.
    func pairingIsOver(on connection: Connection) {
        endDialog(connection.peer)
        endDialog(connection.assumeIsolated { $0.socketPeer })
    }

    /// Ends a pairing on this side: says no where something is asked, and has the kernel end the link, which it would keep
    /// up as long as the pairing is under way.
    func abortPairing(on connection: Connection) {
        let address = connection.assumeIsolated { $0.socketPeer }
        for peer in [connection.peer, address] {
            if let open = pairing.dialogs[peer]?.open { reply(.no, to: open.question, peer) }
            endDialog(peer)
        }
        let peer = connection.peer
        controller.value.linkGoesDown(peer)
        guard kernel.environment().hasNetAdmin else { return }
        management.value.post(.disconnect(ManagementAddress(address)), to: information.index) {
            [log, controller] answer in
            if case .failure(let error) = answer {
                log.debug("\(error)")
                guard error.cause == .management(.notConnected) else { return }
            }
            controller.value.linkIsDown(peer)
        }
    }
}
