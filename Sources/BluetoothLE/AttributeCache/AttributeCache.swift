import BluetoothPrimitives
import BluetoothGATT
import Logging
import Synchronization

/// A cache of devices' attribute databases, so that a known device need not be discovered again.
///
/// A cached database is used only as far as the device confirms it; see ``Connection/discover(cached:timeout:)``. Entries may
/// be dropped at any time. A cache that cannot read or write logs the error and behaves as if empty: it never makes a
/// call fail.
public struct AttributeCache: Sendable {
    package let databases: any DatabaseCache

    package init(_ databases: any DatabaseCache) {
        self.databases = databases
    }

    /// A cache in memory, which lasts as long as the program runs: the default of an adapter.
    /// - Parameter capacity: the maximum number of devices, beyond which the least recently used is dropped.
    public static func memory(capacity: Int = 256) -> AttributeCache {
        AttributeCache(MemoryAttributeCache(capacity: capacity))
    }

    /// A cache in files, one for each device and adapter, so that a known device need not be discovered after a restart
    /// either.
    ///
    /// Each file has a checksum and the device's address. A damaged file is renamed to `….damaged` with a warning in the
    /// log, and its device is discovered again. Files are replaced atomically, so a killed program leaves the old or the
    /// new content. Devices with private addresses, which change, are cached in memory only.
    /// - Parameters:
    ///   - directory: the path of the directory, which is created with the first file; nil for
    ///     `$XDG_CACHE_HOME/swift-bluetooth-le/attributes`, or the same below `$HOME/.cache`.
    ///   - capacity: the maximum number of devices cached in memory as well.
    ///   - log: receives warnings about damaged files and failing calls.
    /// - Throws: `.invalidArgument` when no directory is given and neither variable is set.
    public static func files(
        in directory: String? = nil, capacity: Int = 256, log: Logger = Logger(label: "bluetooth.attributes")
    ) throws(BluetoothError) -> AttributeCache {
        AttributeCache(try FileAttributeCache(directory: directory, capacity: capacity, log: log))
    }
}

/// The databases of an ``AttributeCache``.
package protocol DatabaseCache: Sendable {
    /// The cached database of a device; nil without one.
    func database(for key: AttributeCacheKey) async -> CachedDatabase?
    /// Caches a device's database in place of the present one; nil removes it.
    func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) async
}

/// A cache in memory, which lasts as long as the program runs: the default of an adapter.
package final class MemoryAttributeCache: DatabaseCache {
    private struct State {
        var databases: [AttributeCacheKey: (database: CachedDatabase, use: UInt64)] = [:]
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// Creates a cache for at most `capacity` devices, from which the least recently used entry is dropped.
    package init(capacity: Int = 256) {
        self.capacity = max(1, capacity)
    }

    /// The cached database of a device.
    package func database(for key: AttributeCacheKey) -> CachedDatabase? {
        state.withLock { state in
            state.uses &+= 1
            state.databases[key]?.use = state.uses
            return state.databases[key]?.database
        }
    }

    /// Caches a device's database; nil removes it.
    package func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) {
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
