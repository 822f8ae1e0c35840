import BluetoothHost
import BluetoothLE
import BluetoothPrimitives
import Synchronization

/// The hosts of a keyboard: which are connected, which of them use it, and in which protocol.
final class KeyboardHosts: Sendable {
    /// How the keyboard is served.
    struct Service {
        let published: PublishedServices
        let incoming: IncomingConnections
        let input: PublishedValue
        let bootInput: PublishedValue

        /// The input report that a host uses.
        func input(of host: Host) -> PublishedValue { host.isBoot ? bootInput : input }
    }

    /// A host on one link.
    struct Host {
        let connection: Connection
        /// Whether it uses the boot protocol. Each link begins in the report protocol (HID Service §2.2).
        var isBoot = false
        var subscriptions: Set<AttributeHandle> = []
        /// Releases the keys of a host whose link accepts nothing; nil while it accepts reports.
        var release: Task<Void, Never>?
    }

    private struct State {
        /// Nil while the keyboard is not served.
        var service: Service?
        /// By their connections.
        var hosts: [ObjectIdentifier: Host] = [:]
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastWaiting = 0

        var isUsed: Bool {
            hosts.values.contains { host in
                guard host.release == nil, let handle = service?.input(of: host).handle else { return false }
                return host.subscriptions.contains(handle)
            }
        }
    }

    private let state = Mutex(State())

    /// Begins to be served.
    /// - Throws: `.busy` while the keyboard is served already.
    func begin(_ service: Service) throws(BluetoothError) {
        let isFree = state.withLock { state in
            guard state.service == nil else { return false }
            state.service = service
            return true
        }
        if !isFree { throw BluetoothError(.busy, .init("serve"), "This keyboard is being served already.") }
    }

    /// Ends to be served: there is no host, and nobody waits for one any longer.
    func end() {
        let former = state.withLock { state in
            defer {
                let last = state.lastWaiting
                state = State()
                state.lastWaiting = last
            }
            return state
        }
        for host in former.hosts.values { host.release?.cancel() }
        for continuation in former.waiting.values { continuation.finish() }
    }

    /// Follows a host until its link ends.
    func follow(_ connection: Connection) async {
        var isFollowed = true
        while isFollowed {
            // Its Protocol Mode may have been written before.
            change(connection, isNew: true) { $0.subscriptions = [] }
            do throws(BluetoothError) {
                for try await subscription in await connection.peerSubscriptions() {
                    change(connection) { host in
                        if subscription.configuration.isEmpty {
                            host.subscriptions.remove(subscription.characteristic)
                        } else {
                            host.subscriptions.insert(subscription.characteristic)
                        }
                    }
                }
                isFollowed = false
            } catch {
                // Changes were missed, or the link has ended.
                isFollowed = error.code == .overflow
            }
        }
        state.withLock { $0.hosts[ObjectIdentifier(connection)] = nil }
    }

    /// Changes the state of a host; one that is not followed only if it is new.
    private func change(_ connection: Connection, isNew: Bool = false, _ body: (inout Host) -> Void) {
        let waiting = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            let id = ObjectIdentifier(connection)
            guard state.service != nil, isNew || state.hosts[id] != nil else { return [] }
            body(&state.hosts[id, default: Host(connection: connection)])
            return state.isUsed ? Array(state.waiting.values) : []
        }
        for continuation in waiting { continuation.yield() }
    }

    /// Waits until a host uses the keyboard.
    /// - Throws: `.cancelled`; `.notSubscribed` while the keyboard is not served.
    func wait() async throws(BluetoothError) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            if state.isUsed { return nil }
            if state.service == nil { continuation.finish() }
            state.lastWaiting += 1
            state.waiting[state.lastWaiting] = continuation
            return state.lastWaiting
        }
        guard let number else { return }
        defer { _ = state.withLock { $0.waiting.removeValue(forKey: number) } }
        for await _ in stream { return }
        if Task.isCancelled { throw BluetoothError(.cancelled, .init("wait for a host"), "The task was cancelled.") }
        throw BluetoothError(.notSubscribed, .init("wait for a host"), "The keyboard is not served.")
    }

    /// Whether a host uses the boot protocol on its link.
    subscript(isBoot peer: BluetoothAddress) -> Bool {
        get {
            guard let link = link(to: peer) else { return false }
            return state.withLock { $0.hosts[ObjectIdentifier(link)]?.isBoot == true }
        }
        set {
            guard let link = link(to: peer) else { return }
            change(link, isNew: true) { $0.isBoot = newValue }
        }
    }

    private func link(to peer: BluetoothAddress) -> Connection? {
        state.withLock { $0.service?.incoming }?.connections.last { $0.peer == peer }
    }

    /// The published services, while the keyboard is served.
    var published: PublishedServices? { state.withLock { $0.service?.published } }

    // MARK: Sending

    /// Sends reports to all hosts at the same time, and returns for each the reason if it misses one. A host that has a key
    /// down would repeat it while another's link accepts nothing: no host waits for the others between the reports.
    func send(_ reports: [KeyboardReport]) async -> [BluetoothError?] {
        await withTaskGroup(of: BluetoothError?.self) { group in
            for host in state.withLock({ Array($0.hosts.values) }) {
                group.addTask {
                    for report in reports {
                        guard let failure = await self.send(report, to: host) else { continue }
                        // The host may have the report.
                        if failure.code == .cancelled, report != .released { _ = await self.send(.released, to: host) }
                        return failure
                    }
                    return nil
                }
            }
            var failures: [BluetoothError?] = []
            for await failure in group { failures.append(failure) }
            return failures
        }
    }

    private func send(_ report: KeyboardReport, to host: Host) async -> BluetoothError? {
        let connection = host.connection
        guard host.release == nil else {
            return BluetoothError(
                .busy, .init("type", peer: connection.peer),
                "The link has not yet accepted earlier keys, so these are not sent.", isRetryable: true)
        }
        var failure = await notify(report, to: connection, timeout: .seconds(5))
        if failure?.code == .cancelled, report == .released {
            // Keys go up in a cancelled task too.
            failure = await Task(executorPreference: connection.loop) {
                await self.notify(.released, to: connection, timeout: .seconds(1))
            }.value
        }
        if failure?.code == .timedOut { releaseLater(connection) }
        return failure
    }

    private func notify(
        _ report: KeyboardReport, to connection: Connection, timeout: Duration?
    ) async -> BluetoothError? {
        let input = state.withLock { state in
            state.hosts[ObjectIdentifier(connection)].flatMap { state.service?.input(of: $0) }
        }
        guard let input else { return BluetoothError(.notSubscribed, .init("type"), "The host has left.") }
        do throws(BluetoothError) {
            try await input.notify(report.bytes, to: connection, timeout: timeout)
            return nil
        } catch {
            return error
        }
    }

    /// Releases the keys of a host as soon as its link accepts a report. Until then it misses all others.
    private func releaseLater(_ connection: Connection) {
        change(connection) { host in
            guard host.release == nil else { return }
            host.release = Task(executorPreference: connection.loop) {
                _ = await self.notify(.released, to: connection, timeout: nil)
                self.change(connection) { $0.release = nil }
            }
        }
    }
}
