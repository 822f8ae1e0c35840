import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

// The link's part of the local server: the peer as a client.
extension Link {
    // MARK: Sending values

    nonisolated(nonsending) func notify(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await send(value, of: characteristic, as: .notification, timeout: timeout)
    }

    nonisolated(nonsending) func indicate(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await send(value, of: characteristic, as: .indication, timeout: timeout)
    }

    private nonisolated(nonsending) func send(
        _ value: [UInt8], of characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration,
        timeout: Duration?
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation(sending: kind, to: peer, of: characteristic)
        let bearer = try bearer(for: operation)
        if Task.isCancelled { throw .cancelled(operation) }
        let message = ValueCall(value, of: characteristic, operation, on: bearer)
        bearer.submit(message, as: kind)
        do {
            try await message.call.value(operation, timeout: timeout, on: loop)
        } catch {
            if error.code == .notSubscribed || error.isAboutSecurity {
                bondedPeerIfAny?.valueIsDue(of: characteristic, self)
            }
            throw error
        }
    }

    func peerConfiguration(of characteristic: AttributeHandle) -> ClientCharacteristicConfiguration {
        (try? bearer(for: .init("look", peer: peer)))?.client.configurations[characteristic] ?? []
    }

    /// The peer's subscriptions whose values may be sent: restored ones are excluded until the link has the required
    /// security.
    var currentPeerSubscriptions: [PeerSubscription] {
        ((try? bearer(for: .init("look", peer: peer)))?.client.configurations ?? [:])
            .filter { bondedPeerIfAny?.isRestored($0.key) != true }.sorted { $0.key < $1.key }
            .map { PeerSubscription(characteristic: $0.key, configuration: $0.value) }
    }

    func peerSubscriptions() -> BoundedStream<PeerSubscription> {
        let operation = BluetoothError.Operation("follow the peer's subscriptions", peer: peer)
        let subscriptions = currentPeerSubscriptions
        let stream = peerRequests.subscriptions.stream(
            capacity: 256 + subscriptions.count, policy: .fail, operation, from: loop, beginningWith: subscriptions,
            keeping: connection)
        if let reason = endReason { stream.finish(reason) }
        return stream
    }

    var missedCommandCount: Int { peerRequestsIfAny?.missedCommands ?? 0 }

    /// Applies a change of the local attributes: reports it to the peer, and ends its subscriptions to removed
    /// characteristics.
    func localServicesChanged(in range: AttributeHandleRange, _ serviceChanged: AttributeHandle?) {
        if let enhancedBearersIfAny {
            for bearer in enhancedBearersIfAny.open { bearer.preparedWritesMayBeStale() }
        }
        guard let bearer = try? bearer(for: .init("tell of changes", peer: peer)) else { return }
        let before = bearer.client.configurations.keys
        bearer.localServicesChanged(in: range, serviceChanged)
        let ended = before.filter { bearer.client.configurations[$0] == nil }.sorted()
        guard !ended.isEmpty else { return }
        for handle in ended where bondedPeerIfAny?.discardRestored(handle) != true {
            report(PeerSubscription(characteristic: handle, configuration: []))
        }
        bondedPeerIfAny?.persistClientState(self)
    }

    /// Reports a change of the peer's subscription to the program.
    func report(_ subscription: PeerSubscription) {
        peerRequestsIfAny?.subscriptions.send(subscription)
        guard let connection else { return }
        localServer.handlers(of: subscription.characteristic)?.events?.receiver(.subscription(subscription), connection)
    }

    // MARK: The client's security

    /// The client with its security at this moment.
    var client: AttributeClient {
        let security = securityReportedFirst ?? LinkSecurity(level: .low, keySize: 0)
        return AttributeClient(
            address: peer, security: security, isBonded: security.isEncrypted && bondedPeer.isBonded(self))
    }

    var clientSecurity: BearerSecurity? {
        guard let security = securityReportedFirst else { return nil }
        guard security.isEncrypted else {
            // A bonded client learns to encrypt the link, another one to pair. The stored key decides which suffices.
            return BearerSecurity(
                isAuthenticated: bond?.isAuthenticated == true, hasLongTermKey: bond?.longTermKeys.isEmpty == false)
        }
        return BearerSecurity(
            isEncrypted: true, encryptionKeySize: Int(security.keySize), isAuthenticated: security.isAuthenticated,
            hasLongTermKey: true, isBonded: bondedPeer.isBonded(self))
    }

    /// The link's security; the controller's report of its encryption may precede the host's.
    private var securityReportedFirst: LinkSecurity? {
        guard let security = try? security() else { return nil }
        guard !security.isEncrypted, let size = mainBearer?.peerClient.reportedKeySize else { return security }
        return LinkSecurity(level: .medium, keySize: UInt8(clamping: size))
    }

