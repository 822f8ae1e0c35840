import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

// The security of a link, as requested by its callers.
extension Link {
    nonisolated(nonsending) func raiseSecurity(
        to level: SecurityLevel, timeout: Duration?
    ) async throws(BluetoothError) -> LinkSecurity {
        let operation = BluetoothError.Operation("raise the security level", peer: peer)
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        return try await protection.raise(self, to: level, operation, until: deadline).security
    }

    /// Pairs with the data that the peer has transferred by another way.
    nonisolated(nonsending) func pair(
        with data: OutOfBandData, timeout: Duration?
    ) async throws(BluetoothError) -> PairingOutcome {
        let operation = BluetoothError.Operation("pair", peer: peer)
        guard data.address.map({ addresses.all.contains($0) }) ?? true else {
            throw .invalidArgument(
                operation, "The out-of-band data belongs to another device, \((data.address ?? .zero).digits).")
        }
        _ = try bearer(for: operation)
        guard let pairings else { throw .noRoute(operation) }
        let level: SecurityLevel
        do throws(BluetoothError) {
            level = try await pairings.setOutOfBandData(data, of: peer)
        } catch {
            throw error.about(operation)
        }
        defer { pairings.removeOutOfBandData(of: addresses) }
        let isNew = try security().level < level && !pairings.hasKey(addresses)
        let outcome: PairingOutcome
        do throws(BluetoothError) {
            outcome = try await protection.pair(self, to: level, timeout: timeout, asksNothing: isNew)
        } catch {
            guard error.pairingFailure == .rejected else { throw error }
            var failure = BluetoothError.pairing(operation, .outOfBandDataRejected)
            (failure.cause, failure.disconnectReason) = (error.cause, error.disconnectReason)
            throw failure
        }
        guard outcome.security.level >= .high else {
            var error = BluetoothError.pairing(operation, .insufficientLevel)
            error.message = "The link is encrypted with the key of an earlier pairing, which was not authenticated."
            error.remedy = "Remove the device's bond on this machine, and pair again."
            throw error
        }
        return outcome
    }

    // MARK: Refused requests

    /// The number of successful raises of the link's security.
    var securityChangeCount: UInt64 { protectionIfAny?.changeCount ?? 0 }

    /// The maximum number of repetitions of a request: after encryption, and after authentication.
    static let repetitionLimit = 2

    /// Raises the link's security as the peer's refusal of a request requires; returns when the request may be
    /// repeated.
    ///
    /// - Parameters:
    ///   - change: ``securityChangeCount`` when the request was made.
    /// - Throws: `refusal` itself if raising the security cannot help, or the error of raising it.
    nonisolated(nonsending) func raiseSecurity(
        afterRefusal refusal: BluetoothError, since change: UInt64, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        // Another refused request has raised it meanwhile.
        if change != securityChangeCount { return }
        guard configuration.securityPolicy != .never, let level = levelWanted(by: refusal) else { throw refusal }
        do throws(BluetoothError) {
            _ = try await protection.raise(
                self, to: level, refusal.operation, until: deadline, asks: asksFirst, endsWithCaller: false)
        } catch {
            var failure = error
            if isConnected, let kind = failure.pairingFailure {
                // The link is unchanged, so the peer's refusal remains the error.
                failure = refusal
                failure.pairingFailure = kind
                throw failure
            }
            failure.cause = failure.cause ?? refusal.cause
            throw failure
        }
    }

    /// Whether the agent is asked before pairing: only if there is no key.
    private var asksFirst: Bool {
        configuration.securityPolicy == .ask && pairings?.hasKey(addresses) == false
    }

    /// The level to raise the link to; nil if none would help or pairing is not possible.
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
    /// Whether the peer refused because of the link's insufficient security.
    var isAboutSecurity: Bool {
        switch cause {
        case .attribute(.insufficientAuthentication), .attribute(.insufficientEncryption),
            .attribute(.insufficientEncryptionKeySize):
            true
        default: false
        }
    }
}
