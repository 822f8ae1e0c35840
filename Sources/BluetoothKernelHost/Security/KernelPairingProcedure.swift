import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The raising of a link's security by the kernel: carries out the actions of ``SecurityProcedure`` on the socket of the
/// attribute channel. What it returns is reported to the channel's receiver.
//
// Owned by the channel's life.
final class KernelPairingProcedure {
    private let loop: EventLoop
    private weak var socket: (any L2CAPSocket)?
    private let timer: LoopTimer
    private var state: SecurityProcedure

    /// - Parameter timer: calls ``timerFired()``.
    init(to level: SecurityLevel, isBegun: Bool, over socket: any L2CAPSocket, _ timer: LoopTimer, on loop: EventLoop) {
        (self.loop, self.socket, self.timer) = (loop, socket, timer)
        state = SecurityProcedure(to: level, isBegun: isBegun, at: loop.now)
    }

    /// The peer's present address.
    var peer: BluetoothAddress? { socket?.peer }

    /// The time of the last progress.
    var lastProgress: KernelInstant { state.lastProgress }

    func begin() -> SecurityEvent? { perform(state.begin()) }

    func timerFired() -> SecurityEvent? { perform(state.timerFired()) }

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