    /// Returns whether the client is bonded, after the keys of its pairing have arrived.
    ///
    /// A client repeats a refused request as soon as the link is encrypted, but the keys are distributed afterwards
    /// (Core Vol 3 Part H §3.6.1).
    nonisolated(nonsending) func confirmBond() async -> Bool {
        if !bondedPeer.isBonded(self) {
            _ = try? await protection.keyIsStored(self, .init("confirm the bond", peer: peer))
        }
        return bondedPeer.isBonded(self)
    }

    // MARK: Answering

    /// Handles an event of the peer's client on an enhanced bearer, or, with nil, on the fixed channel.
    func handle(_ event: GATTServerEvent, from bearer: UInt64?) {
        switch event {
        case .readRequested(let request): add(.read(request, bearer: bearer))
        case .writeRequested(let request):
            let job = PeerRequests.Job.write(request, bearer: bearer)
            if !handOver(request.writes, job) { add(job) }
        case .authorizationRequested(let request): add(.authorization(request, bearer: bearer))
        case .writeCommandReceived(let write):
            if !handOver([write], nil) { add(.command(write)) }
        case .commandAuthorizationRequested(let write): add(.commandAuthorization(write, bearer: bearer))
        case .configurationChanged(let handle, let configuration):
            _ = bondedPeerIfAny?.discardRestored(handle)
            report(PeerSubscription(characteristic: handle, configuration: configuration))
            bondedPeerIfAny?.persistClientState(self)
        case .supportedFeaturesChanged: bondedPeerIfAny?.persistClientState(self)
        case .storedValueChanged, .mtuExchanged, .indicationConfirmed, .requestOutOfTurn: break
        }
    }

    /// Passes writes to a program whose handler receives them synchronously, with the question to answer if there is
    /// one; false when there is no such handler.
    private func handOver(_ writes: [AttributeWrite], _ job: PeerRequests.Job?) -> Bool {
        guard let handle = writes.first?.handle,
            case .atOnce(let receiver)? = localServer.handlers(of: handle)?.events
        else { return false }
        let question = job.map { job in
            let link = LoopBound(WeakReference(to: self), on: loop)
            return PeerQuestion { [loop] result in
                let answer: @Sendable () -> Void = {
                    link.value.object?.answer(job, result.map { _ in .accepted })
                }
                if loop.isCurrent { answer() } else { loop.execute(answer) }
                return true
            }
        }
        if let connection { receiver(.write(writes, question), connection) }
        return true
    }

    private func add(_ job: PeerRequests.Job) { peerRequests.add(job, self) }

    /// Responds to the peer with the program's answer.
    func answer(_ job: PeerRequests.Job, _ result: Result<HandlerWork.Outcome, ATTErrorCode>) {
        var isAuthorized = false
        if case .success(.authorized(let range)) = result {
            isAuthorized = true
            if let range { (try? bearer(for: .init("authorize", peer: peer)))?.client.authorize(range) }
        }
        switch job {
        case .read(let request, let bearer):
            answering(bearer)?.answer(
                .read(request, result.map { if case .value(let value) = $0 { value } else { [] } }))
        case .write(let request, let bearer): answering(bearer)?.answer(.write(request, result.map { _ in }))
        case .authorization(let request, let bearer):
            answering(bearer)?.answer(.authorization(request, isAuthorized: isAuthorized))
        case .commandAuthorization(let write, let bearer):
            if isAuthorized { answering(bearer)?.answer(.command(write)) }
        case .command: break
        }
    }

    private func answering(_ bearer: UInt64?) -> ATTBearer? {
        if let bearer { enhancedBearersIfAny?[bearer] } else { try? self.bearer(for: .init("answer", peer: peer)) }
    }

    /// Refuses a whole request that the program has not answered in time.
    func giveUp(_ job: PeerRequests.Job) {
        switch job {
        case .read(_, let bearer), .write(_, let bearer): answering(bearer)?.answer(.refuse(.unlikelyError))
        case .authorization(_, let bearer): answering(bearer)?.answer(.refuse(.insufficientAuthorization))
        case .command, .commandAuthorization: break
        }
    }
}

extension BluetoothError.Operation {
    /// The operation of sending a local value as a notification or an indication.
    init(sending kind: ClientCharacteristicConfiguration, to peer: BluetoothAddress, of handle: AttributeHandle) {
        self.init(kind == .notification ? "notify" : "indicate", peer: peer, attribute: handle)
    }
}
