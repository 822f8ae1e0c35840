import BluetoothCryptography
import BluetoothPrimitives
import BluetoothSystem
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Files with bonds: old or new content, never partial, and readable by their owner alone.
@Suite struct FileBondStoreTests {
    private let adapter = BondSamples.adapter
    private let bond = BondSamples.bond()

    /// A store with an observable log.
    private static func store(
        _ directory: String, hook: FileCallHook? = nil
    ) throws -> (FileBondStore, LogRecorder) {
        let recorder = LogRecorder()
        return (try FileBondStore(directory: directory, log: recorder.log, hook: hook), recorder)
    }

    /// Runs `body` with a directory and a store in it that has the bond.
    private func withBond(_ body: (String, FileBondStore, LogRecorder) async throws -> Void) async throws {
        try await BondSamples.withDirectory { directory in
            let (store, log) = try Self.store(directory)
            try await store.save(bond, of: adapter)
            try await body(directory, store, log)
        }
    }

    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test func whatIsKeptOutlivesTheProgram() async throws {
        try await BondSamples.withDirectory { directory in
            let (store, _) = try Self.store(directory)
            #expect(try await store.bonds(of: adapter).isEmpty)
            try await store.save(bond, of: adapter)
            let other = BondSamples.bond(BluetoothAddress(0xC098_E512_3456, kind: .public), first: 6, name: nil)
            try await store.save(other, of: adapter)
            let path = store.path(of: bond.identity, adapter: adapter)
            #expect(path == "\(directory)/001122334455/C098E5123456-random.bond")
            #expect(Self.mode(path) == 0o600)
            #expect(Self.mode("\(directory)/001122334455") == 0o700)
            #expect(Self.mode(directory) == 0o700)

            let (next, log) = try Self.store(directory)
            let found = try await next.bonds(of: adapter)
            #expect(Set(found) == [bond, other])
            #expect(try await next.bonds(of: BluetoothAddress(1, kind: .public)).isEmpty)
            try await next.removeBond(with: bond.identity, of: adapter)
            try await next.removeBond(with: bond.identity, of: adapter)
            #expect(try await store.bonds(of: adapter) == [other])
            #expect(log.lines.isEmpty)
        }
    }

    @Test func damagedFilesAreRenamedAndTheRestIsUsed() async throws {
        try await BondSamples.withDirectory { directory in
            let (store, log) = try Self.store(directory)
            let good = BondSamples.bond(BluetoothAddress(7, kind: .public), first: 6)
            try await store.save(good, of: adapter)
            try await store.save(bond, of: adapter)
            let path = store.path(of: bond.identity, adapter: adapter)
            let bytes = try #require(try SystemFiles.read(path, limit: 4096))
            var cases = stride(from: 0, to: bytes.count, by: 11).map { Array(bytes.prefix($0)) }
            for position in stride(from: 12, to: bytes.count, by: 13) {
                var changed = bytes
                changed[position] ^= 1
                cases.append(changed)
            }
            cases.append(bytes + [0])
            cases.append(Array("hello".utf8))
            for damaged in cases {
                try SystemFiles.replace(path, with: damaged)
                #expect(try await store.bonds(of: adapter) == [good])
                #expect(!SystemFiles.exists(path))
                let aside = try SystemFiles.read(path + ".damaged", limit: 4096)
                #expect(aside == damaged)
            }
            #expect(log.lines.count == cases.count)
            #expect(log.lines.allSatisfy { $0.contains("\(path) is damaged") && $0.contains("pair") })
            try await store.removeBond(with: bond.identity, of: adapter)
            #expect(!SystemFiles.exists(path + ".damaged"))
        }
    }

    @Test(arguments: [0, 6, 17, 255])
    func aKeyOfASizeThatCannotBeIsDamage(_ size: Int) async throws {
        try await BondSamples.withDirectory { directory in
            let (store, _) = try Self.store(directory)
            var impossible = bond
            impossible.longTermKeys[0].encryptionSize = size
            try await store.save(impossible, of: adapter)
            #expect(try await store.bonds(of: adapter).isEmpty)
            #expect(SystemFiles.exists(store.path(of: bond.identity, adapter: adapter) + ".damaged"))
        }
    }

