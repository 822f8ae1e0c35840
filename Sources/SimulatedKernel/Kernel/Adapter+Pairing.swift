import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

extension HostConnection {
    /// Raises the link's protection: with a key if there is a good one, else by pairing.
    func raiseSecurity(to level: SecurityLevel) {
        guard let end, pairing == nil else { return }
        guard isCentral else {
            // A peripheral can only ask.
            end.send(.procedure { end.other.party?.securityRequested(level, on: end.other) })
            return
        }
        if let key = adapter.keys.longTermKey(of: peer, isCentral: true), key.kind.level >= level {
            return encrypt(with: key, over: end)
        }
        let pairing = Pairing(on: end, level: level)
        self.pairing = pairing
        pairing.begin()
    }

    /// Starts encryption with a key from before; the peripheral has to have the same one.
    private func encrypt(with key: LongTermKey, over end: LinkEnd) {
        end.send(
            .procedure {
                let other = end.other
                let isKnown = other.party?.key(on: other)?.value == key.value
                other.send(
                    .procedure { [weak self] in
                        guard let self, self.end != nil else { return }
                        guard isKnown else { return encryptionFailed() }
                        end.link.security = LinkSecurity(level: key.kind.level, keySize: key.encryptionSize)
                        for end in end.link.ends { end.side.node.linkChanged(end, .security) }
                        paired(.success)
                    })
            })
    }

    /// The peer does not know the key: the kernel ends the link, and no event of its own tells of it.
    private func encryptionFailed() {
        guard let end else { return }
        adapter.controller.emit(
            .encryptionChange(HCIEncryptionChange(status: .pinOrKeyMissing, handle: end.handle, isEncrypted: false)))
        failAuthentication()
    }

    /// Ends the link because it could not be protected.
    func failAuthentication() {
        hasFailedAuthentication = true
        guard let end else { return }
        adapter.perform(.disconnect(end.handle, reason: .authenticationFailure))
    }

    /// Begins the pairing that was asked for before there was a link.
    func pairIfAsked() {
        guard let wantedLevel else { return }
        self.wantedLevel = nil
        raiseSecurity(to: wantedLevel)
    }

    func paired(_ status: ManagementStatus) {
        let waiting = onPaired
        onPaired = nil
        waiting?(status)
    }
}

extension Adapter: PairingParty {
    func pairingFeatures(for level: SecurityLevel) -> PairingFeatures {
        PairingFeatures(
            ioCapability: configured.ioCapability,
            // The kernel asks for protection whenever its user could give it.
            requiresProtection: level >= .high || configured.ioCapability != .noInputNoOutput,
            hasSecureConnections: configured.isSecureConnectionsEnabled,
            needsSecureConnections: configured.isSecureConnectionsOnly,
            bonds: configured.isBondable)
    }

    func respond(to pairing: Pairing, on end: LinkEnd) -> PairingResponse {
        guard let connection = connection(of: end) else { return .refuse }
        connection.pairing = pairing
        return .accept(pairingFeatures(for: .medium))
    }

    func ask(_ question: PairingQuestion, for pairing: Pairing, on end: LinkEnd) {
        guard let connection = connection(of: end) else { return }
        let peer = ManagementAddress(connection.peer)
        switch question {
        case .confirm(let value, let isSimple):
            send(.userConfirmationRequest(peer, isSimple: isSimple, value: value))
        case .enterPasskey: send(.userPasskeyRequest(peer))
        case .showPasskey(let passkey):
            send(.passkeyNotify(peer, passkey: passkey, enteredCount: 0))
            pairing.answer(.yes, from: end)
        }
    }

    func ended(_ pairing: Pairing, _ outcome: PairingOutcome, on end: LinkEnd) {
        guard let connection = connection(of: end) else { return }
        connection.pairing = nil
        switch outcome {
        case .paired(let keys): keep(keys, of: connection, end)
        case .failedHere:
            send(.authenticationFailed(ManagementAddress(connection.peer), .authenticationFailed))
            connection.paired(.authenticationFailed)
            connection.failAuthentication()
        case .failedThere:
            send(.authenticationFailed(ManagementAddress(connection.peer), .authenticationFailed))
            connection.paired(.authenticationFailed)
            for socket in connection.channels { socket.securityFailed() }
        }
    }

