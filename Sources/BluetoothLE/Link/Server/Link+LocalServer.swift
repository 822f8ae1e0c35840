import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

// The link's part of the local server: the peer as a client.
extension Link {
    // MARK: Sending values

    /// Whether the main bearer sends a value for a caller on the loop without a turn of the loop; asked once for each.
    var maySendWithoutTurn: Bool { mainBearer?.maySendWithoutTurn() == true }

    /// Sends a notification without waiting, as most are sent; false when it must wait, or be refused.
    func notifyAtOnce(_ value: [UInt8], of characteristic: AttributeHandle) -> Bool {
        !Task.isCancelled && mainBearer?.notifyAtOnce(value, of: characteristic) == true
    }

    nonisolated(nonsending) func send(
        _ value: [UInt8], of characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration,
        timeout: Duration?
    ) async throws(BluetoothError) {
        if kind == .notification, notifyAtOnce(value, of: characteristic) { return }
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
        mainBearer?.client.configurations[characteristic] ?? []
    }

    /// The peer's subscriptions whose values may be sent: restored ones are excluded until the link has the required
    /// security.
    var currentPeerSubscriptions: [PeerSubscription] {
        (mainBearer?.client.configurations ?? [:])
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
        guard let bearer = mainBearer else { return }
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
        guard let connection, let publication = localServer.publication(of: subscription.characteristic) else { return }
        publication.events?(.subscription(subscription), connection)
        guard let adapter else { return }
        publication.subscriptionChanged(subscription, in: localServer, on: adapter.registry, log)
    }

    // MARK: The client's security

    /// The client with its security at this moment.
    var client: AttributeClient {
        let security = securityReportedFirst ?? LinkSecurity(level: .low, keySize: 0)
        return AttributeClient(
            address: peer, security: security, isBonded: security.isEncrypted && bondedPeer.isBonded(self))
    }

    /// The security of the link and the bond of the peer's client; nil after the end of the link.
    var clientSecurity: BearerSecurity? {
        guard let security = securityReportedFirst else { return nil }
        guard security.isEncrypted else {
            // A bonded client learns to encrypt the link, another one to pair. The stored key decides which suffices.
            return BearerSecurity(
                isAuthenticated: bond?.isAuthenticated == true, hasLongTermKey: bond?.longTermKeys.isEmpty == false)
        }
        return BearerSecurity(
            isEncrypted: true, encryptionKeySize: security.keySize, isAuthenticated: security.isAuthenticated,
            hasLongTermKey: true, isBonded: bondedPeer.isBonded(self))
    }

    /// The link's security; the controller's report of its encryption may precede the host's.
    private var securityReportedFirst: LinkSecurity? {
        guard let security = try? security() else { return nil }
        guard !security.isEncrypted, let size = mainBearer?.peerClient.reportedKeySize else { return security }
        return LinkSecurity(level: .medium, keySize: size)
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

    /// Handles the peer's client before a request or a command of it is processed, if it is awaited.
    func clientBecomesActive() { bondedPeerIfAny?.restore(self) }

    /// Handles a change of the client's state without a request.
    @inline(never)
    func clientChanged() { bondedPeerIfAny?.persistClientState(self) }

    /// Handles an event of the peer's client on an enhanced bearer, or, with nil, on the fixed channel.
    func handle(_ event: GATTServerEvent, from bearer: UInt64?) {
        switch event {
        case .readRequested, .writeRequested, .writeCommandReceived, .authorizationRequested,
            .commandAuthorizationRequested:
            peerRequests.add(event, from: bearer, self)
        case .configurationChanged(let handle, let configuration):
            _ = bondedPeerIfAny?.discardRestored(handle)
            report(PeerSubscription(characteristic: handle, configuration: configuration))
            bondedPeerIfAny?.persistClientState(self)
        case .supportedFeaturesChanged: bondedPeerIfAny?.persistClientState(self)
        case .storedValueChanged, .mtuExchanged, .requestOutOfTurn: break
        }
    }

    /// Responds to the peer with the program's answer.
    /// - Parameter range: the attributes for which the program has authorised the client, for the lifetime of the link.
    func answer(
        _ event: GATTServerEvent, from bearer: UInt64?, _ result: PeerQuestion.Answer,
        authorizing range: AttributeHandleRange? = nil
    ) {
        if let range { mainBearer?.client.authorize(range) }
        // A command for which the client is authorised is still to be performed.
        if event.isRequest || event.asksForAuthorization { answering(bearer)?.answer(event, with: result) }
    }

    /// Refuses a whole request that the program has not answered in time.
    @inline(never)
    func giveUp(_ event: GATTServerEvent, from bearer: UInt64?) {
        guard event.isRequest else { return }
        let code: ATTErrorCode = event.asksForAuthorization ? .insufficientAuthorization : .unlikelyError
        answering(bearer)?.answer(nil, with: .failure(code))
    }

    private func answering(_ bearer: UInt64?) -> ATTBearer? {
        if let bearer { enhancedBearersIfAny?[bearer] } else { mainBearer }
    }
}

extension BluetoothError.Operation {
    /// The operation of sending a local value as a notification or an indication.
    init(sending kind: ClientCharacteristicConfiguration, to peer: BluetoothAddress, of handle: AttributeHandle) {
        self.init(kind == .notification ? "notify" : "indicate", peer: peer, attribute: handle)
    }
}
