import BluetoothCryptography
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import Logging

/// A store of bonds in files, one for each device and adapter, readable by their user only.
///
/// A file is `ADAPTER/DEVICE-public.bond` or `ADAPTER/DEVICE-random.bond` below the directory, without colons. Files
/// are replaced atomically: after a killed program or a full disk, the old or the new content is complete. A damaged
/// file is renamed to `….damaged` with a warning in the log, a file of a later version of this library to `….newer`;
/// the others remain in use. Of programs that share a directory, the last to write a file wins, and a removed file is
/// gone for all at their next reading.
///
/// Beside the folders is one file for each adapter that has no public address, or hides it: `….identity`, with its
/// ``LocalIdentity``.
///
/// Files are read and written on Swift's thread pool, not on the event loop.
public final class FileBondStore: BondStore {
    /// The path of the directory.
    public let directory: String
    private let log: Logger
    private let hook: FileCallHook?

    /// The directory of bonds unless a program names one; nil if no environment variable determines it.
    ///
    /// - The first directory of `$STATE_DIRECTORY`, which systemd sets for a service with `StateDirectory=`, with
    ///   `/bonds`;
    /// - for the superuser `/var/lib/swift-bluetooth-le/bonds`;
    /// - else `$XDG_STATE_HOME/swift-bluetooth-le/bonds`, or the same below `$HOME/.local/state`.
    public static var defaultDirectory: String? {
        defaultDirectory(isSuperuser: SystemFiles.isSuperuser, SystemFiles.environment)
    }

