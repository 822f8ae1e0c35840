import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The raising of a link's security by the kernel at this side's request, as a pure state machine.
struct SecurityProcedure: Equatable {
    enum Phase: Equatable {
        /// The peer owes an answer: the kernel drops what arrives while it raises the security, and sends nothing.
        case quiescing
        /// The kernel is asked. It may have refused, and so often: its Security Manager may not be ready for a link whose
        /// attribute channel is established already.
        case asking(refusals: Int)
        /// The kernel encrypts a new link automatically, as requested with the link, while its channel stays open.
        case begunWithLink
        /// The kernel is raising the security.
        case underWay
        case over
    }

    /// The kernel's reason not to begin.
    enum Refusal: Equatable {
        /// The link has the requested security already.
        case alreadySecure(LinkSecurity)
        case tooEarly(BluetoothError.Cause)
        case other(BluetoothError.Cause)
    }

    enum Action: Equatable {
        /// Ask the kernel; then call ``kernelBegins(at:)`` or ``kernelRefuses(_:)``.
        case ask(SecurityLevel)
        /// Call ``timerFired(owed:)`` after the duration, in place of an earlier timer.
        case setTimer(Duration)
        /// Call ``canSend(_:)`` when the channel is writable.
        case waitUntilWritable
        /// Report the beginning or the end.
        case report(SecurityEvent)
    }

    /// The maximum time without progress of a pairing (Core Vol 3 Part H §3.4).
    static let limit = Duration.seconds(30)
    /// The maximum number of attempts to make the kernel begin.
    static let refusalLimit = 20
    static let pauseAfterRefusal = Duration.milliseconds(50)
    /// The time after which the kernel is asked whether a link is encrypted that it encrypts by itself, without a report:
    /// longer than it may take to explain the end of a link.
    static let reportLimit = Duration.seconds(10)

    let level: SecurityLevel
    private(set) var phase: Phase
    /// The time of the last progress.
    private(set) var lastProgress: KernelInstant

    /// - Parameter isBegun: whether the kernel has begun with the link.
    init(to level: SecurityLevel, isBegun: Bool, at now: KernelInstant) {
        self.level = level
        phase = isBegun ? .begunWithLink : .quiescing
        lastProgress = now
    }

    // MARK: Beginning

    /// Begins. Where the kernel has begun, the end is asked for once the controller reports encryption, or late.
    ///
    /// - Parameter isOwed: whether the peer owes an answer.
    mutating func begin(owed isOwed: Bool) -> Action? {
        if phase == .begunWithLink { return .setTimer(Self.reportLimit) }
        return isOwed ? nil : peerOwesNothing()
    }

    /// Handles that the peer owes no answer: the kernel is asked.
    mutating func peerOwesNothing() -> Action? {
        guard phase == .quiescing else { return nil }
        phase = .asking(refusals: 0)
        return .ask(level)
    }

    /// Handles the controller's report that the link is encrypted. The kernel's own may follow: it is asked, since its
    /// channel tells when it has the report as well.
    mutating func linkIsEncrypted(owed isOwed: Bool) -> Action? {
        guard phase == .begunWithLink else { return nil }
        phase = .quiescing
        return isOwed ? nil : peerOwesNothing()
    }

    mutating func kernelBegins(at now: KernelInstant) -> [Action] {
        guard case .asking = phase else { return [] }
        (phase, lastProgress) = (.underWay, now)
        return [.report(.began), .setTimer(Self.limit), .waitUntilWritable]
    }

    mutating func kernelRefuses(_ refusal: Refusal) -> Action? {
        guard case .asking(let count) = phase else { return nil }
        switch refusal {
        case .alreadySecure(let security):
            phase = .over
            return .report(.encrypted(security))
        case .tooEarly where count < Self.refusalLimit:
            phase = .asking(refusals: count + 1)
            return .setTimer(Self.pauseAfterRefusal)
        case .tooEarly(let error), .other(let error):
            phase = .over
            return .report(.refused(error))
        }
    }

    // MARK: Under way

    /// Restarts the time limit after a question or an answer.
    mutating func progresses(at now: KernelInstant) -> Action? {
        guard phase == .underWay else { return nil }
        lastProgress = now
        return .setTimer(Self.limit)
    }

    /// Handles a writable channel; `security` is nil if encryption has not begun.
    mutating func canSend(_ security: LinkSecurity?) -> Action? {
        guard phase == .underWay else { return nil }
        guard let security else { return .waitUntilWritable }
        phase = .over
        return .report(.encrypted(security))
    }

