import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import Synchronization

/// What the sessions of this process do to the power of their adapters, which another session of an adapter must not take for
/// another program's doing.
///
/// Thread-safe.
enum PowerChanges {
    /// An adapter, among those of all kernels.
    struct Adapter: Hashable {
        private let loop: ObjectIdentifier
        private let index: UInt16
        private let address: BluetoothAddress

        init(_ index: UInt16, _ address: BluetoothAddress, on loop: EventLoop) {
            (self.loop, self.index, self.address) = (ObjectIdentifier(loop), index, address)
        }
    }

    private struct State {
        /// The numbers of steps under way.
        var steps: [Adapter: Int] = [:]
        var switchedOff: Set<Adapter> = []
    }

    private static let state = Mutex(State())

    // MARK: Steps of a recovery

    static func beginStep(on adapter: Adapter) { state.withLock { $0.steps[adapter, default: 0] += 1 } }

    static func endStep(on adapter: Adapter) {
        state.withLock { state in
            let remaining = (state.steps[adapter] ?? 1) - 1
            state.steps[adapter] = remaining > 0 ? remaining : nil
        }
    }

    /// Whether a step is under way, which powers the adapter on again.
    static func hasStep(on adapter: Adapter) -> Bool { state.withLock { $0.steps[adapter] != nil } }

    // MARK: Switching off

    /// Records that this process switches an adapter off, or that it is on.
    static func setSwitchedOff(_ isOff: Bool, _ adapter: Adapter) {
        state.withLock { state in
            if isOff { state.switchedOff.insert(adapter) } else { state.switchedOff.remove(adapter) }
        }
    }

    /// Whether this process has switched an adapter off, which has not been on since.
    static func isSwitchedOff(_ adapter: Adapter) -> Bool { state.withLock { $0.switchedOff.contains(adapter) } }
}
