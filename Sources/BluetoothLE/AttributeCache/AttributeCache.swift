import BluetoothPrimitives
import BluetoothGATT
import Synchronization

/// Remembers the databases of devices, so that a device that is known need not be discovered again.
///
/// What it hands out is used only when the device confirms it; see ``Connection/discover(cached:timeout:)``. An entry
/// may be forgotten at any time. A store that cannot read or write says so in its log and behaves as if it had nothing:
/// a cache is never a reason for a call to fail.
public protocol AttributeCache: Sendable {
    /// What is remembered of a device; nil when nothing is.
    func database(for key: AttributeCacheKey) async -> CachedDatabase?
    /// Remembers a device's database in place of what was remembered, or forgets it.
    func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) async
}

/// Remembers databases as long as the program runs: what an adapter uses unless it is told otherwise.
public final class MemoryAttributeCache: AttributeCache {
    private struct State {
        var databases: [AttributeCacheKey: (database: CachedDatabase, use: UInt64)] = [:]
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// A cache of at most `capacity` devices; the one that was not asked for for the longest time makes room.
    public init(capacity: Int = 256) {
        self.capacity = max(1, capacity)
    }

    /// What is remembered of a device.
    public func database(for key: AttributeCacheKey) -> CachedDatabase? {
        state.withLock { state in
            state.uses &+= 1
            state.databases[key]?.use = state.uses
            return state.databases[key]?.database
        }
    }

    /// Remembers a device's database, or forgets it.
    public func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) {
        state.withLock { state in
            state.uses &+= 1
            state.databases[key] = database.map { ($0, state.uses) }
            guard state.databases.count > capacity else { return }
            if let oldest = state.databases.min(by: { $0.value.use < $1.value.use }) {
                state.databases[oldest.key] = nil
            }
        }
    }
}
