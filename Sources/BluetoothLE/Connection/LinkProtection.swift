import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

/// The protection of a link: the one raise of it that may be going on, who waits for that, and what pairing has made.
///
/// While the host raises a link's protection at this side's wish it sends nothing on the attribute channel and drops what
/// arrives there, so requests are held back before, until none is in flight. Everybody who wants it shares one raise. A
/// raise that fails costs the link: the host ends it, or leaves a channel that never sends again.
///
/// Owned by its link, which it is given with each call.
final class LinkProtection {
    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("LinkProtection") }

    private(set) var raise: SecurityRaise?
    /// Which raise it is.
    private var number: UInt64 = 0
    /// Everybody who waits for it.
    private var waiters = WaiterList<SecurityRaiseResult, BluetoothError>()
    /// The question to the user whether to pair at all.
    private var asking: Promise<Bool, BluetoothError>?
    private var timer: LoopTimer?
    /// How often the link's protection was raised.
    private(set) var changeCount: UInt64 = 0
    /// How the last pairing that was not this side's came to nothing.
    private var lastFailure: PairingFailure?
    /// What the host has told of the key this link's last pairing made, and who waits for that.
    private(set) var madeKey: MadeKey?
    private var keyWaiters = WaiterList<MadeKey, BluetoothError>()

    /// Raises the protection, together with whoever wants that too.
    ///
    /// - Parameters:
    ///   - asks: whether the agent is asked first.
    ///   - endsWithCaller: whether the link is closed when nobody waits any more.
    nonisolated(nonsending) func raise(
        _ link: Link, to level: SecurityLevel, _ operation: BluetoothError.Operation, until deadline: KernelInstant?,
        asks: Bool = false, endsWithCaller: Bool = true
    ) async throws(BluetoothError) -> SecurityRaiseResult {
        let loop = link.loop
        while true {
            let now = try link.security()
            if raise == nil, now.level >= level { return SecurityRaiseResult(security: now, isPaired: false) }
            if Task.isCancelled { throw .cancelled(operation) }
            let isOwn = raise == nil
            if isOwn {
                number &+= 1
                raise = SecurityRaise(to: level, isWanted: !asks, at: loop.now)
            }
            // Before anything is done, so that an outcome that is there at once is told as well.
            let (number, call) = (number, waiters.makePromise())
            if isOwn { try await begin(link, level, operation, asks: asks, until: deadline) }
            do throws(BluetoothError) {
                let result = try await call.value(
                    operation, timeout: deadline.map { loop.now.duration(to: $0) }, on: loop)
                if result.security.level >= level { return result }
                if isOwn { throw BluetoothError.pairing(operation, .insufficientLevel) }
            } catch {
                if error.code == .gaveWay { continue }
                if endsWithCaller { leave(link, number, error) }
                throw error.about(operation)
            }
        }
    }

    private nonisolated(nonsending) func begin(
        _ link: Link, _ level: SecurityLevel, _ operation: BluetoothError.Operation, asks: Bool,
        until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        let number = number
        do throws(BluetoothError) {
            if let obstacle = link.pairings?.obstacle(to: level, link.addresses) {
                throw BluetoothError.pairing(operation, obstacle)
            }
            if asks {
                let call = Promise<Bool, BluetoothError>()
                asking = call
                defer { if self.number == number { asking = nil } }
                try await link.pairings?.askFirst(about: link.identity, operation, until: deadline, call)
                if self.number == number { raise?.userAgrees() }
            }
            try await link.pairings?.prepare(operation)
        } catch {
            // Where it was only this caller's business, the others try it themselves.
            var shared = error
            if [.cancelled, .timedOut].contains(error.code) { shared.code = .gaveWay }
            if self.number == number { complete(link, .failure(shared)) }
            throw error
        }
        _ = try link.bearer(for: operation)
        if self.number == number { perform(raise?.isPrepared(), link) }
    }

    /// Waits for what the host tells of the key that a pairing makes, which comes after the link is encrypted; says
    /// whether the key is kept.
    nonisolated(nonsending) func keyIsStored(
        _ link: Link, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Bool {
        if let madeKey { return madeKey.isStored }
        guard link.pairings?.isBondable == true else { return false }
        _ = try link.bearer(for: operation)
        let call = keyWaiters.makePromise()
        do {
            return try await call.value(operation, timeout: .seconds(2), on: link.loop).isStored
        } catch {
            guard error.code == .timedOut else { throw error }
            return false
        }
    }

    /// A pairing begins: what was told of a key before is not of it.
    func forgetMadeKey() { madeKey = nil }

    // MARK: What happens

    /// Something was asked or answered, so that the pairing's time begins anew.
    func pairingProgressed(_ link: Link) { perform(raise?.progresses(at: link.loop.now), link) }

    /// Something is asked; says whether that is because this side wants the link protected.
    func pairingAsked(_ link: Link) -> Bool {
        perform(raise?.isAsked(at: link.loop.now), link)
        return raise?.isWanted == true
    }

    /// The host tells of a key.
    func keyWasMade(_ key: MadeKey) {
        madeKey = key
        keyWaiters.succeedAll(key)
    }

    /// The host tells that pairing or encryption has failed.
    func pairingFailed(_ link: Link) {
        let failure = failureNow(link)
        if raise == nil { lastFailure = failure } else { perform(raise?.fails(failure), link) }
    }

    /// There was no room for the bond that a pairing on this link has made, and its key is forgotten.
    func bondWasRefused(_ link: Link) { endLink(link, .bondStoreFull) }

    /// The channel can send, so encryption is over, if that was under way. Says whether it can indeed.
    func encryptionMayBeOver(_ link: Link) -> Bool {
        guard let raise, raise.isUnderWay, let channel = link.attributeChannel else { return true }
        let isOver = channel.linkHandle != nil
        let action = self.raise?.canSend(isOver ? try? channel.security() : nil)
        perform(action, link)
        return action != .waitUntilWritable
    }

    /// The link has ended.
    func end(_ reason: BluetoothError) {
        keyWaiters.failAll(reason)
        guard raise != nil else { return }
        (raise, timer) = (nil, nil)
        number &+= 1
        var error = reason
        if let failure = reason.pairingFailure, failure != .linkLost {
            error = .pairing(reason.operation, failure, end: reason)
        }
        asking?.fail(reason)
        waiters.failAll(error)
    }

    // MARK: Acting

    private func perform(_ action: SecurityRaise.Action?, _ link: Link) {
        let operation = BluetoothError.Operation("raise the security level", peer: link.peer)
        switch action {
        case nil: break
        case .quiesce:
            let number = number
            (try? link.bearer(for: operation))?.quiesce { [weak self, weak link] in
                guard let self, let link, self.number == number else { return }
                perform(raise?.isQuiet(), link)
            }
        case .askHost(let level): askHost(link, level)
        case .setTimer(let duration):
            let timer = timer ?? makeTimer(link)
            self.timer = timer
            timer.set(after: duration)
        case .waitUntilWritable: link.attributeChannel?.notifyWhenWritable()
        case .succeed(let result):
            changeCount &+= 1
            complete(link, .success(result))
        case .refuse(let error):
            complete(link, .failure(BluetoothError(.failed, operation, "The kernel refused.", cause: error)))
        case .giveUp: complete(link, .failure(.cancelled(operation)))
        case .endLink(let failure?): endLink(link, failure)
        case .endLink(nil):
            link.pairings?.abort(link.addresses)
            link.finish(
                BluetoothError(
                    .disconnected, operation, "The link was closed because this program gave up pairing.",
                    disconnectReason: .local))
        case .note(let failure): lastFailure = failure
        }
    }

    private func makeTimer(_ link: Link) -> LoopTimer {
        link.loop.makeLocalTimer { [weak self, weak link] in
            if let self, let link { perform(raise?.timeIsOver(), link) }
        }
    }

    private func askHost(_ link: Link, _ level: SecurityLevel) {
        guard let channel = link.attributeChannel else { return }
        do throws(ChannelFailure) {
            try channel.raiseSecurity(to: level)
        } catch {
            let refusal: SecurityRaise.Refusal
            if let now = try? channel.security(), now.level >= level {
                refusal = .isSo(now)
            } else {
                refusal = error.kind == .tooEarly ? .tooEarly(error.cause) : .other(error.cause)
            }
            return perform(raise?.hostRefuses(refusal), link)
        }
        for action in raise?.hostBegins(at: link.loop.now) ?? [] { perform(action, link) }
    }

    /// Ends the raise and tells everybody who waits for it; the link goes on.
    private func complete(_ link: Link, _ result: Result<SecurityRaiseResult, BluetoothError>) {
        guard raise != nil else { return }
        (raise, timer) = (nil, nil)
        number &+= 1
        waiters.resolveAll(result)
        (try? link.bearer(for: .init("raise the security level", peer: link.peer)))?.resume()
    }

    /// One of those who wait waits no more.
    private func leave(_ link: Link, _ number: UInt64, _ error: BluetoothError) {
        guard self.number == number, waiters.isEmpty else { return }
        perform(raise?.isAbandoned(), link)
    }

    // MARK: Failing

    private func failureNow(_ link: Link) -> PairingFailure {
        link.pairings?.failure(link.addresses, since: raise?.lastProgress) ?? .rejected
    }

    private func endLink(_ link: Link, _ failure: PairingFailure) {
        link.pairings?.abort(link.addresses)
        var reason = BluetoothError(
            .disconnected, .init("raise the security level", peer: link.peer),
            "\(failure.sentence) The link is closed.", remedy: failure.remedy, isRetryable: failure.isRetryable,
            disconnectReason: .authentication)
        reason.pairingFailure = failure
        link.finish(reason)
    }

    /// How a link that is up ends, with what that has to do with pairing.
    func explaining(_ reason: BluetoothError, _ link: Link) -> BluetoothError {
        guard reason.pairingFailure == nil, reason.disconnectReason != .local else { return reason }
        let isAuthentication = reason.disconnectReason == .authentication
        let isUnderWay = raise?.isUnderWay == true
        guard isAuthentication || isUnderWay else { return reason }
        var reason = reason
        let failure = isUnderWay || lastFailure == nil ? failureNow(link) : lastFailure
        // The host ends a pairing that stands still, and a link whose peer has no key, as if for no reason; of the latter
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
}
