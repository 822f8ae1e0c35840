import BluetoothHost

/// The state of an advertising set relative to the kernel.
///
/// A state machine: inputs go in, events for the set's user come out.
struct AdvertisingProgress: Hashable {
    /// The continuation after a set that is being sent has been sent.
    enum Sequel: Hashable {
        case nothing
        /// A link has ended meanwhile, so the kernel may accept what it refuses now.
        case retry
        /// The kernel has removed the instance meanwhile, perhaps with a refusal: a set that it accepted is sent again.
        case resendIfSent
        /// The content has changed or a central has connected meanwhile: the set is sent again.
        case resend
        /// The user has ended the set.
        case remove
    }

    /// The instance, where a case has one, is the kernel's number for the set, valid since it was first sent.
    enum State: Hashable {
        /// Must be sent, for the first time or again.
        case pending(instance: UInt8?)
        /// A command is outstanding.
        case sending(instance: UInt8?, then: Sequel)
        case advertising(instance: UInt8)
        /// The kernel has removed the instance: the adapter is going down, or another program did it.
        case lost
        /// The kernel has refused a set that was on the air.
        case refused
        /// Ended for its user; the instance must be removed.
        case ended(instance: UInt8?)
    }

    enum Input: Hashable {
        /// The content has changed, or a connection has stopped the set.
        case resend
        case beginSending
        /// The set uses this instance; nil after a refusal, when the kernel has removed it or is about to.
        case use(UInt8?)
        case sent
        case refused(BluetoothError)
        /// The kernel has removed the instance.
        case instanceRemoved
        /// The adapter has stayed on, so another program removed the instance.
        case lossExplained(BluetoothError)
        case retry
        case linkEnded
        case adapterLeft(BluetoothError, isAbsent: Bool, resumes: Bool)
        case end(BluetoothError)
    }

    private(set) var state = State.pending(instance: nil)
    /// Whether the set has been on the air.
    private(set) var hasBegun = false

    /// The kernel's number for the set; nil while the kernel does not have it.
    var instance: UInt8? {
        switch state {
        case .pending(let instance), .sending(let instance, _), .ended(let instance): instance
        case .advertising(let instance): instance
        case .lost, .refused: nil
        }
    }

    /// Whether the user has ended the set.
    var hasEnded: Bool {
        switch state {
        case .ended, .sending(_, then: .remove): true
        default: false
        }
    }

    var isPending: Bool { if case .pending = state { true } else { false } }

    /// The time limit of the state; nil for none.
    var limit: Duration? {
        switch state {
        // Powering off removes the instances first and is reported afterwards.
        case .lost: .seconds(5)
        case .refused: Self.retryInterval
        case .pending, .sending, .advertising, .ended: nil
        }
    }

    /// The time until a refused set is sent again.
    static let retryInterval = Duration.seconds(10)

    mutating func receive(_ input: Input) -> [AdvertisingEvent] {
        switch (state, input) {
        case (.ended, .use(let instance)): state = .ended(instance: instance)
        case (.ended, .instanceRemoved), (.ended, .adapterLeft(_, isAbsent: true, _)): state = .ended(instance: nil)
        case (.ended, _): break
        case (.sending(let instance, let sequel), let input): return receive(input, sending: instance, sequel)
        case (_, .end(let reason)), (.lost, .lossExplained(let reason)):
            state = .ended(instance: instance)
            return [.state(.closed(reason))]
        case (_, .adapterLeft(let reason, let isAbsent, let resumes)):
            guard hasBegun, resumes else {
                state = .ended(instance: isAbsent ? nil : instance)
                return [.state(.closed(reason))]
            }
            state = .pending(instance: isAbsent ? nil : instance)
            return [.state(.waiting(reason)), .applied(reason)]
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

    private mutating func receive(_ input: Input, sending instance: UInt8?, _ sequel: Sequel) -> [AdvertisingEvent] {
        switch input {
        case .use(let instance): state = .sending(instance: instance, then: sequel)
        case .sent: return sent(instance, sequel)
        case .refused(let error): return refused(error, sequel)
        case .resend, .instanceRemoved, .linkEnded:
            state = .sending(instance: instance, then: sequel.following(input))
        case .adapterLeft(let reason, let isAbsent, let resumes):
            let instance = isAbsent ? nil : instance
            guard sequel != .remove, hasBegun, resumes else {
                state = .sending(instance: instance, then: .remove)
                return sequel == .remove ? [] : [.state(.closed(reason))]
            }
            state = .sending(instance: instance, then: .resend)
            return [.state(.waiting(reason)), .applied(reason)]
        case .end(let reason):
            state = .sending(instance: instance, then: .remove)
            return sequel == .remove ? [] : [.state(.closed(reason))]
        case .beginSending, .lossExplained, .retry: break
        }
        return []
    }

    private mutating func sent(_ instance: UInt8?, _ sequel: Sequel) -> [AdvertisingEvent] {
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
            return [.state(.advertising), .applied(nil)]
        }
    }

    /// The kernel does not have the set, which was taken back if it had an instance.
    private mutating func refused(_ error: BluetoothError, _ sequel: Sequel) -> [AdvertisingEvent] {
        switch sequel {
        case .remove:
            state = .ended(instance: nil)
            return []
        case _ where !hasBegun:
            state = .ended(instance: nil)
            return [.state(.closed(error))]
        case .resend:
            state = .pending(instance: nil)
            return []
        case .nothing, .retry, .resendIfSent:
            state = sequel == .retry ? .pending(instance: nil) : .refused
            return [.state(.waiting(error)), .applied(error)]
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
