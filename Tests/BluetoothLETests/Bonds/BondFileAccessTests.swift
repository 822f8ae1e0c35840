import BluetoothSystem
import Glibc
import TestSupport
import Testing

@testable import BluetoothLE

/// Files with keys that other users can read or replace are refused, and left as they are.
@Suite struct BondFileAccessTests {
    private let adapter = BondSamples.adapter
    private let bond = BondSamples.bond()

    /// The errors of every use of a store with this file in it.
    private func errors(of store: FileBondStore) async -> [BluetoothError?] {
        [
            await failure { _ = try await store.bonds(of: self.adapter) },
            await failure { try await store.save(self.bond, of: self.adapter) },
            await failure { _ = try await store.update(self.bond, of: self.adapter) },
        ]
    }

    @Test(arguments: ["", "/001122334455"], [0o777, 0o1777, 0o770, 0o702] as [mode_t])
    func aFolderThatOthersCanWriteToIsRefused(folder: String, mode: mode_t) async throws {
        try await BondSamples.withDirectory { directory in
            let store = try FileBondStore(directory: directory)
            try await store.save(bond, of: adapter)
            let names = try SystemFiles.names(in: "\(directory)/001122334455")
            let place = directory + folder
            try #require(chmod(place, mode) == 0)
            let removal = await failure { try await store.removeBond(with: self.bond.identity, of: self.adapter) }
            for error in await errors(of: store) + [removal] {
                #expect(error?.code == .notPermitted)
                #expect(error?.message.contains("\(place) (mode 0\(String(mode, radix: 8)))") == true)
                #expect(error?.remedy == "Keep it to yourself: chmod 700 '\(place)'")
            }
            #expect(try SystemFiles.names(in: "\(directory)/001122334455") == names)
            // The command mends it.
            try #require(chmod(place, 0o700) == 0)
            #expect(try await store.bonds(of: adapter) == [bond])
        }
    }

    @Test func aCommandQuotesThePath() {
        let error = BluetoothError.unusable(.file, "/it's a'", .symbolicLink, .init("open"))
        #expect(error.remedy?.contains(#"readlink -f '/it'\''s a'\'''"# + "\n") == true)
    }

    @Test(arguments: [0o644, 0o640, 0o602] as [mode_t])
    func aFileThatOthersCanUseIsRefused(mode: mode_t) async throws {
        try await BondSamples.withDirectory { directory in
            let store = try FileBondStore(directory: directory)
            try await store.save(bond, of: adapter)
            let path = store.path(of: bond.identity, adapter: adapter)
            let bytes = try SystemFiles.read(path, limit: 4096)
            try #require(chmod(path, mode) == 0)
            for error in await errors(of: store) {
                #expect(error?.code == .notPermitted)
                #expect(error?.message.contains("\(path) (mode 0\(String(mode, radix: 8)))") == true)
                #expect(error?.remedy == "Keep it to yourself: chmod 600 '\(path)'")
            }
            #expect(try SystemFiles.read(path, limit: 4096) == bytes)
            try #require(chmod(path, 0o600) == 0)
            #expect(try await store.bonds(of: adapter) == [bond])
        }
    }

    @Test func anAdaptersIdentityIsRefusedLikewise() async throws {
        try await BondSamples.withDirectory { directory in
            let store = try FileBondStore(directory: directory)
            let identity = LocalIdentity.random()
            _ = try await store.localIdentity(ofAdapterAt: "here", orStore: identity)
            let path = store.path(ofAdapterAt: "here")
            for (place, mode) in [(path, 0o644), (directory, 0o777)] as [(String, mode_t)] {
                try #require(chmod(place, mode) == 0)
                for proposal in [nil, LocalIdentity.random()] {
                    let error = await failure {
                        _ = try await store.localIdentity(ofAdapterAt: "here", orStore: proposal)
                    }
                    #expect(error?.code == .notPermitted && error?.message.contains(place) == true)
                }
                try #require(chmod(place, place == path ? 0o600 : 0o700) == 0)
            }
            #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: nil) == identity)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs the superuser")) func anotherUsersKeysAreNotUsed() async throws {
        try await BondSamples.withDirectory { directory in
            let store = try FileBondStore(directory: directory)
            try await store.save(bond, of: adapter)
            let path = store.path(of: bond.identity, adapter: adapter)
            for (place, option) in [(path, ""), ("\(directory)/001122334455", "-R "), (directory, "-R ")] {
                try #require(chown(place, 1001, 0) == 0)
                for error in await errors(of: store) {
                    #expect(error?.code == .notPermitted)
                    #expect(error?.message.contains("\(place) belongs to another user (1001)") == true)
                    #expect(error?.remedy?.contains(": chown \(option)0 '\(place)'") == true)
                }
                try #require(chown(place, 0, 0) == 0)
            }
            #expect(try await store.bonds(of: adapter) == [bond])
        }
    }

    /// What systemd makes for a service with `DynamicUser=` and `StateDirectory=`.
    @Test func aLinkOfTheUsersOwnToAFolderIsFollowed() async throws {
        try await BondSamples.withDirectory { directory in
            try await FileBondStore(directory: directory).save(bond, of: adapter)
            let link = directory + "-link"
            try #require(symlink(directory, link) == 0)
            defer { unlink(link) }
            #expect(try await FileBondStore(directory: link).bonds(of: adapter) == [bond])
        }
    }

    @Test func aFileOfDevicesIsForItsUserAlone() async throws {
        try await BondSamples.withDirectory { directory in
            let path = "\(directory)/it's/keys"
            try SystemFiles.replace(path, with: Array("phone 8B3F6D01C2E94A7788D0B1A35C4E9F20\n".utf8))
            #expect(try await IdentityFile.read(path).map(\.name) == ["phone"])
            try #require(chmod(path, 0o644) == 0)
            let open = await failure { _ = try await IdentityFile.read(path) }
            #expect(open?.remedy == #"Keep it to yourself: chmod 600 '\#(directory)/it'\''s/keys'"#)
            let link = "\(directory)/it's/link"
            try #require(chmod(path, 0o600) == 0 && symlink(path, link) == 0)
            let linked = await failure { _ = try await IdentityFile.read(link) }
            #expect(linked?.code == .notPermitted && linked?.message.contains("symbolic link") == true)
        }
    }
}