    static func defaultDirectory(isSuperuser: Bool, _ environment: (String) -> String?) -> String? {
        if let state = environment("STATE_DIRECTORY")?.split(separator: ":").first, state.hasPrefix("/") {
            return state + "/bonds"
        }
        if isSuperuser { return "/var/lib/swift-bluetooth-le/bonds" }
        // The XDG base directory specification says to ignore relative paths.
        if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") {
            return state + "/swift-bluetooth-le/bonds"
        }
        return environment("HOME").map { $0 + "/.local/state/swift-bluetooth-le/bonds" }
    }

    /// Creates a store in a directory, which is created for its user alone (0700) with the first file.
    /// - Parameters:
    ///   - directory: the path; nil for ``defaultDirectory``.
    ///   - log: receives warnings about damaged files.
    /// - Throws: `.invalidArgument` when no directory is given and there is no default.
    public convenience init(
        directory: String? = nil, log: Logger = Logger(label: "bluetooth.bonds")
    ) throws(BluetoothError) {
        try self.init(directory: directory, log: log, hook: nil)
    }

    init(directory: String?, log: Logger, hook: FileCallHook?) throws(BluetoothError) {
        guard let directory = directory ?? Self.defaultDirectory else {
            throw BluetoothError(
                .invalidArgument, .init("open the bond store"),
                "There is no default directory: STATE_DIRECTORY, XDG_STATE_HOME and HOME are unset.",
                remedy: "Pass a directory.")
        }
        self.directory = directory
        self.log = log
        self.hook = hook
    }

    // MARK: Names

    private static let suffix = ".bond"

    /// The path of the file with a device's bond.
    package func path(of identity: BluetoothAddress, adapter: BluetoothAddress) -> String {
        "\(folder(of: adapter))/\(Self.digits(identity))-\(identity.kind)\(Self.suffix)"
    }

    private func folder(of adapter: BluetoothAddress) -> String { "\(directory)/\(Self.digits(adapter))" }

    private static func digits(_ address: BluetoothAddress) -> String { "\(address)".filter { $0 != ":" } }

    // MARK: Reading

    /// All bonds of an adapter, by address.
    ///
    /// - Throws: `.storageFailed` when the directory exists and cannot be read.
    public func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond] {
        try await offLoop { () throws(BluetoothError) in try self.read(adapter) }
    }

    private func read(_ adapter: BluetoothAddress) throws(BluetoothError) -> [Bond] {
        let folder = folder(of: adapter)
        let names: [String]
        do throws(KernelError) {
            names = try SystemFiles.names(in: folder)
        } catch {
            throw .storageFailed(.init("read the bonds"), folder, error)
        }
        let bonds = names.sorted().filter { $0.hasSuffix(Self.suffix) }.compactMap { name in
            self.bond("\(folder)/\(name)", adapter)
        }
        return bonds.sorted { $0.identity < $1.identity }
    }

    private func bond(_ path: String, _ adapter: BluetoothAddress) -> Bond? {
        let bytes: [UInt8]
        do throws(KernelError) {
            // A file that another program has just removed is no error.
            guard let found = try SystemFiles.read(path, limit: Bond.maximumLength) else { return nil }
            bytes = found
        } catch {
            log.warning("the bond in \(path) is not used, since it cannot be read: \(error)")
            return nil
        }
        do throws(RecordFormat.Failure) {
            let bond = try Bond(decoding: bytes, adapter: adapter, identity: nil)
            guard path == self.path(of: bond.identity, adapter: adapter) else { throw .otherOwner }
            return bond
        } catch {
            switch error {
            case .unknownVersion(let version):
                setAside(
                    path, as: "newer",
                    "was written by a later version of this library (format \(version)); update this program and rename "
                        + "the file back, or pair again")
            case .damaged: setAside(path, as: "damaged", "is damaged; pair with the device again")
            case .otherOwner:
                setAside(path, as: "damaged", "holds the bond with another device or of another adapter")
            }
            return nil
        }
    }

    private func setAside(_ path: String, as suffix: String, _ reason: String) {
        let place = "\(path).\(suffix)"
        do throws(KernelError) {
            try SystemFiles.rename(path, to: place)
            log.warning("\(path) \(reason); it was renamed to \(place)")
        } catch {
            log.warning("\(path) \(reason); it cannot be renamed: \(error)")
        }
    }

    // MARK: The adapter's identity

    /// The path of the file with the identity of an adapter at a place.
    func path(ofAdapterAt place: String) -> String {
        // A place is a path, which may be longer than a file name.
        let name = RecordFormat.checksum(of: place.utf8).map { hexadecimal($0, digits: 2) }.joined()
        return "\(directory)/\(name).identity"
    }

    /// The identity of an adapter; without a stored one, the proposal, which is stored.
    /// - Throws: `.storageFailed` when the file exists and cannot be read, or cannot be written.
    public func localIdentity(
        ofAdapterAt place: String, orStore proposal: LocalIdentity?
    ) async throws(BluetoothError) -> LocalIdentity? {
        try await offLoop { () throws(BluetoothError) in try self.localIdentity(place, proposal) }
    }

    private func localIdentity(
        _ place: String, _ proposal: LocalIdentity?
    ) throws(BluetoothError) -> LocalIdentity? {
        let path = path(ofAdapterAt: place)
        do throws(KernelError) {
            if let kept = try storedIdentity(path, place) { return kept }
            guard let proposal else { return nil }
            if try SystemFiles.make(path, with: proposal.encoded(forAdapterAt: place), hook: hook) { return proposal }
            // Another program has made the file first.
            return try storedIdentity(path, place) ?? proposal
        } catch {
            throw .storageFailed(.init("store the adapter's identity"), path, error)
        }
    }

    private func storedIdentity(_ path: String, _ place: String) throws(KernelError) -> LocalIdentity? {
        guard let bytes = try SystemFiles.read(path, limit: LocalIdentity.maximumLength) else { return nil }
        do throws(RecordFormat.Failure) {
            return try LocalIdentity(decoding: bytes, place: place)
        } catch {
            switch error {
            case .unknownVersion(let version):
                setAside(
                    path, as: "newer",
                    "was written by a later version of this library (format \(version)); until this program is updated and "
                        + "the file renamed back, paired devices will not recognise this adapter")
            case .damaged, .otherOwner:
                setAside(path, as: "damaged", "is damaged; paired devices will not recognise this adapter")
            }
            return nil
        }
    }

    // MARK: Writing

    /// Stores a bond.
    /// - Throws: `.storageFailed` when the file cannot be written; its former content remains.
    public func save(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) {
        try await offLoop { () throws(BluetoothError) in
            _ = try self.write(bond, adapter, isUpdate: false)
        }
    }

    /// Stores a bond in place of the one with the same device; false if its file has been removed.
    /// - Throws: `.storageFailed` when the file cannot be written; its former content remains.
    public func update(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) -> Bool {
        try await offLoop { () throws(BluetoothError) in
            try self.write(bond, adapter, isUpdate: true)
        }
    }

    /// Writes a bond; for an update, returns whether there was a file to replace.
    private func write(
        _ bond: Bond, _ adapter: BluetoothAddress, isUpdate: Bool
    ) throws(BluetoothError) -> Bool {
        let operation = BluetoothError.Operation("store the bond", peer: bond.identity)
        guard let bytes = try? bond.encoded(for: adapter) else {
            throw .invalidArgument(operation, "The bond exceeds the maximum size of its file.")
        }
        let path = path(of: bond.identity, adapter: adapter)
        do throws(KernelError) {
            if isUpdate { return try SystemFiles.replaceExisting(path, with: bytes, hook: hook) }
            do throws(KernelError) {
                try SystemFiles.replace(path, with: bytes, hook: hook)
            } catch {
                // A program that removes the bond at the same time removes the temporary file as well.
                guard error.number == .noSuchFile else { throw error }
                try SystemFiles.replace(path, with: bytes, hook: hook)
            }
            return true
        } catch {
            throw .storageFailed(operation, path, error)
        }
    }

    /// Removes the file of a bond, its renamed versions, and temporary files left by killed programs.
    /// - Throws: `.storageFailed` when one of them cannot be removed.
    public func removeBond(
        with identity: BluetoothAddress, of adapter: BluetoothAddress
    ) async throws(BluetoothError) {
        try await offLoop { () throws(BluetoothError) in try self.remove(identity, adapter) }
    }

    private func remove(_ identity: BluetoothAddress, _ adapter: BluetoothAddress) throws(BluetoothError) {
        let path = path(of: identity, adapter: adapter)
        do throws(KernelError) {
            try SystemFiles.remove(path)
            let folder = folder(of: adapter)
            for name in try SystemFiles.names(in: folder) where "\(folder)/\(name)".hasPrefix(path + ".") {
                try SystemFiles.remove("\(folder)/\(name)")
            }
        } catch {
            throw .storageFailed(.init("remove the bond", peer: identity), path, error)
        }
    }
}

extension BluetoothError.Code {
    /// Stored data cannot be read or written.
    public static let storageFailed = BluetoothError.Code(rawValue: "storageFailed")
}

extension BluetoothError {
    static func storageFailed(_ operation: Operation, _ path: String, _ error: KernelError) -> BluetoothError {
        let remedy =
            switch error.number {
            case .accessDenied, .notPermitted, .readOnlyFileSystem:
                "Give this user access to it, or pass another directory for the bond store."
            case .noSpace: "Make room on the disk."
            default: nil as String?
            }
        return BluetoothError(
            .storageFailed, operation, "\(path) cannot be read or written.", remedy: remedy, cause: .kernel(error))
    }
}