    mutating func timerFired(owed isOwed: Bool) -> Action? {
        switch phase {
        case .quiescing, .asking(0), .over: return nil
        case .asking: return .ask(level)
        case .begunWithLink: return linkIsEncrypted(owed: isOwed)
        case .underWay:
            phase = .over
            return .report(.failed(.timedOut))
        }
    }
}

/// The raising of a link's security by the kernel: carries out the actions of ``SecurityProcedure`` on the socket of the
/// attribute channel, and returns what is to be reported.
//
// Owned by the channel's life.
final class SecurityRaise {
    private let loop: EventLoop
    private weak var socket: (any L2CAPSocket)?
    private let timer: LoopTimer
    private var state: SecurityProcedure
    /// The outstanding transactions.
    private var outstanding: OutstandingTransactions
    /// Whether a packet has had to wait.
    private(set) var hasHeld = false

    /// - Parameter timer: calls ``timerFired()``.
    init(
        to level: SecurityLevel, owing outstanding: OutstandingTransactions, isBegun: Bool,
        over socket: any L2CAPSocket, _ timer: LoopTimer, on loop: EventLoop
    ) {
        (self.loop, self.socket, self.timer, self.outstanding) = (loop, socket, timer, outstanding)
        state = SecurityProcedure(to: level, isBegun: isBegun, at: loop.now)
    }

    /// The time of the last progress.
    var lastProgress: KernelInstant { state.lastProgress }

    /// Returns whether a packet has to wait for the end, which is any that begins something, unless the kernel has begun
    /// with the link.
    func holds(_ packet: RawSpan) -> Bool {
        guard let opcode = ATTOpcode(of: packet), ![.response, .confirmation].contains(opcode.type),
            state.phase != .begunWithLink
        else { return false }
        hasHeld = true
        return true
    }

    /// Records a packet that the socket has accepted.
    func didSend(_ packet: RawSpan) {
        if let opcode = ATTOpcode(of: packet) { outstanding.sent(opcode) }
    }

    /// Records a packet of the peer's, which may be the answer that it owes.
    func didReceive(_ packet: RawSpan) { outstanding.receive(packet) }

    /// Whether the kernel is raising the security.
    var isUnderWay: Bool { [.underWay, .begunWithLink].contains(state.phase) }

    func begin() -> SecurityEvent? { perform(state.begin(owed: outstanding.isAnswerDue)) }

    func timerFired() -> SecurityEvent? { perform(state.timerFired(owed: outstanding.isAnswerDue)) }

    /// Asks the kernel, once the peer owes no answer.
    func beginIfQuiet() -> SecurityEvent? { outstanding.isAnswerDue ? nil : perform(state.peerOwesNothing()) }

    /// Handles the controller's report that the link is encrypted.
    func linkIsEncrypted() -> SecurityEvent? { perform(state.linkIsEncrypted(owed: outstanding.isAnswerDue)) }

    /// Restarts the time limit after a question or an answer.
    func progresses() { _ = perform(state.progresses(at: loop.now)) }

    /// Handles a writable socket, which may mark the end of encryption: the kernel reports the link's handle again, which
    /// it does not meanwhile. Returns whether the channel can be used, and the end.
    func socketIsWritable() -> (isUsable: Bool, SecurityEvent?) {
        guard let socket, state.phase == .underWay else { return (true, nil) }
        let isOver = (try? socket.connectionHandle()) != nil
        let event = perform(state.canSend(isOver ? try? socket.security() : nil))
        return (event != nil, event)
    }

    private func perform(_ action: SecurityProcedure.Action?) -> SecurityEvent? {
        switch action {
        case nil: return nil
        case .ask(let level): return ask(level)
        case .setTimer(let duration): timer.set(after: duration)
        case .waitUntilWritable: socket?.notifyWhenWritable()
        case .report(let event): return event
        }
        return nil
    }

    private func ask(_ level: SecurityLevel) -> SecurityEvent? {
        guard let socket else { return nil }
        do throws(KernelError) {
            try socket.raiseSecurity(to: level)
        } catch {
            let refusal: SecurityProcedure.Refusal
            if let now = try? socket.security(), now.level >= level {
                refusal = .alreadySecure(now)
            } else {
                refusal = error.number == .invalidArgument ? .tooEarly(.kernel(error)) : .other(.kernel(error))
            }
            return perform(state.kernelRefuses(refusal))
        }
        return state.kernelBegins(at: loop.now).compactMap { perform($0) }.first
    }
}
