import BluetoothCryptography
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import Logging

/// A store of bonds in files, one for each device and adapter, readable by their user only.
///
/// Files and folders are used only if they belong to this user or to root and no other user can change them, files also
/// only if no other user can read them; symbolic links in place of a file are not followed. Anything else is refused with
/// `.notPermitted`, which has the command that mends it, and left as it is. So the programs that share a store run as one
/// user.
///
/// A file is `ADAPTER/DEVICE-public.bond` or `ADAPTER/DEVICE-random.bond` below the directory, without colons. Files
/// are replaced atomically: after a killed program or a full disk, the old or the new content is complete. A damaged
/// file is renamed to `….damaged` with a warning in the log, a file of a later version of this library to `….newer`;
/// the others remain in use. Of programs that share a directory, the last to write a file wins, and a removed file is
/// gone for all at their next reading.
///
/// Beside the folders is one file for each adapter that has no public address, or hides it: `….identity`, with its
/// `LocalIdentity`.
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
        defaultDirectory(isSuperuser: SystemFiles.isSuperuser, SystemFiles.folderEnvironment)
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
                remedy: "Name one: --bonds of ble and linble.\nIn code, pass a directory.")
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

    private static func digits(_ address: BluetoothAddress) -> String { address.digits.filter { $0 != ":" } }

    // MARK: Reading

    /// All bonds of an adapter, by address.
    ///
    /// - Throws: `.storageFailed` when the directory exists and cannot be read, `.notPermitted` when other users have access
    ///   to it or to one of the files.
    public func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond] {
        try await offLoop { () throws(BluetoothError) in try self.read(adapter) }
    }

    private func read(_ adapter: BluetoothAddress) throws(BluetoothError) -> [Bond] {
        let folder = folder(of: adapter)
        let operation = BluetoothError.Operation("read the bonds")
        try SecretFile.checkFolders([directory, folder], operation)
        let names: [String]
        do throws(KernelError) {
            names = try SystemFiles.names(in: folder)
        } catch {
            throw .storageFailed(operation, folder, error)
        }
        var bonds: [Bond] = []
        for name in names.sorted() where name.hasSuffix(Self.suffix) {
            if let bond = try bond("\(folder)/\(name)", adapter, operation) { bonds.append(bond) }
        }
        return bonds.sorted { $0.identity < $1.identity }
    }

    private func bond(
        _ path: String, _ adapter: BluetoothAddress, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> Bond? {
        let bytes: [UInt8]
        do throws(SecretFile.Failure) {
            bytes = try SecretFile.read(path, limit: Bond.maximumLength)
        } catch {
            let problem = BluetoothError.unusable(.file, path, error, operation)
            if error.isUnsafe { throw problem }
            // It may be readable again: the bond is not gone.
            if case .failed = error { throw problem }
            // A file that another program has just removed is no error.
            if error != .missing { log.warning("a bond is not used: \(problem)") }
            return nil
        }
        do throws(RecordFormat.Failure) {
            let bond = try Bond(decoding: bytes, adapter: adapter)
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
    /// - Throws: `.storageFailed` when the file exists and cannot be read, or cannot be written, `.notPermitted` when other
    ///   users have access to it or to the directory.
    public func localIdentity(
        ofAdapterAt place: String, orStore proposal: LocalIdentity?
    ) async throws(BluetoothError) -> LocalIdentity? {
        try await offLoop { () throws(BluetoothError) in try self.localIdentity(place, proposal) }
    }

    private func localIdentity(
        _ place: String, _ proposal: LocalIdentity?
    ) throws(BluetoothError) -> LocalIdentity? {
        let path = path(ofAdapterAt: place)
        let operation = BluetoothError.Operation("store the adapter's identity")
        try SecretFile.checkFolders([directory], operation)
        if let kept = try storedIdentity(path, place, operation) { return kept }
        guard let proposal else { return nil }
        do throws(KernelError) {
            if try SystemFiles.make(path, with: proposal.encoded(forAdapterAt: place), hook: hook) { return proposal }
        } catch {
            throw .storageFailed(operation, path, error)
        }
        // Another program has made the file first.
        return try storedIdentity(path, place, operation) ?? proposal
    }

    private func storedIdentity(
        _ path: String, _ place: String, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> LocalIdentity? {
        let bytes: [UInt8]
        do throws(SecretFile.Failure) {
            bytes = try SecretFile.read(path, limit: LocalIdentity.maximumLength)
        } catch {
            if error == .missing { return nil }
            throw .unusable(.file, path, error, operation)
        }
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
    /// - Throws: `.storageFailed` when the file cannot be written, `.notPermitted` when other users have access to it or to
    ///   the folder; its former content remains.
    public func save(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) {
        try await offLoop { () throws(BluetoothError) in
            _ = try self.write(bond, adapter, isUpdate: false)
        }
    }

    /// Stores a bond in place of the one with the same device; false if its file has been removed.
    /// - Throws: as ``save(_:of:)``.
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
        try SecretFile.checkFolders([directory, folder(of: adapter)], operation)
        do throws(SecretFile.Failure) {
            _ = try SecretFile.read(path, limit: Bond.maximumLength)
        } catch {
            // What is refused is not replaced either.
            if error.isUnsafe { throw .unusable(.file, path, error, operation) }
        }
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
    /// - Throws: `.storageFailed` when one of them cannot be removed, `.notPermitted` when other users can write to their
    ///   folder.
    public func removeBond(
        with identity: BluetoothAddress, of adapter: BluetoothAddress
    ) async throws(BluetoothError) {
        try await offLoop { () throws(BluetoothError) in try self.remove(identity, adapter) }
    }

    private func remove(_ identity: BluetoothAddress, _ adapter: BluetoothAddress) throws(BluetoothError) {
        let path = path(of: identity, adapter: adapter)
        let folder = folder(of: adapter)
        let operation = BluetoothError.Operation("remove the bond", peer: identity)
        try SecretFile.checkFolders([directory, folder], operation)
        do throws(KernelError) {
            try SystemFiles.remove(path)
            for name in try SystemFiles.names(in: folder) where "\(folder)/\(name)".hasPrefix(path + ".") {
                try SystemFiles.remove("\(folder)/\(name)")
            }
        } catch {
            throw .storageFailed(operation, path, error)
        }
    }
}
