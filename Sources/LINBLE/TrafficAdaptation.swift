import BluetoothLE
import BluetoothLoop
import Synchronization

/// The adaptation of a UART's link to its traffic: the settings for throughput while much flows in either direction, and
/// the earlier connection parameters and PHYs afterwards, or once the UART is released.
///
/// Costs nothing while little flows. Thread-safe.
final class TrafficAdaptation: Sendable {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let use: TemporaryUse
    private let state = Mutex(State())

    private struct State {
        var traffic = Traffic()
        /// The wait for the end of the present period of traffic.
        var wait: Promise<Bool, Never>?
    }

    init(of connection: Connection) {
        loop = connection.loop
        mark = loop.components.mark("TrafficAdaptation")
        use = TemporaryUse(of: connection)
    }

    /// Records bytes sent or received.
    func moved(_ count: Int) {
        guard state.withLock({ $0.traffic.moved(count, at: loop.now) }) else { return }
        // One task for each period of traffic. It is never cancelled, so that the link is put back at any end.
        _ = Task(executorPreference: loop) {
            let isUseful = await self.use.run(.throughput) { await self.trafficEnds() }
            self.state.withLock { isUseful ? $0.traffic.resume() : $0.traffic.disable() }
        }
    }

    /// The UART is released: its traffic has ended.
    func close() {
        state.withLock { state in
            state.traffic.disable()
            return state.wait
        }?.succeed(true)
    }

    private func trafficEnds() async {
        var isWaiting = true
        while isWaiting {
            let wait = Promise<Bool, Never>()
            let next = state.withLock { state in
                state.wait = wait
                return state.traffic.nextCheck(at: loop.now)
            }
            guard let next else { return }
            let timer = loop.makeTimer { wait.succeed(true) }
            timer.set(at: next)
            defer { timer.cancel() }
            isWaiting = await wait.value(ifCancelled: false)
        }
    }
}

/// The traffic of a UART, as far as its link depends on it.
struct Traffic: Hashable, Sendable {
    private enum Phase: Hashable {
        /// This many bytes since a moment.
        case light(bytes: Int, since: KernelInstant)
        /// Much flows; the moment is that of the last bytes.
        case heavy(last: KernelInstant)
        case disabled
    }

    /// Traffic is heavy from this many bytes on …
    static let heavyByteCount = 8192
    /// … in this time, until nothing flows for the other one, in which a link carries what the kernel holds.
    static let window = Duration.seconds(1)
    static let pause = Duration.seconds(3)

    private var phase = Phase.light(bytes: 0, since: KernelInstant(nanoseconds: 0))

    /// Records bytes; returns whether heavy traffic begins with them.
    mutating func moved(_ count: Int, at now: KernelInstant) -> Bool {
        switch phase {
        case .light(let bytes, let since):
            let isRecent = since.duration(to: now) < Self.window
            let total = (isRecent ? bytes : 0) + count
            guard total >= Self.heavyByteCount else {
                phase = .light(bytes: total, since: isRecent ? since : now)
                return false
            }
            phase = .heavy(last: now)
            return true
        case .heavy:
            phase = .heavy(last: now)
            return false
        case .disabled: return false
        }
    }

    /// The moment at which heavy traffic ends if nothing more flows; nil when it has ended.
    func nextCheck(at now: KernelInstant) -> KernelInstant? {
        guard case .heavy(let last) = phase else { return nil }
        let end = last.advanced(by: Self.pause)
        return end > now ? end : nil
    }

    /// Heavy traffic has ended.
    mutating func resume() {
        guard case .heavy = phase else { return }
        phase = .light(bytes: 0, since: KernelInstant(nanoseconds: 0))
    }

    /// The link cannot be adapted, or its UART is released.
    mutating func disable() { phase = .disabled }
}
