import BluetoothHost
import BluetoothLE
import BluetoothPrimitives
import Synchronization

/// The hosts of a keyboard: which are connected, which of them use it, and in which protocol.
final class KeyboardHosts: Sendable {
    private struct State {
        /// Where the keyboard is served.
        var published: PublishedServices?
        var connections: [BluetoothAddress: Connection] = [:]
        /// The subscriptions to each of the two input reports.
        var subscriptions: [BluetoothAddress: Set<AttributeHandle>] = [:]
        /// The hosts in the boot protocol; all others have the report protocol.
        var bootHosts: Set<BluetoothAddress> = []
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastWaiting = 0

        var isUsed: Bool { subscriptions.contains { !$0.value.isEmpty } }
    }

    private let state = Mutex(State())

    /// Begins to be served.
    /// - Throws: `.busy` while the keyboard is served already.
    func begin(_ published: PublishedServices) throws(BluetoothError) {
        let isFree = state.withLock { state in
            guard state.published == nil else { return false }
            state.published = published
            return true
        }
        if !isFree { throw BluetoothError(.busy, .init("serve"), "This keyboard is being served already.") }
    }

    /// Ends to be served: there is no host, and nobody waits for one any longer.
    func end() {
        let waiting = state.withLock { state in
            defer {
                let last = state.lastWaiting
                state = State()
                state.lastWaiting = last
            }
            return state.waiting.values
        }
        for continuation in waiting { continuation.finish() }
    }

    /// Follows a host until its link ends.
    func follow(_ connection: Connection, _ reports: [AttributeHandle?]) async {
        // A host begins each link in the report protocol (HID Service §2.2).
        state.withLock { state in
            state.connections[connection.peer] = connection
            state.bootHosts.remove(connection.peer)
        }
        do throws(BluetoothError) {
            for try await subscription in await connection.peerSubscriptions()
            where reports.contains(subscription.characteristic) {
                change(subscription, of: connection.peer)
            }
        } catch {
            // The end of the link.
        }
        state.withLock { state in
            guard state.connections[connection.peer] === connection else { return }
            state.connections[connection.peer] = nil
            state.subscriptions[connection.peer] = nil
            state.bootHosts.remove(connection.peer)
        }
    }

    private func change(_ subscription: PeerSubscription, of peer: BluetoothAddress) {
        let waiting = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            if subscription.configuration.isEmpty {
                state.subscriptions[peer]?.remove(subscription.characteristic)
            } else {
                state.subscriptions[peer, default: []].insert(subscription.characteristic)
            }
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
            if state.published == nil { continuation.finish() }
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

    /// Whether a host uses the boot protocol.
    subscript(isBoot peer: BluetoothAddress) -> Bool {
        get { state.withLock { $0.bootHosts.contains(peer) } }
        set {
            state.withLock { state in
                if newValue { state.bootHosts.insert(peer) } else { state.bootHosts.remove(peer) }
            }
        }
    }

    /// The published services, while the keyboard is served.
    var published: PublishedServices? { state.withLock { $0.published } }

    /// The connected hosts, and whether each uses the boot protocol.
    var all: [(connection: Connection, isBoot: Bool)] {
        state.withLock { state in state.connections.map { ($0.value, state.bootHosts.contains($0.key)) } }
    }
}
