import BluetoothCryptography
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import BluetoothGATT
import Logging

/// A cache in files, one for each device and adapter, so that a known device need not be discovered after a restart
/// either.
///
/// Each file has a checksum and the device's address. Files are for this user alone, as `SecretFile` requires; a file or
/// folder of another user, and a symbolic link, is not used, with a warning in the log. A damaged file is renamed to `….damaged` with a warning in the
/// log, and its device is discovered again. Files are replaced atomically, so a killed program leaves the old or the
/// new content. They are read and written on Swift's thread pool, not on the event loop, and their content is cached in
/// memory. Devices with private addresses, which change, are cached in memory only.
package final class FileAttributeCache: DatabaseCache {
    /// The path of the directory.
    package let directory: String
    private let memory: MemoryAttributeCache
    private let log: Logger

    /// `$XDG_CACHE_HOME/swift-bluetooth-le/attributes`, or the same below `$HOME/.cache`; nil if neither variable is
    /// set.
    package static var defaultDirectory: String? {
        // The XDG base directory specification says to ignore relative paths.
        if let cache = SystemFiles.folderEnvironment("XDG_CACHE_HOME"), cache.hasPrefix("/") {
            return cache + "/swift-bluetooth-le/attributes"
        }
        return SystemFiles.folderEnvironment("HOME").map { $0 + "/.cache/swift-bluetooth-le/attributes" }
    }

    /// Creates a cache in a directory, which is created with the first file.
    /// - Parameters:
    ///   - directory: the path; nil for ``defaultDirectory``.
    ///   - capacity: the maximum number of devices cached in memory as well.
    ///   - log: receives warnings about damaged files and failing calls.
    /// - Throws: `.invalidArgument` when no directory is given and there is no default.
    package init(
        directory: String? = nil, capacity: Int = 256, log: Logger = Logger(label: "bluetooth.attributes")
    ) throws(BluetoothError) {
        guard let directory = directory ?? Self.defaultDirectory else {
            throw BluetoothError(
                .invalidArgument, .init("open the attribute cache"),
                "There is no default directory: XDG_CACHE_HOME and HOME are unset.",
                remedy: "In code, pass a directory.")
        }
        self.directory = directory
        self.log = log
        memory = MemoryAttributeCache(capacity: capacity)
    }

    /// The path of a device's file: `ADAPTER/ADDRESS-KIND.gatt`.
    func path(for key: AttributeCacheKey) -> String {
        "\(directory)/\(digits(key.adapter))/\(digits(key.peer))-\(key.peer.kind == .public ? "public" : "random").gatt"
    }

    /// Whether no other user can put files into the folders of a device's file.
    private func isSafe(_ operation: BluetoothError.Operation, _ key: AttributeCacheKey) -> Bool {
        do throws(BluetoothError) {
            try SecretFile.checkFolders([directory, "\(directory)/\(digits(key.adapter))"], operation)
            return true
        } catch {
            log.warning("\(error)")
            return false
        }
    }

    private func digits(_ address: BluetoothAddress) -> String { address.digits.filter { $0 != ":" } }

    /// The cached database of a device.
    package func database(for key: AttributeCacheKey) async -> CachedDatabase? {
        if let known = memory.database(for: key) { return known }
        guard key.peer.isIdentity else { return nil }
        guard let read = await offLoop({ self.read(key) }) else { return nil }
        memory.setDatabase(read, for: key)
        return read
    }

    /// Caches a device's database; nil removes it.
    package func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) async {
        memory.setDatabase(database, for: key)
        guard key.peer.isIdentity else { return }
        await offLoop { self.write(database, key) }
    }

    private func read(_ key: AttributeCacheKey) -> CachedDatabase? {
        let path = path(for: key)
        let operation = BluetoothError.Operation("read the cached attributes")
        guard isSafe(operation, key) else { return nil }
        let bytes: [UInt8]
        do throws(SecretFile.Failure) {
            bytes = try SecretFile.read(path, limit: CachedDatabase.maximumLength)
        } catch {
            if error != .missing { log.warning("\(BluetoothError.unusable(.file, path, error, operation))") }
            return nil
        }
        do throws(RecordFormat.Failure) {
            return try CachedDatabase(decoding: bytes, for: key)
        } catch {
            switch error {
            case .unknownVersion(let version):
                log.info("\(path) is in format \(version), which this program does not support")
            case .damaged, .otherOwner:
                log.warning("\(path) is damaged; it is renamed, and the device is discovered again")
                do throws(KernelError) {
                    try SystemFiles.rename(path, to: path + ".damaged")
                } catch {
                    log.warning("\(path) cannot be renamed: \(error)")
                }
            }
            return nil
        }
    }

    private func write(_ database: CachedDatabase?, _ key: AttributeCacheKey) {
        let path = path(for: key)
        guard isSafe(.init("cache the attributes"), key) else { return }
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
