import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives

// The protection of a link, as its callers raise it.
extension Link {
    /// The peer's addresses, by which pairings are asked about.
    var addresses: LinkAddresses { LinkAddresses(connected: peer, known: identity) }

    nonisolated(nonsending) func raiseSecurity(
        to level: SecurityLevel, timeout: Duration?
    ) async throws(BluetoothError) -> LinkSecurity {
        let operation = BluetoothError.Operation("raise the security level", peer: peer)
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        return try await protection.raise(self, to: level, operation, until: deadline).security
    }

    nonisolated(nonsending) func pair(
        to level: SecurityLevel, timeout: Duration?
    ) async throws(BluetoothError) -> PairingOutcome {
        let operation = BluetoothError.Operation("pair", peer: peer)
        guard level > .low else { throw .invalidArgument(operation, "A link that is not protected is not paired for.") }
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        _ = try bearer(for: operation)
        guard let pairings else { throw .noRoute(operation) }
        do {
            try pairings.checkIsOwn(operation)
            try await pairings.prepare(operation, again: true)
        } catch {
            throw error.about(operation)
        }
        _ = try bearer(for: operation)
        protection.forgetMadeKey()
        let result = try await protection.raise(self, to: level, operation, until: deadline)
        guard result.isPaired else {
            return PairingOutcome(security: result.security, isBonded: pairings.hasKey(addresses))
        }
        let isBonded = try await protection.keyIsStored(self, operation)
        return PairingOutcome(security: result.security, isBonded: isBonded)
    }

    // MARK: Requests the peer refuses

    /// How often the link's protection was raised.
    var securityChangeCount: UInt64 { protectionIfAny?.changeCount ?? 0 }

    /// How often a request is repeated: to be encrypted, and to be authenticated after that.
    static let repetitionLimit = 2

    /// Raises the link's protection as the peer's refusal of a request demands, and returns when the request may be
    /// repeated.
    ///
    /// - Parameters:
    ///   - change: ``securityChangeCount`` when the request was made.
    /// - Throws: `refusal` itself where there is nothing to be done about it, or why it could not be done.
    nonisolated(nonsending) func satisfy(
        _ refusal: BluetoothError, since change: UInt64, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        // Another's refused request has had it raised meanwhile.
        if change != securityChangeCount { return }
        guard configuration.securityPolicy != .never, let level = levelWanted(by: refusal) else { throw refusal }
        do throws(BluetoothError) {
            _ = try await protection.raise(
                self, to: level, refusal.operation, until: deadline, asks: asksFirst, endsWithCaller: false)
        } catch {
            var failure = error
            if isConnected, let kind = failure.pairingFailure {
                // The link is as it was, and so is the answer.
                failure = refusal
                failure.pairingFailure = kind
                throw failure
            }
            failure.cause = failure.cause ?? refusal.cause
            throw failure
        }
    }

    /// Whether the agent is asked before: where there is no key, so that the devices have to pair.
    private var asksFirst: Bool {
        configuration.securityPolicy == .ask && pairings?.hasKey(addresses) == false
    }

    /// What to raise the link to; nil where nothing is gained by that, or nobody here could pair.
    private func levelWanted(by error: BluetoothError) -> SecurityLevel? {
        guard let pairings, let now = try? security().level, pairings.canPair else { return nil }
        switch now {
        case .low: return .medium
        case .medium where error.cause == .attribute(.insufficientAuthentication):
            return pairings.canAuthenticate ? .high : nil
        default: return nil
        }
    }
}

extension BluetoothError {
    /// Whether the peer refused for the link's lack of protection.
    var isAboutSecurity: Bool {
        switch cause {
        case .attribute(.insufficientAuthentication), .attribute(.insufficientEncryption),
            .attribute(.insufficientEncryptionKeySize):
            true
        default: false
        }
    }
}
