import BluetoothPrimitives
import BluetoothGATT
import Synchronization

/// A cache of devices' attribute databases, so that a known device need not be discovered again.
///
/// A cached database is used only if the device confirms it; see ``Connection/discover(cached:timeout:)``. Entries may
/// be dropped at any time. A cache that cannot read or write logs the error and behaves as if empty: it never makes a
/// call fail.
public protocol AttributeCache: Sendable {
    /// The cached database of a device; nil without one.
    func database(for key: AttributeCacheKey) async -> CachedDatabase?
    /// Caches a device's database in place of the present one; nil removes it.
    func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) async
}

/// A cache in memory, which lasts as long as the program runs: the default of an adapter.
public final class MemoryAttributeCache: AttributeCache {
    private struct State {
        var databases: [AttributeCacheKey: (database: CachedDatabase, use: UInt64)] = [:]
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// Creates a cache for at most `capacity` devices, from which the least recently used entry is dropped.
    public init(capacity: Int = 256) {
        self.capacity = max(1, capacity)
    }

    /// The cached database of a device.
    public func database(for key: AttributeCacheKey) -> CachedDatabase? {
        state.withLock { state in
            state.uses &+= 1
            state.databases[key]?.use = state.uses
            return state.databases[key]?.database
        }
    }

    /// Caches a device's database; nil removes it.
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
