import BluetoothLE
import BluetoothLoop
import Synchronization

/// The adaptation of a UART's link to its traffic: the settings for throughput while much flows in either direction, and
/// the earlier connection parameters and PHYs afterwards.
///
/// Costs nothing while little flows. Thread-safe.
final class TrafficAdaptation: Sendable {
    private let connection: Connection
    private let state = Mutex(State())

    private struct State {
        var traffic = Traffic()
        /// The task of the present period of traffic.
        var period: Task<Void, Never>?
    }

    init(of connection: Connection) {
        self.connection = connection
    }

    deinit {
        state.withLock { $0.period.take() }?.cancel()
    }

    /// Records bytes sent or received.
    func moved(_ count: Int) {
        let loop = connection.loop
        state.withLock { state in
            guard state.traffic.moved(count, at: loop.now) else { return }
            // One task for each period of traffic.
            state.period = Task(executorPreference: loop) { [weak self, connection] in
                let isUseful = await Self.adapt(connection) { [weak self] now in
                    self?.state.withLock { $0.traffic.nextCheck(at: now) }
                }
                self?.state.withLock { isUseful ? $0.traffic.resume() : $0.traffic.disable() }
            }
        }
    }

    /// Adapts a link until its traffic ends; returns whether that is worth trying again.
    ///
    /// - Parameter nextCheck: the moment to look again; nil when the traffic has ended.
    private static func adapt(
        _ connection: Connection, until nextCheck: @Sendable (KernelInstant) -> KernelInstant?
    ) async -> Bool {
        let closed = BluetoothError(.cancelled, .init("adapt the link", peer: connection.peer), "The UART is closed.")
        // Without CAP_NET_RAW they are not known, and cannot be changed.
        guard let before = await connection.parameters else { return false }
        do throws(BluetoothError) {
            let phys = try? await connection.phys()
            try await connection.adapt(to: .throughput)
            let during = await connection.parameters
            while let moment = nextCheck(connection.loop.now) {
                try await connection.loop.wait(until: moment, ifCancelled: closed)
            }
            if let phys { try await restore(phys, of: connection) }
            // Another component may have changed them meanwhile.
            guard await connection.parameters == during, during != before else { return true }
            _ = try await connection.requestParameters(
                ConnectionParameterRequest(
                    interval: before.interval...before.interval, latency: before.latency,
                    supervisionTimeout: before.supervisionTimeout))
            return true
        } catch {
            return false
        }
    }

    private static func restore(_ phys: LinkPHYs, of connection: Connection) async throws(BluetoothError) {
        guard try await connection.phys() != phys else { return }
        _ = try await connection.setPHYs(transmit: LEPHYSet(phys.transmit), receive: LEPHYSet(phys.receive))
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
    mutating func resume() { phase = .light(bytes: 0, since: KernelInstant(nanoseconds: 0)) }

    /// The link cannot be adapted.
    mutating func disable() { phase = .disabled }
}

extension LEPHYSet {
    /// The set of one PHY.
    fileprivate init(_ phy: LEPHY) {
        self.init(rawValue: phy.rawValue > 0 ? 1 << (phy.rawValue - 1) : 0)
    }
}
