import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The outcome of raising a link's security.
struct SecurityRaiseResult: Sendable, Equatable {
    var security: LinkSecurity
    var isPaired: Bool
}

/// The security of a link: the raise under way, its waiting callers, and the key of the link's last pairing.
///
/// All callers share one raise. A failed raise costs the link: the host ends it, or leaves a channel that never sends
/// again.
///
/// Owned by its link, which is passed to each call.
// Holds more than ten variables: a raise, its callers, and what the pairing that it causes has left.
final class LinkProtection {
    /// A raise of the security.
    struct Raise {
        enum Phase {
            /// The agent is asked whether to pair, and the pairing settings are applied.
            case preparing
            /// The host is asked.
            case asked
            /// The host encrypts a new link automatically, as requested with the link.
            case begunByHost
            /// The host is raising the security.
            case underWay
        }

        let level: SecurityLevel
        /// Whether a pairing that begins now is this program's own: after the agent's confirmation, if that is required.
        var isWanted: Bool
        /// Whether there has been a question, which distinguishes pairing from encryption with an existing key.
        var isPairing = false
        var phase = Phase.preparing

        /// Whether the host is raising the security, which cannot be interrupted without ending the link.
        var isUnderWay: Bool { phase == .underWay || phase == .begunByHost }
    }

    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("LinkProtection") }

    private(set) var raise: Raise?
    /// The number of the raise.
    private var number: UInt64 = 0
    /// The callers waiting for the raise.
    private var waiters = WaiterList<SecurityRaiseResult, BluetoothError>()
    /// The question to the agent whether to pair.
    private var asking: Promise<Bool, BluetoothError>?
    /// The number of successful raises.
    private(set) var changeCount: UInt64 = 0
    /// The failure of the last pairing that the peer began.
    private var lastFailure: PairingFailure?
    /// Whether there was a pairing, or an attempt: encryption is no proof then that the peer has the bond's key.
    private(set) var hasPaired = false
    /// Whether this side has agreed that the pairing replaces the bond, or the peer was known to be the bonded device.
    private(set) var mayReplaceBond = false
    /// Whether the key made by this link's last pairing is stored; nil without one.
    private var isKeyStored: Bool?
    private var keyWaiters = WaiterList<Bool, BluetoothError>()

    /// Whether there is, or was, a pairing on the link.
    var isPairing: Bool { raise != nil || hasPaired }

    // MARK: Pairing

    /// Pairs, or encrypts with an existing key, and returns whether the devices are bonded.
    ///
    /// - Parameter asksNothing: whether this is a pairing although there are no questions.
    nonisolated(nonsending) func pair(
        _ link: Link, to level: SecurityLevel, timeout: Duration?, asksNothing: Bool = false
    ) async throws(BluetoothError) -> PairingOutcome {
        let operation = BluetoothError.Operation("pair", peer: link.peer)
        guard level > .low else { throw .invalidArgument(operation, "Pairing requires a level above low.") }
        let deadline = timeout.map { link.loop.now.advanced(by: $0) }
        _ = try link.bearer(for: operation)
        guard let pairings = link.pairings else { throw .noRoute(operation) }
        do {
            try pairings.checkIsOwn(operation)
        } catch {
            throw error.about(operation)
        }
        if !pairings.hasKey(link.addresses), !isPairing, changeCount == 0 {
            try await removeUnstored(link, pairings, operation)
        }
        isKeyStored = nil
        let before = try link.security().level
        let result = try await raise(link, to: level, operation, until: deadline)
        // A device that has this machine's out-of-band data asks nothing either: then there is no earlier key, and the link
        // was not encrypted before.
        let hasKey = pairings.hasKey(link.addresses)
        guard result.isPaired || asksNothing || (!hasKey && result.security.level > before) else {
            return PairingOutcome(security: result.security, isBonded: hasKey)
        }
        // A slow device distributes its keys late, and the host reports none before.
        let isBonded = try await keyIsStored(link, operation, within: .seconds(5))
        return PairingOutcome(security: result.security, isBonded: isBonded)
    }

    /// Removes what a program that was killed may have left: a key, or a pairing, without a bond. A peer whose pairing is
    /// broken off may give no keys in the next one on the same link.
    private nonisolated(nonsending) func removeUnstored(
        _ link: Link, _ pairings: Pairings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let former = lastFailure
        await pairings.removeUnstored(link.identity)
        guard try link.security().keySize == 0, lastFailure == former else {
            endLink(link, .linkLost)
            var error = BluetoothError.pairing(operation, .linkLost)
            error.message =
                "The link was ended, since another program had paired on it, and its key is not stored here."
            throw error
        }
    }

    // MARK: Raising

    /// Raises the security, or joins the raise under way.
    ///
    /// - Parameters:
    ///   - asks: whether the agent is asked first.
    ///   - isBegunByHost: whether the host encrypts the link automatically, and reports it.
    ///   - endsWithCaller: whether the link is closed when no caller waits any longer.
    nonisolated(nonsending) func raise(
        _ link: Link, to level: SecurityLevel, _ operation: BluetoothError.Operation, until deadline: KernelInstant?,
        asks: Bool = false, isBegunByHost: Bool = false, endsWithCaller: Bool = true
    ) async throws(BluetoothError) -> SecurityRaiseResult {
        let loop = link.loop
        while true {
            let now = try link.security()
            // A channel whose link has ended reports the level that it was opened with, and no key.
            if raise == nil, now.level >= level, level == .low || now.keySize > 0 {
                let result = SecurityRaiseResult(security: now, isPaired: false)
                try await checkKeySize(of: result, link, operation)
                return result
            }
            if Task.isCancelled { throw .cancelled(operation) }
            // The events of a pairing are those of an adapter.
            guard link.pairings != nil else { throw .noRoute(operation) }
            let isOwn = raise == nil
            if isOwn {
                number &+= 1
                raise = Raise(level: level, isWanted: !asks)
            }
            // Before the raise begins, so that an immediate outcome reaches this caller as well.
            let (number, call) = (number, waiters.makePromise())
            if isOwn, isBegunByHost {
                ask(link, isBegun: true)
            } else if isOwn {
                try await begin(link, level, operation, asks: asks, until: deadline)
            }
            let result: SecurityRaiseResult
            do throws(BluetoothError) {
                result = try await call.value(
                    operation, timeout: deadline.map { loop.now.duration(to: $0) }, on: loop)
            } catch {
                if error.code == .preempted { continue }
                if endsWithCaller { abandonIfUnused(link, number) }
                throw error.about(operation)
            }
            try await checkKeySize(of: result, link, operation)
            if result.security.level >= level { return result }
            if isOwn { throw BluetoothError.pairing(operation, .insufficientLevel) }
        }
    }

    /// Asks a bonded central to encrypt the link, without a caller that waits.
    func askPeer(_ link: Link) {
        guard raise == nil else { return }
        number &+= 1
        raise = Raise(level: .medium, isWanted: false)
        ask(link)
    }

    /// Closes the link if its key is shorter than the minimum.
    private nonisolated(nonsending) func checkKeySize(
        of result: SecurityRaiseResult, _ link: Link, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let size = result.security.keySize
        let minimum = result.isPaired ? link.minimumNewKeySize : link.minimumKeySize
        guard result.security.isEncrypted, size < minimum else { return }
        // The host reports the key after the encryption; it is refused and removed while the link is up.
        if result.isPaired { _ = try? await keyIsStored(link, operation) }
        endLink(link, .keyTooShort, Self.sentence(size: size, minimum: minimum))
        throw Self.error(operation, .keyTooShort, link.endReason ?? .cancelled(operation))
    }

    @inline(never)
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
                if self.number == number { raise?.isWanted = true }
            }
            try await link.pairings?.prepare(operation)
        } catch {
            // An error of this caller alone lets the others retry.
            var shared = error
            if [.cancelled, .timedOut].contains(error.code) { shared.code = .preempted }
            if self.number == number { complete(link, .failure(shared)) }
            throw error
        }
        _ = try link.bearer(for: operation)
        if self.number == number { ask(link) }
    }

    /// Waits for the host's report of the key that a pairing made, which follows encryption; returns whether the key is
    /// stored.
    nonisolated(nonsending) func keyIsStored(
        _ link: Link, _ operation: BluetoothError.Operation, within limit: Duration = .seconds(2)
    ) async throws(BluetoothError) -> Bool {
        if let isKeyStored { return isKeyStored }
        guard link.pairings?.isBondable == true else { return false }
        _ = try link.bearer(for: operation)
        let call = keyWaiters.makePromise()
        do {
            return try await call.value(operation, timeout: limit, on: link.loop)
        } catch {
            guard error.code == .timedOut else { throw error }
            return false
        }
    }

    // MARK: Events

    /// Handles a pairing question; returns whether this side is raising the security, and whether the peer is known to
    /// be the bonded device.
    func pairingAsked(_ link: Link) -> (isRaised: Bool, isConfirmed: Bool) {
        let isConfirmed = link.bondedPeer.isBonded(link)
        hasPaired = true
        if isConfirmed { mayReplaceBond = true }
        raise?.isPairing = true
        return (raise?.isWanted == true, isConfirmed)
    }

    /// Records that this side agrees to a pairing, knowing of the bond that it replaces.
    func agrees() { mayReplaceBond = true }

    /// Handles the host's report of a new key.
    func keyWasMade(isStored: Bool) {
        isKeyStored = isStored
        hasPaired = true
        keyWaiters.succeedAll(isStored)
    }

    /// Handles the host's report that pairing or encryption has failed.
    func pairingFailed(_ link: Link, _ failure: PairingFailure) {
        let failure = link.pairings?.questions.refusal(link.addresses) ?? failure
        mayReplaceBond = false
        // Without a raise by this side, the host decides about the link.
        if raise?.isUnderWay == true { endLink(link, failure) } else { lastFailure = failure }
    }

    /// Handles an event of the link's security.
    func securityChanged(_ event: SecurityEvent?, _ link: Link) {
        switch event {
        case nil: break
        case .began: raise?.phase = .underWay
        case .encrypted(let security):
            link.bondedPeer.linkIsEncrypted(link)
            guard let raise, let security else { return }
            changeCount &+= 1
            let isPaired = raise.phase == .underWay && raise.isPairing
            complete(link, .success(SecurityRaiseResult(security: security, isPaired: isPaired)))
        case .refused(let cause):
            complete(
                link,
                .failure(
                    BluetoothError(
                        .failed, Self.operation(link), "The kernel refused to raise the security level.", cause: cause))
            )
        case .failed(let failure): endLink(link, failure)
        }
    }

    /// Fails the raise, as the link has ended.
    func end(_ reason: BluetoothError) {
        keyWaiters.failAll(reason)
        guard raise != nil else { return }
        raise = nil
        number &+= 1
        var error = reason
        if let failure = reason.pairingFailure, failure != .linkLost {
            error = Self.error(reason.operation, failure, reason)
        }
        asking?.fail(reason)
        waiters.failAll(error)
    }

    // MARK: Actions

    private static func operation(_ link: Link) -> BluetoothError.Operation {
        .init("raise the security level", peer: link.peer)
    }

    private func ask(_ link: Link, isBegun: Bool = false) {
        guard let level = raise?.level else { return }
        raise?.phase = isBegun ? .begunByHost : .asked
        guard let bearer = link.mainBearer else { return }
        let event = bearer.channel.raiseSecurity(to: level, owing: bearer.core.owed, isBegun: isBegun)
        securityChanged(event, link)
    }

    /// Completes the raise for all its callers; the link remains.
    private func complete(_ link: Link, _ result: Result<SecurityRaiseResult, BluetoothError>) {
        guard raise != nil else { return }
        raise = nil
        number &+= 1
        waiters.resolveAll(result)
    }

    /// Abandons the raise if no caller waits for it any longer.
    private func abandonIfUnused(_ link: Link, _ number: UInt64) {
        guard self.number == number, waiters.isEmpty, let raise else { return }
        guard raise.isUnderWay else {
            if raise.phase == .asked { _ = link.mainBearer?.channel.raiseSecurity(to: nil) }
            return complete(link, .failure(.cancelled(Self.operation(link))))
        }
        link.pairings?.abort(link.addresses)
        link.finish(
            BluetoothError(
                .disconnected, Self.operation(link), "The link was closed because this program abandoned pairing.",
                disconnectReason: .local))
    }

    // MARK: Failing

    static func sentence(size: Int, minimum: Int) -> String {
        "The encryption key of the link has \(size) bytes, fewer than the minimum of \(minimum)."
    }

    /// The error of a raise whose failure has ended the link.
    private static func error(
        _ operation: BluetoothError.Operation, _ failure: PairingFailure, _ end: BluetoothError
    ) -> BluetoothError {
        var error = BluetoothError.pairing(operation, failure, end: end)
        if failure == .keyTooShort { error.message = end.message }
        return error
    }

    func endLink(_ link: Link, _ failure: PairingFailure, _ sentence: String? = nil) {
        link.pairings?.abort(link.addresses)
        // The host may have another device's address for the peer.
        if failure == .identityClaimed { link.hostLink?.disconnect() }
        // Else an earlier failure would take its place.
        lastFailure = nil
        var reason = BluetoothError.pairing(Self.operation(link), failure)
        (reason.code, reason.disconnectReason) = (.disconnected, .authentication)
        reason.message = "\(sentence ?? failure.sentence) The link is closed."
        link.finish(reason)
    }

    /// The reason of a link's end, with what this side alone knows: its own refusal, or an earlier failure, which takes the
    /// place of the host's, and that it was raising the security.
    func explaining(_ reason: BluetoothError, _ link: Link) -> BluetoothError {
        let isUnderWay = raise?.isUnderWay == true
        let refusal = link.pairings?.questions.refusal(link.addresses)
        let own = isUnderWay ? refusal : lastFailure ?? refusal
        // The host may just end a link whose pairing is refused.
        if let own, reason.pairingFailure != nil || isUnderWay && reason.disconnectReason == .localHost {
            return reason.explained(by: own)
        }
        var reason = reason
        if isUnderWay, reason.disconnectReason != .local { reason.pairingFailure = reason.pairingFailure ?? .linkLost }
        return reason
    }
}
