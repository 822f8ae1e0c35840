import BluetoothGATT
import BluetoothPrimitives
import BluetoothSystem
import Glibc
import Testing

@testable import BluetoothLE

/// Files with databases: read whole, or not used.
@Suite struct FileAttributeCacheTests {
    private static let key = AttributeCacheKey(
        adapter: BluetoothAddress(0x0011_2233_4455, kind: .public),
        peer: BluetoothAddress(0xC098_E512_3456, kind: .random))
    private static let database = CachedDatabase(
        services: [RemoteService(uuid: 0x180F, handles: AttributeHandleRange(start: 1, end: 3))],
        hash: DatabaseHash([UInt8](1...16)))

    /// Runs `body` with a cache in its own directory.
    private static func withCache(_ body: (FileAttributeCache, String) async throws -> Void) async throws {
        let directory =
            (SystemFiles.environment("TMPDIR") ?? "/tmp")
            + "/attribute-cache-\(getpid())-\(UInt32.random(in: .min ... .max))"
        let cache = try FileAttributeCache(directory: directory)
        try await body(cache, cache.path(for: key))
        for name in [cache.path(for: key), cache.path(for: key) + ".damaged"] { try SystemFiles.remove(name) }
        rmdir("\(directory)/001122334455")
        #expect(rmdir(directory) == 0 || errno == ENOENT, "something was left")
    }

    @Test func whatIsKeptOutlivesTheProgram() async throws {
        try await Self.withCache { cache, path in
            #expect(await cache.database(for: Self.key) == nil)
            await cache.setDatabase(Self.database, for: Self.key)
            #expect(path.hasSuffix("/001122334455/C098E5123456-random.gatt"))
            let next = try FileAttributeCache(directory: cache.directory)
            #expect(await next.database(for: Self.key) == Self.database)
            await next.setDatabase(nil, for: Self.key)
            #expect(await (try FileAttributeCache(directory: cache.directory)).database(for: Self.key) == nil)
            // A second removal is no error.
            await next.setDatabase(nil, for: Self.key)
        }
    }

    @Test func aPipeInPlaceOfAFileIsNotWaitedFor() async throws {
        try await Self.withCache { cache, path in
            await cache.setDatabase(Self.database, for: Self.key)
            try SystemFiles.remove(path)
            try #require(mkfifo(path, 0o600) == 0)
            #expect(await (try FileAttributeCache(directory: cache.directory)).database(for: Self.key) == nil)
        }
    }

    @Test func whatAnotherUserCanHavePlantedIsNotUsed() async throws {
        try await Self.withCache { cache, path in
            await cache.setDatabase(Self.database, for: Self.key)
            func found() async throws -> CachedDatabase? {
                await (try FileAttributeCache(directory: cache.directory)).database(for: Self.key)
            }
            for place in [cache.directory, cache.directory + "/001122334455"] {
                try #require(chmod(place, 0o777) == 0)
                #expect(try await found() == nil)
                await cache.setDatabase(nil, for: Self.key)
                try #require(chmod(place, 0o700) == 0)
                #expect(try await found() == Self.database)
            }
            let elsewhere = path + ".moved"
            try SystemFiles.rename(path, to: elsewhere)
            try #require(symlink(elsewhere, path) == 0)
            #expect(try await found() == nil)
            try SystemFiles.remove(elsewhere)
        }
    }

    @Test func aDamagedFileIsRenamedAndNotUsed() async throws {
        try await Self.withCache { cache, path in
            await cache.setDatabase(Self.database, for: Self.key)
            let bytes = try #require(try SystemFiles.read(path, limit: 4096))
            for count in stride(from: 0, to: bytes.count, by: 7) {
                try SystemFiles.replace(path, with: Array(bytes.prefix(count)))
                #expect(await (try FileAttributeCache(directory: cache.directory)).database(for: Self.key) == nil)
                let there = try SystemFiles.read(path, limit: 4096)
                #expect(there == nil)
                let aside = try SystemFiles.read(path + ".damaged", limit: 4096)
                #expect(aside == Array(bytes.prefix(count)))
            }
        }
    }

    @Test func aPrivateAddressIsNotWritten() async throws {
        try await Self.withCache { cache, _ in
            var key = Self.key
            key.peer = BluetoothAddress(0x4098_E512_3456, kind: .random)
            await cache.setDatabase(Self.database, for: key)
            #expect(await cache.database(for: key) == Self.database)
            let file = try SystemFiles.read(cache.path(for: key), limit: 4096)
            #expect(file == nil)
        }
    }

    @Test func aFailureToCreateTheDirectoryIsNoErrorOfTheCaller() async throws {
        let cache = try FileAttributeCache(directory: "/proc/nowhere")
        await cache.setDatabase(Self.database, for: Self.key)
        #expect(await cache.database(for: Self.key) == Self.database)
        #expect(throws: KernelError.self) { try SystemFiles.replace("/proc/nowhere/file", with: [1]) }
    }

    @Test func theLeastRecentlyUsedEntryIsDropped() {
        let cache = MemoryAttributeCache(capacity: 2)
        func key(_ number: UInt64) -> AttributeCacheKey {
            AttributeCacheKey(adapter: .zero, peer: BluetoothAddress(number, kind: .public))
        }
        cache.setDatabase(Self.database, for: key(1))
        cache.setDatabase(Self.database, for: key(2))
        _ = cache.database(for: key(1))
        cache.setDatabase(Self.database, for: key(3))
        #expect([1, 2, 3].map { cache.database(for: key($0)) != nil } == [true, false, true])
    }
}
