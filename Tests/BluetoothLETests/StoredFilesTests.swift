import BluetoothGATT
import BluetoothSystem
import Glibc
import Testing

@testable import BluetoothLE

/// The files that an earlier state of this library has stored (Tests/Stored) have the same content for this one.
@Suite struct StoredFilesTests {
    private static let stored = #filePath.replacing(
        "/BluetoothLETests/StoredFilesTests.swift", with: "/Stored/2026-11-26")
    private static let adapter = BondSamples.adapter

    /// Copies stored files into a new folder for their user alone, as stores require, and removes it.
    private static func withCopy(_ names: [String], _ body: (String) async throws -> Void) async throws {
        var template = Array("/tmp/storedXXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        for name in names {
            let bytes = try #require(try SystemFiles.read("\(stored)/\(name)", limit: 100_000), "\(name)")
            try SystemFiles.replace("\(folder)/\(name)", with: bytes)
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body(folder)) } catch { result = .failure(error) }
        for name in names {
            // One that was taken for damaged is renamed.
            #expect(unlink("\(folder)/\(name)") == 0, "\(name)")
            rmdir("\(folder)/\(name.split(separator: "/").dropLast().joined(separator: "/"))")
        }
        for name in ["bonds", "attributes", ""] { rmdir("\(folder)/\(name)") }
        try result.get()
    }

    @Test func bonds() async throws {
        let files = ["C098E5123456-random", "C098E5123456-public"].map { "bonds/001122334455/\($0).bond" }
        try await Self.withCopy(files) { folder in
            let found = try await FileBondStore(directory: "\(folder)/bonds").bonds(of: Self.adapter)
            let other = BondSamples.bond(BluetoothAddress(0xC098_E512_3456, kind: .public), first: 6, name: nil)
            #expect(Set(found) == [BondSamples.bond(), other])
        }
    }

    /// Made by `ble pair --simulate Pulse-Z1`; its keys are random.
    @Test func aBondOfAPairing() async throws {
        try await Self.withCopy(["bonds/00AA01000001/C098E5123458-random.bond"]) { folder in
            let store = try FileBondStore(directory: "\(folder)/bonds")
            let found = try await store.bonds(of: BluetoothAddress(0x00AA_0100_0001, kind: .public))
            let bond = try #require(found.first)
            #expect(found.count == 1 && bond.identity == BluetoothAddress(0xC098_E512_3458, kind: .random))
            #expect(bond.name == "Pulse-Z1")
            let key = try #require(bond.longTermKeys.first)
            #expect(bond.longTermKeys.count == 1 && key.kind == .unauthenticated)
            #expect(key.encryptionSize == 16 && bond.identityResolvingKey == nil)
        }
    }

    @Test func theIdentityOfAnAdapter() async throws {
        let place = "usb1/1-3"
        let name = (try FileBondStore(directory: "bonds")).path(ofAdapterAt: place)
        try await Self.withCopy([name]) { folder in
            let store = try FileBondStore(directory: "\(folder)/bonds")
            let found = try await store.localIdentity(ofAdapterAt: place, orStore: nil)
            #expect(found?.staticAddress == BluetoothAddress(0xC0DE_0000_0001, kind: .random))
            #expect(found?.identityResolvingKey == BondSamples.key(9))
        }
    }

    static let database = CachedDatabase(
        services: [
            RemoteService(uuid: 0x1800, handles: AttributeHandleRange(start: 1, end: 9)),
            RemoteService(uuid: 0x180F, handles: AttributeHandleRange(start: 10, end: 13)),
        ],
        hash: DatabaseHash([UInt8](1...16)), isFollowed: true)

    @Test func theAttributesOfADevice() async throws {
        try await Self.withCopy(["attributes/001122334455/C098E5123456-random.gatt"]) { folder in
            let cache = try FileAttributeCache(directory: "\(folder)/attributes")
            let found = await cache.database(for: AttributeCacheKey(adapter: Self.adapter, peer: BondSamples.peer))
            #expect(found == Self.database)
        }
    }
}
