import ATT
import BluetoothKernel
import BluetoothPrimitives

/// The raising of a link's protection that is under way.
struct SecurityRaise {
    let number: UInt64
    let level: SecurityLevel
    /// Everybody who waits for it.
    var waiters = WaiterList<SecurityRaiseResult, BluetoothError>()
    /// Whether a pairing that begins now is this program's wish: not before its user was asked, where that is to be.
    var isWanted: Bool
    /// The question to the user whether to pair at all.
    var asking: Promise<Bool, BluetoothError>?
    /// Whether the kernel is at work on it.
    var isAsked = false
    /// Whether there has been a question, so that it is a pairing and not only encryption with a key there was.
    var isPairing = false
    var lastProgress: KernelInstant
    /// Ends it when nothing more is heard; before the kernel is at work on it, has it asked again.
    var timer: LoopTimer?
    /// How often the kernel has refused to begin.
    var refusalCount = 0

    /// After how long without progress pairing is at an end (Core Vol 3 Part H §3.4).
    static let limit = Duration.seconds(30)
    /// For how long, in all, the kernel is asked again to begin.
    static let refusalLimit = 20
    static let pauseAfterRefusal = Duration.milliseconds(50)
}

/// What raising a link's protection came to.
struct SecurityRaiseResult: Sendable {
    var security: LinkSecurity
    var isPaired: Bool
}

/// What a pairing came to.
public struct PairingOutcome: Hashable, Sendable {
    /// The link's protection now.
    public var security: LinkSecurity
    /// Whether the key is kept, so that the next link needs no pairing: both sides have to want that.
    public var isBonded: Bool

    /// An outcome from its parts.
    public init(security: LinkSecurity, isBonded: Bool) {
        self.security = security
        self.isBonded = isBonded
    }
}

// While the kernel raises a link's protection at this side's wish it sends nothing on the attribute channel and drops what
// arrives there, so requests are held back before, until none is in flight. Everybody who wants it shares one raise. A
// raise that fails costs the link: the kernel ends it, or leaves a socket that never sends again.
extension Link {
    /// The peer's addresses, by which pairings are asked about.
    var addresses: LinkAddresses { LinkAddresses(connected: peer, known: socketPeer) }

    @discardableResult
    nonisolated(nonsending) func raiseSecurity(
        to level: SecurityLevel, timeout: Duration? = nil
    ) async throws(BluetoothError) -> LinkSecurity {
        let operation = BluetoothError.Operation("raise the security level", peer: peer)
        return try await raise(to: level, operation, timeout: timeout).security
    }

    @discardableResult
    nonisolated(nonsending) func pair(
        to level: SecurityLevel = .medium, timeout: Duration? = .seconds(60)
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
        madeKey = nil
        let result = try await raise(to: level, operation, timeout: deadline.map { loop.now.duration(to: $0) })
        guard result.isPaired else {
            return PairingOutcome(security: result.security, isBonded: pairings.hasKey(addresses))
        }
        let isBonded = try await keyIsStored(operation)
        return PairingOutcome(security: result.security, isBonded: isBonded)
    }

    /// Waits for what the kernel tells of the key, which comes after the link is encrypted.
    private nonisolated(nonsending) func keyIsStored(_ operation: BluetoothError.Operation) async throws(BluetoothError)
        -> Bool
    {
        if let madeKey { return madeKey.isStored }
        guard pairings?.isBondable == true else { return false }
        _ = try bearer(for: operation)
        let call = madeKeyWaiters.makePromise()
        do {
            return try await call.value(operation, timeout: .seconds(2), on: loop).isStored
        } catch {
            guard error.code == .timedOut else { throw error }
            return false
        }
    }

    /// Raises the link's protection, together with whoever wants that too.
    ///
    /// - Parameters:
    ///   - asks: whether the agent is asked first.
    ///   - endsWithCaller: whether the link is closed when nobody waits any more.
    nonisolated(nonsending) func raise(
        to level: SecurityLevel, _ operation: BluetoothError.Operation, timeout: Duration?, asks: Bool = false,
        endsWithCaller: Bool = true
    ) async throws(BluetoothError) -> SecurityRaiseResult {
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        while true {
            let now = try security()
            if securityRaise == nil, now.level >= level { return SecurityRaiseResult(security: now, isPaired: false) }
            if Task.isCancelled { throw .cancelled(operation) }
            let isOwn = securityRaise == nil
            if isOwn { try await begin(level, operation, asks: asks, until: deadline) }
            // Nothing may come between: the outcome is told to those who wait.
            guard let number = securityRaise?.number, let call = securityRaise?.waiters.makePromise() else { continue }
            do throws(BluetoothError) {
                let result = try await call.value(
                    operation, timeout: deadline.map { loop.now.duration(to: $0) }, on: loop)
                if result.security.level >= level { return result }
                if isOwn { throw BluetoothError.pairing(operation, .insufficientLevel) }
            } catch {
                if error.code == .gaveWay { continue }
                if endsWithCaller { leave(number, error) }
                throw error.about(operation)
            }
        }
    }

