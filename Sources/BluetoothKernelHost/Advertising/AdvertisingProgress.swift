import BluetoothHost

/// The state of an advertising set towards the kernel.
///
/// Inputs go in, what its user must be told comes out; ``KernelAdvertising`` talks with the kernel.
struct AdvertisingProgress: Hashable {
    /// What must happen when a set that is being sent has been sent.
    enum Sequel: Hashable {
        case nothing
        /// A link has ended meanwhile, so the kernel may take what it refuses.
        case retry
        /// The kernel has removed the instance meanwhile, perhaps as it refuses: what it has taken is sent again.
        case resendIfSent
        /// Its content has changed or a device has connected meanwhile: it is sent again.
        case resend
        /// It has ended for its user.
        case remove
    }

    /// The instance, where a case has one, is the kernel's number for the set, from when it was first named to it.
    enum State: Hashable {
        /// Must be sent, for the first time or again.
        case pending(instance: UInt8?)
        /// Is being sent.
        case sending(instance: UInt8?, then: Sequel)
        case advertising(instance: UInt8)
        /// The kernel has removed it: the adapter goes off, or another program has done so.
        case lost
        /// The kernel has refused what had been on the air.
        case refused
        /// Ended for its user; the instance is to be removed.
        case ended(instance: UInt8?)
    }

    enum Input: Hashable {
        /// Its content has changed, or a connection has ended it.
        case resend
        case beginSending
        /// It is sent as this instance; nil when the kernel has removed it after a refusal, or is being told to.
        case use(UInt8?)
        case sent
        case refused(BluetoothError)
        /// The kernel has the instance no more.
        case instanceRemoved
        /// The adapter has not gone off, so another program has removed the instance.
        case lossExplained(BluetoothError)
        case retry
        case linkEnded
        case adapterLeft(BluetoothError, isAbsent: Bool, resumes: Bool)
        case end(BluetoothError)
    }

    enum Action: Hashable {
        case report(AdvertisingState)
        /// Resumes those who wait for the kernel to have it.
        case settle(BluetoothError?)
        /// Ends it for its user, and for those who wait.
        case end(BluetoothError)
    }

    private(set) var state = State.pending(instance: nil)
    /// Whether it has been on the air.
    private(set) var hasBegun = false

    /// The kernel's number for it; nil while the kernel does not have it.
    var instance: UInt8? {
        switch state {
        case .pending(let instance), .sending(let instance, _), .ended(let instance): instance
        case .advertising(let instance): instance
        case .lost, .refused: nil
        }
    }

    /// Whether it has ended for its user.
    var hasEnded: Bool {
        switch state {
        case .ended, .sending(_, then: .remove): true
        default: false
        }
    }

    var isPending: Bool { if case .pending = state { true } else { false } }

    /// How long the state lasts unless something happens; nil without limit.
    var limit: Duration? {
        switch state {
        // Powering off takes the instances first and is reported after it.
        case .lost: .seconds(5)
        case .refused: Self.retryInterval
        case .pending, .sending, .advertising, .ended: nil
        }
    }

    /// How long until the kernel is sent again what it has refused.
    static let retryInterval = Duration.seconds(10)

    mutating func receive(_ input: Input) -> [Action] {
        switch (state, input) {
        case (.ended, .use(let instance)): state = .ended(instance: instance)
        case (.ended, .instanceRemoved), (.ended, .adapterLeft(_, isAbsent: true, _)): state = .ended(instance: nil)
        case (.ended, _): break
        case (.sending(let instance, let sequel), let input): return receive(input, sending: instance, sequel)
        case (_, .end(let reason)), (.lost, .lossExplained(let reason)):
            state = .ended(instance: instance)
            return [.end(reason)]
        case (_, .adapterLeft(let reason, let isAbsent, let resumes)):
            guard hasBegun, resumes else {
                state = .ended(instance: isAbsent ? nil : instance)
                return [.end(reason)]
            }
            state = .pending(instance: isAbsent ? nil : instance)
            return [.report(.waiting(reason)), .settle(reason)]
        case (.pending(let instance), .beginSending): state = .sending(instance: instance, then: .nothing)
        case (.pending, .instanceRemoved): state = .pending(instance: nil)
        case (.advertising, .instanceRemoved): state = .lost
        case (.advertising, .resend): state = .pending(instance: instance)
        case (.lost, .resend), (.lost, .linkEnded), (.refused, .resend), (.refused, .linkEnded),
            (.refused, .retry):
            state = .pending(instance: nil)
        default: break
        }
        return []
    }

    private mutating func receive(_ input: Input, sending instance: UInt8?, _ sequel: Sequel) -> [Action] {
        switch input {
        case .use(let instance): state = .sending(instance: instance, then: sequel)
        case .sent: return sent(instance, sequel)
        case .refused(let error): return refused(error, instance, sequel)
        case .resend, .instanceRemoved, .linkEnded:
            state = .sending(instance: instance, then: sequel.following(input))
        case .adapterLeft(let reason, let isAbsent, let resumes):
            let instance = isAbsent ? nil : instance
            guard sequel != .remove, hasBegun, resumes else {
                state = .sending(instance: instance, then: .remove)
                return sequel == .remove ? [] : [.end(reason)]
            }
            state = .sending(instance: instance, then: .resend)
            return [.report(.waiting(reason)), .settle(reason)]
        case .end(let reason):
            state = .sending(instance: instance, then: .remove)
            return sequel == .remove ? [] : [.end(reason)]
        case .beginSending, .lossExplained, .retry: break
        }
        return []
    }

    private mutating func sent(_ instance: UInt8?, _ sequel: Sequel) -> [Action] {
        switch (sequel, instance) {
        case (.remove, _):
            state = .ended(instance: instance)
            return []
        case (.resend, _), (.resendIfSent, _), (_, nil):
            hasBegun = true
            state = .pending(instance: instance)
            return []
        case (_, let instance?):
            hasBegun = true
            state = .advertising(instance: instance)
            return [.report(.advertising), .settle(nil)]
        }
    }

    private mutating func refused(_ error: BluetoothError, _ instance: UInt8?, _ sequel: Sequel) -> [Action] {
        switch (sequel, instance) {
        case (.remove, _):
            state = .ended(instance: instance)
            return []
        case _ where !hasBegun:
            state = .ended(instance: instance)
            return [.end(error)]
        case (.resend, _):
            state = .pending(instance: instance)
            return []
        case (.nothing, let instance?), (.retry, let instance?):
            // The kernel was not sent it and still has what it had.
            state = .advertising(instance: instance)
            return [.settle(error)]
        case (_, _):
            state = sequel == .retry ? .pending(instance: nil) : .refused
            return [.report(.waiting(error)), .settle(error)]
        }
    }
}

extension AdvertisingProgress.Sequel {
    fileprivate func following(_ input: AdvertisingProgress.Input) -> Self {
        switch (self, input) {
        case (.remove, _), (.resend, _): self
        case (_, .resend), (.resendIfSent, .linkEnded), (.retry, .instanceRemoved): .resend
        case (_, .instanceRemoved): .resendIfSent
        case (.nothing, .linkEnded): .retry
        default: self
        }
    }
}