    private func keep(_ made: PairingKeys, of connection: HostConnection, _ end: LinkEnd) {
        // The identity comes before the key, which then names it.
        if keys.exchangesIdentities, let identity = end.other.side.node.identityResolvingKey {
            let air = connection.peer
            keys.identityResolvingKeys.removeAll { $0.address == identity.address }
            keys.identityResolvingKeys.append(identity)
            connection.peer = identity.address
            send(
                .newIdentityResolvingKey(
                    identity, randomAddress: air.randomKind == .resolvablePrivate ? air : nil,
                    isStored: made.isBonded))
        }
        let isStored = made.isBonded && connection.peer.randomKind != .resolvablePrivate
        if end.other.party?.signs == true, made.isBonded {
            let isAuthenticated = made.kind == .authenticated || made.kind == .authenticatedLegacy
            let kinds: [SignatureResolvingKey.Kind] =
                isAuthenticated
                ? [.authenticatedRemote, .authenticatedLocal] : [.unauthenticatedRemote, .unauthenticatedLocal]
            for kind in kinds {
                send(
                    .newSignatureResolvingKey(
                        SignatureResolvingKey(
                            address: connection.peer, kind: kind, value: .random(using: &world.generator)),
                        isStored: isStored))
            }
        }
        keys.longTermKeys.removeAll { $0.address == connection.peer }
        // Secure Connections make one key for both sides out of what they know. In legacy pairing each hands one out for
        // either role, and none to keep nothing.
        let roles = made.kind.isSecureConnections ? [connection.isCentral] : made.isBonded ? [false, true] : []
        for isCentral in roles {
            let key = LongTermKey(
                address: connection.peer, kind: made.kind, isCentral: isCentral,
                encryptedDiversifier: made.encryptedDiversifier, randomNumber: made.randomNumber, value: made.value)
            keys.longTermKeys.append(key)
            send(.newLongTermKey(key, isStored: isStored))
        }
        connection.paired(.success)
    }

    func key(on end: LinkEnd) -> LongTermKey? {
        guard let connection = connection(of: end) else { return nil }
        return keys.longTermKey(of: connection.peer, isCentral: connection.isCentral)
    }

    func securityRequested(_ level: SecurityLevel, on end: LinkEnd) {
        guard let connection = connection(of: end), level > end.link.security.level else { return }
        connection.raiseSecurity(to: level)
    }

    // MARK: Commands

    func performPairing(_ command: ManagementCommand, for request: ManagementRequest) {
        switch command {
        case .pairDevice(let device, let capability): pair(device, capability, for: request)
        case .cancelPairDevice(let device):
            guard let connection = connections.first(where: { $0.peer == device.address && $0.onPaired != nil }) else {
                return request.complete(.device(device), status: .invalidParameters)
            }
            connection.paired(.cancelled)
            connection.failAuthentication()
            request.complete(.device(device))
        case .unpairDevice(let device, let isDisconnecting): unpair(device, isDisconnecting, for: request)
        case .userConfirmationReply(let device): answer(.yes, device, for: request)
        case .userConfirmationNegativeReply(let device), .userPasskeyNegativeReply(let device):
            answer(.no, device, for: request)
        case .userPasskeyReply(let device, let passkey): answer(.passkey(passkey), device, for: request)
        default: request.fail(.unknownCommand)
        }
    }

    private func answer(_ answer: PairingAnswer, _ device: ManagementAddress, for request: ManagementRequest) {
        guard isRunning else { return request.complete(.device(device), status: .notPowered) }
        guard let connection = connections.first(where: { $0.peer == device.address }), let end = connection.end else {
            return request.complete(.device(device), status: .notConnected)
        }
        guard let pairing = connection.pairing else { return request.complete(.device(device), status: .failed) }
        request.complete(.device(device))
        pairing.answer(answer, from: end)
    }

    private func pair(_ device: ManagementAddress, _ capability: IOCapability, for request: ManagementRequest) {
        guard isRunning else { return request.complete(.device(device), status: .notPowered) }
        guard configured.isLEEnabled, device.isLowEnergy else {
            return request.complete(.device(device), status: .rejected)
        }
        if let key = keys.longTermKey(of: device.address, isCentral: true), key.value != .zero {
            return request.complete(.device(device), status: .alreadyPaired)
        }
        configured.ioCapability = capability
        let known = connections.first { $0.peer == device.address }
        guard known?.onPaired == nil else { return request.complete(.device(device), status: .busy) }
        let connection = known ?? HostConnection(adapter: self, peer: device.address, isCentral: true)
        connection.onPaired = { [weak connection] status in
            request.complete(.device(device), status: status)
            if connection?.channels.isEmpty == true { connection?.startDropTimer() }
        }
        if connection.state == .connected {
            connection.raiseSecurity(to: .medium)
        } else {
            connection.wantedLevel = .medium
            if known == nil {
                connections.append(connection)
                updatePassiveScan()
            }
        }
    }

    private func unpair(_ device: ManagementAddress, _ isDisconnecting: Bool, for request: ManagementRequest) {
        guard isRunning else { return request.complete(.device(device), status: .notPowered) }
        let hadKeys =
            keys.longTermKeys.contains { $0.address == device.address }
            || keys.identityResolvingKeys.contains { $0.address == device.address }
        guard hadKeys else { return request.complete(.device(device), status: .notPaired) }
        keys.longTermKeys.removeAll { $0.address == device.address }
        keys.identityResolvingKeys.removeAll { $0.address == device.address }
        send(.deviceUnpaired(device), skipping: request.socket)
        guard isDisconnecting, let connection = connections.first(where: { $0.peer == device.address }),
            let end = connection.end
        else { return request.complete(.device(device)) }
        connection.onEnd = { request.complete(.device(device)) }
        perform(.disconnect(end.handle, reason: .remoteUserTerminatedConnection))
    }
}