    @Test func aBondHasAtMost64Keys() async throws {
        try await BondSamples.withDirectory { directory in
            let (store, log) = try Self.store(directory)
            var many = bond
            // Two long term keys and an identity resolving key are there.
            many.longTermKeys += (0..<61).map { _ in bond.longTermKeys[0] }
            try await store.save(many, of: adapter)
            #expect(try await store.bonds(of: adapter) == [many])
            let path = store.path(of: bond.identity, adapter: adapter)
            // A long term key of 29 bytes, with its kind and length, once more.
            let format = RecordFormat("BLE-BOND", version: 1)
            let body = try format.open(try #require(try SystemFiles.read(path, limit: 4096)))
            let key: [UInt8] = [1, 29, 0, 0, 0, 16] + [UInt8](repeating: 0, count: 26)
            try SystemFiles.replace(path, with: format.seal(body + key))
            #expect(try await store.bonds(of: adapter).isEmpty)
            #expect(SystemFiles.exists(path + ".damaged"))
            #expect(log.lines.contains { $0.contains("\(path) is damaged") })
            many.longTermKeys += many.longTermKeys.suffix(1)
            let error = await failure { [many] in try await store.save(many, of: self.adapter) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func aFileOfALaterFormatIsRenamed() async throws {
        try await withBond { _, store, log in
            let path = store.path(of: bond.identity, adapter: adapter)
            var bytes = try #require(try SystemFiles.read(path, limit: 4096))
            bytes[8] = 2
            try SystemFiles.replace(path, with: bytes)
            #expect(try await store.bonds(of: adapter).isEmpty)
            #expect(try SystemFiles.read(path + ".newer", limit: 4096) == bytes)
            #expect(log.lines.contains { $0.contains("later version") && $0.contains("format 2") })
        }
    }

    @Test func aFileUnderAnotherDevicesNameIsNotUsed() async throws {
        try await withBond { _, store, log in
            let other = BluetoothAddress(9, kind: .public)
            let path = store.path(of: other, adapter: adapter)
            try SystemFiles.rename(store.path(of: bond.identity, adapter: adapter), to: path)
            #expect(try await store.bonds(of: adapter).isEmpty)
            #expect(log.lines.contains { $0.contains("another device") })
            #expect(SystemFiles.exists(path + ".damaged"))
        }
    }

    @Test func aPipeAndADirectoryInPlaceOfAFileAreNotWaitedFor() async throws {
        try await withBond { _, store, _ in
            let pipe = store.path(of: BluetoothAddress(1, kind: .public), adapter: adapter)
            try #require(mkfifo(pipe, 0o600) == 0)
            let folder = store.path(of: BluetoothAddress(2, kind: .public), adapter: adapter)
            try #require(mkdir(folder, 0o700) == 0)
            #expect(try await store.bonds(of: adapter) == [bond])
            rmdir(folder)
        }
    }

    @Test func symbolicLinksAreNotFollowed() async throws {
        try await withBond { directory, store, _ in
            let other = BluetoothAddress(1, kind: .public)
            let path = store.path(of: other, adapter: adapter)
            // Symbolic links to a foreign file, to an endless device, to itself, and to nothing.
            let outside = "\(directory)-outside"
            try SystemFiles.replace(outside, with: Array("precious".utf8))
            for target in [outside, "/dev/zero", path, "\(directory)/nothing"] {
                try #require(symlink(target, path) == 0)
                let errors = [
                    await failure { _ = try await store.bonds(of: self.adapter) },
                    await failure { try await store.save(BondSamples.bond(other, first: 6), of: self.adapter) },
                ]
                for error in errors {
                    #expect(error?.code == .notPermitted, "\(target)")
                    #expect(error?.message == "\(path) is a symbolic link, which is not followed.")
                }
                // Removing removes the symbolic link, not its target.
                try await store.removeBond(with: other, of: adapter)
                #expect(try SystemFiles.read(outside, limit: 100) == Array("precious".utf8))
                #expect(try await store.bonds(of: adapter) == [bond])
            }
            try SystemFiles.remove(outside)
        }
    }

    @Test func tooLargeAndUnreadableFilesAreLeftOut() async throws {
        try await withBond { _, store, log in
            let path = store.path(of: BluetoothAddress(1, kind: .public), adapter: adapter)
            try SystemFiles.replace(path, with: [UInt8](repeating: 0, count: Bond.maximumLength + 1))
            #expect(try await store.bonds(of: adapter) == [bond])
            #expect(log.lines.contains { $0.contains(path) && $0.contains("too large") })
            try #require(chmod(path, 0) == 0)
            #expect(try await store.bonds(of: adapter) == [bond])
        }
    }

    @Test func manyFilesAreReadAndOnlyThoseThatAreBonds() async throws {
        try await withBond { directory, store, log in
            let folder = "\(directory)/001122334455"
            for number in 0..<3000 {
                let name = number % 2 == 0 ? "\(number).bond" : "\(number).txt"
                let file = open("\(folder)/\(name)", O_CREAT | O_WRONLY, 0o600 as mode_t)
                try #require(file >= 0)
                close(file)
            }
            #expect(try await store.bonds(of: adapter) == [bond])
            #expect(log.lines.count == 1500)
            #expect(try await store.bonds(of: adapter) == [bond])
            #expect(log.lines.count == 1500)
        }
    }

    // MARK: Failures

    /// The ways in which a call fails.
    enum Mishap: String, CaseIterable, Sendable {
        /// The call fails; later calls succeed.
        case error
        /// The program is killed: no call follows.
        case kill
        /// The call writes a part, and the program is killed.
        case partThenKill
    }

    @Test("a failure at any call of a write leaves the old bond or the new one", arguments: Mishap.allCases)
    func failures(_ mishap: Mishap) async throws {
        try await BondSamples.withDirectory { directory in
            var outcomes: Set<String> = []
            for isNew in [true, false] {
                var index = 0
                var isThrough = false
                while !isThrough {
                    let (plain, log) = try Self.store(directory)
                    try await plain.removeBond(with: bond.identity, of: adapter)
                    if isNew {
                        rmdir("\(directory)/001122334455")
                        rmdir(directory)
                    } else {
                        try await plain.save(bond, of: adapter)
                    }
                    let next = BondSamples.bond(first: 6, name: "changed")
                    let state = Mutex((count: 0, isDead: false, failed: nil as String?))
                    let (store, _) = try Self.store(directory) { [index] call throws(KernelError) in
                        let fails = state.withLock { state -> Bool in
                            defer { state.count += 1 }
                            if state.count == index { state.failed = call.name }
                            if mishap == .partThenKill, state.count == index, call.name == "write" {
                                call.count /= 2
                                state.isDead = true
                                return false
                            }
                            if state.count == index { state.isDead = mishap != .error }
                            return state.isDead || state.count == index
                        }
                        if fails { throw KernelError(call.name, .noSpace) }
                    }
                    let error = await failure { try await store.save(next, of: self.adapter) }
                    let failed = state.withLock { $0.failed }
                    isThrough = failed == nil
                    #expect(isThrough == (error == nil), "\(mishap) at \(failed ?? "-")")
                    if let error {
                        #expect(error.code == .storageFailed)
                        #expect(error.remedy == "Make room on the disk.")
                    }
                    let found = try await plain.bonds(of: adapter)
                    let old = isNew ? [] : [bond]
                    #expect(found == old || found == [next], "\(mishap) at \(failed ?? "-")")
                    #expect(!isThrough || found == [next])
                    // There was no file to rename.
                    #expect(log.lines.isEmpty)
                    outcomes.insert("\(failed ?? "done"): \(found == old ? "old" : "new")")
                    if mishap == .error {
                        let names = try SystemFiles.names(in: "\(directory)/001122334455")
                        #expect(names.count == found.count, "temporary files are left at \(failed ?? "-")")
                    }
                    index += 1
                }
            }
            #expect(
                outcomes == [
                    "mkdir: old", "open: old", "write: old", "fsync: old", "rename: old", "open: new", "fsync: new",
                    "done: new",
                ])
        }
    }

    @Test func anUnwritableDirectoryIsReportedWithTheFix() async throws {
        let (nowhere, _) = try Self.store("/proc/nowhere")
        let error = await failure { try await nowhere.save(self.bond, of: self.adapter) }
        #expect(error?.code == .storageFailed)
        #expect(error?.message.contains("/proc/nowhere/001122334455") == true)
        for number in [ErrorNumber.readOnlyFileSystem, .accessDenied] {
            let (store, _) = try Self.store("/proc/nowhere") { call throws(KernelError) in
                throw KernelError(call.name, number)
            }
            let error = await failure { try await store.save(self.bond, of: self.adapter) }
            #expect(error?.cause == .kernel(KernelError("mkdir", number)))
            #expect(error?.remedy?.contains("pass another directory") == true)
        }
    }

    // MARK: Two programs

    @Test func theLastOfTwoProgramsWinsAndNoFileIsMixed() async throws {
        try await BondSamples.withDirectory { directory in
            let bonds = (0..<4).map { BondSamples.bond(first: UInt8($0), name: String(repeating: "\($0)", count: 200)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for program in 0..<4 {
                    let (store, _) = try Self.store(directory)
                    group.addTask {
                        for round in 0..<25 {
                            try await store.save(bonds[(program + round) % 4], of: BondSamples.adapter)
                            let found = try await store.bonds(of: BondSamples.adapter)
                            #expect(found.count == 1 && bonds.contains(found[0]))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let (last, log) = try Self.store(directory)
            try await last.save(bond, of: adapter)
            let found = try await last.bonds(of: adapter)
            #expect(found == [bond])
            #expect(log.lines.isEmpty)
        }
    }

    @Test func anUpdateDoesNotRestoreARemovedBond() async throws {
        try await BondSamples.withDirectory { directory in
            let (one, _) = try Self.store(directory)
            let (other, _) = try Self.store(directory)
            try await one.save(bond, of: adapter)
            var changed = bond
            changed.name = "renamed"
            #expect(try await other.update(changed, of: adapter))
            try await one.removeBond(with: bond.identity, of: adapter)
            #expect(try await !other.update(changed, of: adapter))
            #expect(try await other.bonds(of: adapter).isEmpty)
        }
    }

    @Test func anUpdateDoesNotRestoreABondRemovedMeanwhile() async throws {
        try await BondSamples.withDirectory { directory in
            let (plain, _) = try Self.store(directory)
            for call in ["mkdir", "open", "write", "fsync", "renameat2"] {
                try await plain.save(bond, of: adapter)
                let path = plain.path(of: bond.identity, adapter: adapter)
                let isDone = Mutex(false)
                let (store, _) = try Self.store(directory) { made throws(KernelError) in
                    let isNow = isDone.withLock { isDone in
                        defer { isDone = isDone || made.name == call }
                        return !isDone && made.name == call
                    }
                    if isNow { try SystemFiles.remove(path) }
                }
                #expect(try await !store.update(bond, of: adapter), "removed at \(call)")
                #expect(try SystemFiles.names(in: "\(directory)/001122334455") == [], "removed at \(call)")
            }
        }
    }

    @Test func aFileSystemWithoutExchangeIsUpdated() async throws {
        try await BondSamples.withDirectory { directory in
            let (store, _) = try Self.store(directory) { call throws(KernelError) in
                if call.name == "renameat2" { throw KernelError(call.name, .invalidArgument) }
            }
            #expect(try await !store.update(bond, of: adapter))
            try await store.save(bond, of: adapter)
            let changed = BondSamples.bond(first: 6)
            #expect(try await store.update(changed, of: adapter))
            #expect(try await store.bonds(of: adapter) == [changed])
            let identity = LocalIdentity.random()
            #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: identity) == identity)
            #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: .random()) == identity)
        }
    }

    // MARK: Directories

    @Test(
        arguments: [
            (true, ["HOME": "/root"], "/var/lib/swift-bluetooth-le/bonds"),
            (true, ["STATE_DIRECTORY": "/var/lib/hub:/var/lib/other"], "/var/lib/hub/bonds"),
            (false, ["HOME": "/home/a"], "/home/a/.local/state/swift-bluetooth-le/bonds"),
            (false, ["HOME": "/home/a", "XDG_STATE_HOME": "/state"], "/state/swift-bluetooth-le/bonds"),
            (false, ["HOME": "/home/a", "XDG_STATE_HOME": "state"], "/home/a/.local/state/swift-bluetooth-le/bonds"),
            (false, [:], nil),
        ] as [(Bool, [String: String], String?)])
    func defaultDirectories(_ isSuperuser: Bool, _ environment: [String: String], _ expected: String?) {
        #expect(FileBondStore.defaultDirectory(isSuperuser: isSuperuser) { environment[$0] } == expected)
    }
}
