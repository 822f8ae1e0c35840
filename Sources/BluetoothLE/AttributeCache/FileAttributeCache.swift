import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import BluetoothGATT
import Logging

/// Remembers databases in files, one for each device and adapter, so that a known device need not be discovered after a
/// restart either.
///
/// A file has a checksum and the device's address; one that is damaged is renamed to `….damaged` with a warning in the
/// log, and the device is discovered. Files are replaced as a whole, so a program that is killed leaves the old or the
/// new one. They are read and written on Swift's thread pool and not on the event loop; what was read or written once is
/// kept in memory. Devices with private addresses, which change, are kept in memory only.
public final class FileAttributeCache: AttributeCache {
    /// Where the files are.
    public let directory: String
    private let memory: MemoryAttributeCache
    private let log: Logger

    /// `$XDG_CACHE_HOME/swift-bluetooth-le/attributes`, or the same below `$HOME/.cache`; nil where neither variable is
    /// set.
    public static var defaultDirectory: String? {
        // The specification of these directories has relative ones ignored.
        if let cache = SystemFiles.environment("XDG_CACHE_HOME"), cache.hasPrefix("/") {
            return cache + "/swift-bluetooth-le/attributes"
        }
        return SystemFiles.environment("HOME").map { $0 + "/.cache/swift-bluetooth-le/attributes" }
    }

    /// A cache in a directory that is made when the first file is written.
    /// - Parameters:
    ///   - directory: where; nil takes ``defaultDirectory``.
    ///   - capacity: how many devices are kept in memory as well.
    ///   - log: where damaged files and failing calls are told.
    /// - Throws: `.invalidArgument` when no directory is given and there is no default.
    public init(
        directory: String? = nil, capacity: Int = 256, log: Logger = Logger(label: "bluetooth.attributes")
    ) throws(BluetoothError) {
        guard let directory = directory ?? Self.defaultDirectory else {
            throw BluetoothError(
                .invalidArgument, .init("open the attribute cache"),
                "There is no default directory: XDG_CACHE_HOME and HOME are unset.", remedy: "Pass a directory.")
        }
        self.directory = directory
        self.log = log
        memory = MemoryAttributeCache(capacity: capacity)
    }

    /// The file of a device: `ADAPTER/ADDRESS-KIND.gatt`.
    func path(for key: AttributeCacheKey) -> String {
        "\(directory)/\(digits(key.adapter))/\(digits(key.peer))-\(key.peer.kind == .public ? "public" : "random").gatt"
    }

    private func digits(_ address: BluetoothAddress) -> String { "\(address)".filter { $0 != ":" } }

    /// What is remembered of a device.
    public func database(for key: AttributeCacheKey) async -> CachedDatabase? {
        if let known = memory.database(for: key) { return known }
        guard key.peer.isIdentity else { return nil }
        guard let read = await offLoop({ self.read(key) }) else { return nil }
        memory.setDatabase(read, for: key)
        return read
    }

    /// Remembers a device's database, or forgets it.
    public func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) async {
        memory.setDatabase(database, for: key)
        guard key.peer.isIdentity else { return }
        await offLoop { self.write(database, key) }
    }

    private func read(_ key: AttributeCacheKey) -> CachedDatabase? {
        let path = path(for: key)
        let bytes: [UInt8]
        do throws(KernelError) {
            guard let found = try SystemFiles.read(path, limit: CachedDatabase.maximumLength) else { return nil }
            bytes = found
        } catch {
            log.warning("\(path) cannot be read: \(error)")
            return nil
        }
        do throws(CachedDatabaseError) {
            return try CachedDatabase(decoding: bytes, for: key)
        } catch {
            switch error {
            case .unknownVersion(let version):
                log.info("\(path) is in format \(version), which this program does not know")
            case .damaged, .otherDevice:
                log.warning("\(path) is damaged; it is set aside, and the device is discovered anew")
                setAside(path)
            }
            return nil
        }
    }

    private func setAside(_ path: String) {
        do throws(KernelError) {
            try SystemFiles.rename(path, to: path + ".damaged")
        } catch {
            log.warning("\(path) cannot be set aside: \(error)")
        }
    }

    private func write(_ database: CachedDatabase?, _ key: AttributeCacheKey) {
        let path = path(for: key)
        do throws(KernelError) {
            if let bytes = database?.encoded(for: key) {
                try SystemFiles.replace(path, with: bytes)
            } else {
                try SystemFiles.remove(path)
            }
        } catch {
            log.warning("\(path) cannot be written: \(error)")
        }
    }
}