    private nonisolated(nonsending) func begin(
        _ level: SecurityLevel, _ operation: BluetoothError.Operation, asks: Bool, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        let number = nextSecurityRaise
        nextSecurityRaise &+= 1
        securityRaise = SecurityRaise(number: number, level: level, isWanted: !asks, lastProgress: loop.now)
        do throws(BluetoothError) {
            if let obstacle = pairings?.obstacle(to: level, addresses) {
                throw BluetoothError.pairing(operation, obstacle)
            }
            if asks {
                let call = Promise<Bool, BluetoothError>()
                securityRaise?.asking = call
                try await pairings?.askFirst(about: socketPeer, operation, until: deadline, call)
                if securityRaise?.number == number { securityRaise?.isWanted = true }
            }
            try await pairings?.prepare(operation)
        } catch {
            // Where it was only this caller's business, the others try it themselves.
            let isOwn = [.cancelled, .timedOut].contains(error.code)
            var shared = error
            if isOwn { shared.code = .gaveWay }
            if securityRaise?.number == number { complete(.failure(shared)) }
            throw error
        }
        let bearer = try bearer(for: operation)
        guard securityRaise?.number == number else { return }
        bearer.quiesce { [weak self] in self?.askKernel(number) }
    }

    /// Asks the kernel, as soon as the peer owes no answer.
    private func askKernel(_ number: UInt64) {
        guard let raise = securityRaise, raise.number == number, let socket = attributeSocket else { return }
        do throws(KernelError) {
            try socket.raiseSecurity(to: raise.level)
        } catch {
            // The kernel refuses what is so already.
            if let now = try? socket.security(), now.level >= raise.level {
                return complete(.success(SecurityRaiseResult(security: now, isPaired: false)))
            }
            // Its Security Manager may not know of a link yet whose attribute channel is up already.
            if error.number == .invalidArgument, raise.refusalCount < SecurityRaise.refusalLimit {
                return askKernelAgain(number)
            }
            let operation = BluetoothError.Operation("raise the security level", peer: peer)
            return complete(.failure(BluetoothError(.failed, operation, "The kernel refused.", cause: .kernel(error))))
        }
        securityRaise?.isAsked = true
        let timer = loop.makeLocalTimer { [weak self] in self?.securityIsLate(number) }
        securityRaise?.timer = timer
        pairingProgressed()
        socket.notifyWhenWritable()
    }

    private func askKernelAgain(_ number: UInt64) {
        securityRaise?.refusalCount += 1
        let timer = loop.makeLocalTimer { [weak self] in self?.askKernel(number) }
        securityRaise?.timer = timer
        timer.set(after: SecurityRaise.pauseAfterRefusal)
    }

    /// The socket can send, so encryption is over, if that was under way. Says whether it can indeed.
    func encryptionMayBeOver() -> Bool {
        guard let raise = securityRaise, raise.isAsked, let socket = attributeSocket else { return true }
        guard (try? socket.connectionHandle()) != nil, let security = try? socket.security() else {
            // Said before it began.
            socket.notifyWhenWritable()
            return false
        }
        complete(.success(SecurityRaiseResult(security: security, isPaired: raise.isPairing)))
        return true
    }

    /// Ends the raise and tells everybody who waits for it; the link goes on.
    private func complete(_ result: Result<SecurityRaiseResult, BluetoothError>) {
        guard var raise = securityRaise else { return }
        securityRaise = nil
        if case .success = result { securityChangeCount &+= 1 }
        raise.waiters.resolveAll(result)
        (try? bearer(for: .init("raise the security level", peer: peer)))?.resume()
    }

    // MARK: Failing

    /// Nobody waits any more: what is half done cannot be left so.
    private func leave(_ number: UInt64, _ error: BluetoothError) {
        guard let raise = securityRaise, raise.number == number, raise.waiters.isEmpty else { return }
        guard raise.isAsked else { return complete(.failure(error)) }
        pairings?.abort(addresses)
        finish(
            BluetoothError(
                .disconnected, .init("raise the security level", peer: peer),
                "The link was closed because this program gave up pairing.", disconnectReason: .local))
    }

    private func securityIsLate(_ number: UInt64) {
        guard securityRaise?.number == number else { return }
        endLink(for: .timedOut)
    }

    /// The kernel tells that pairing or encryption has failed.
    func pairingFailed() {
        let failure = failureNow
        // Without a raise of ours the kernel knows what to do with the link.
        guard securityRaise?.isAsked == true else {
            lastPairingFailure = failure
            return
        }
        endLink(for: failure)
    }

    /// There was no room for the bond that a pairing on this link has made, and its key is forgotten.
    func bondWasRefused() { endLink(for: .bondStoreFull) }

    private var failureNow: PairingFailure {
        pairings?.failure(addresses, since: securityRaise?.lastProgress) ?? .rejected
    }

    private func endLink(for failure: PairingFailure) {
        pairings?.abort(addresses)
        var reason = BluetoothError(
            .disconnected, .init("raise the security level", peer: peer),
            "\(failure.sentence) The link is closed.", remedy: failure.remedy, isRetryable: failure.isRetryable,
            disconnectReason: .authentication)
        reason.pairingFailure = failure
        finish(reason)
    }

    /// How a link ended, with what that has to do with pairing.
    func explainingSecurity(_ reason: BluetoothError) -> BluetoothError {
        guard reason.pairingFailure == nil, isConnected, reason.disconnectReason != .local else { return reason }
        let isAuthentication = reason.disconnectReason == .authentication
        let isUnderWay = securityRaise?.isAsked == true
        guard isAuthentication || isUnderWay else { return reason }
        var reason = reason
        let failure = isUnderWay || lastPairingFailure == nil ? failureNow : lastPairingFailure
        // The kernel ends a pairing that stands still, and a link whose peer has no key, as if for no reason; of the latter
        // most controllers say no more than that this host did it.
        let isByAdapter = [.adapterOff, .adapterBlocked, .adapterRemoved].contains(reason.disconnectReason)
        let isByKernel =
            failure == .timedOut && !isByAdapter || failure == .keyMissing && reason.disconnectReason == .localHost
        let isLost = !isAuthentication && !isByKernel
        reason.pairingFailure = isLost ? .linkLost : failure
        if let failure = reason.pairingFailure, !isLost {
            reason.message = "\(failure.sentence) The link is closed."
            reason.remedy = failure.remedy ?? reason.remedy
        }
        return reason
    }

    /// The link has ended.
    func endSecurityRaise(_ reason: BluetoothError) {
        madeKeyWaiters.failAll(reason)
        guard var raise = securityRaise else { return }
        securityRaise = nil
        var error = reason
        if let failure = reason.pairingFailure, failure != .linkLost {
            error = .pairing(reason.operation, failure, end: reason)
        }
        raise.asking?.fail(reason)
        raise.waiters.failAll(error)
    }

    // MARK: What happens

    /// Something was asked or answered, so that the pairing's time begins anew.
    func pairingProgressed() {
        guard let raise = securityRaise, raise.isAsked else { return }
        securityRaise?.lastProgress = loop.now
        raise.timer?.set(after: SecurityRaise.limit)
    }

    /// Something was asked; says whether that is because this side wants the link protected.
    func pairingAsked() -> Bool {
        pairingProgressed()
        securityRaise?.isPairing = true
        return securityRaise?.isWanted == true
    }

    /// The kernel tells of a key.
    func keyWasMade(_ key: MadeKey) {
        madeKey = key
        madeKeyWaiters.succeedAll(key)
    }
}

// MARK: - Requests the peer refuses

extension Link {
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
        guard securityPolicy != .never, let level = levelWanted(by: refusal) else { throw refusal }
        do throws(BluetoothError) {
            _ = try await raise(
                to: level, refusal.operation, timeout: deadline.map { loop.now.duration(to: $0) },
                asks: asksFirst, endsWithCaller: false)
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
        securityPolicy == .ask && pairings?.hasKey(addresses) == false
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
