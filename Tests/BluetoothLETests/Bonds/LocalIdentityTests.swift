import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSystem
import Glibc
import TestSupport
import Testing

@testable import BluetoothLE

/// Adapters without a public address keep their random identity, and with it their bonds.
@Suite struct LocalIdentityTests {
    private static let bare: SimulatedController = {
        var controller = SimulatedController(address: .zero, isDualMode: false, isPowered: false)
        controller.place = "usb1/1-3"
        return controller
    }()

    /// A machine with an adapter without a public address, and a device that accepts every pairing.
    private static func run(
        _ body: @escaping @Sendable (Fixture, SimulatedPeripheral) async throws -> Void
    ) async throws {
        try await Fixture.run([bare]) { fixture in
            let device = SimulatedPeripheral(on: fixture.radio, gatt: try SimulatedGATTServer([CachingTests.battery]))
            device.setSecurity(SimulatedSecurity())
            try await body(fixture, device)
        }
    }

    /// Opens the only adapter, raises a link with the device and ends it; returns whether the device paired.
    private static func connect(
        _ fixture: Fixture, _ device: SimulatedPeripheral, _ store: any BondStore
    ) async throws -> (address: BluetoothAddress, bonds: [BluetoothAddress], hasPaired: Bool) {
        let adapter = try await Adapter.open(
            power: .powerOn, configuration: .init(bonds: .store(store)), on: fixture.kernel)
        let before = await adapter.bonds()
        let connection = try await adapter.connect(to: device.address)
        let outcome = try await connection.pair(to: .medium)
        await connection.disconnect()
        try await fixture.settle { device.links.isEmpty }
        try await fixture.settle { await adapter.bonds().count == 1 }
        let bonds = await adapter.bonds()
        let address = adapter.information.address
        #expect(outcome.security.level == .medium)
        await adapter.close()
        return (address, bonds.map(\.identity), bonds.map(\.longTermKeys) != before.map(\.longTermKeys))
    }

    /// Unplugs the adapter and plugs one in, as after a restart of the machine.
    private static func restart(_ fixture: Fixture, place: String? = "usb1/1-3") throws {
        for adapter in try fixture.kernel.adapters() { fixture.kernel.unplug(adapter.index) }
        var controller = bare
        controller.place = place
        fixture.kernel.plug(controller)
    }

    @Test func bondsOutliveARestart() async throws {
        try await Self.run { fixture, device in
            let store = MemoryBondStore()
            let first = try await Self.connect(fixture, device, store)
            #expect(first.address.randomKind == .static && first.hasPaired)
            try Self.restart(fixture)
            let second = try await Self.connect(fixture, device, store)
            #expect(second.address == first.address)
            #expect(second.bonds == first.bonds && !second.hasPaired)
        }
    }

    @Test func anotherProgramKnowsTheAddressOfAnAdapterThatIsOn() async throws {
        try await Self.run { fixture, device in
            let store = MemoryBondStore()
            let first = try await Self.connect(fixture, device, store)
            let second = try await Self.connect(fixture, device, store)
            #expect(second.address == first.address && !second.hasPaired)
            let chosen = try await Adapter.open(
                .address(first.address), configuration: .init(bonds: .store(store)), on: fixture.kernel)
            #expect(chosen.information.address == first.address)
            // A program with another store does not know the identity.
            let stranger = try await Adapter.open(
                configuration: .init(bonds: .store(MemoryBondStore())), on: fixture.kernel)
            #expect(stranger.information.address.isZero)
        }
    }

    @Test func anAdapterPoweredOffByOthersGetsItsAddressAgain() async throws {
        try await Self.run { fixture, device in
            let store = MemoryBondStore()
            let first = try await Self.connect(fixture, device, store)
            fixture.kernel.setPowered(false, adapter: 0)
            let second = try await Self.connect(fixture, device, store)
            #expect(second.address == first.address && !second.hasPaired)
        }
    }

    @Test func anAddressSetByTheDaemonIsNotMistakenForTheStoredOne() async throws {
        try await Self.run { fixture, device in
            let store = MemoryBondStore()
            let first = try await Self.connect(fixture, device, store)
            #expect(!first.address.isZero)
            // Set by another program, which has stored another.
            try Self.restart(fixture)
            let other = try await Adapter.open(
                power: .powerOn, configuration: .init(bonds: .store(MemoryBondStore())), on: fixture.kernel)
            #expect(other.information.address != first.address)
            await other.close()
            fixture.kernel.isBluetoothDaemonRunning = true
            let adapter = try await Adapter.open(configuration: .init(bonds: .store(store)), on: fixture.kernel)
            #expect(adapter.information.address.isZero)
            await adapter.close()
        }
    }

    @Test func privacyDoesNotReplaceAnAddressThatIsSet() async throws {
        try await Self.run { fixture, _ in
            let other = try await Adapter.open(
                power: .powerOn, configuration: .init(bonds: .store(MemoryBondStore())), on: fixture.kernel)
            await other.close()
            fixture.kernel.setPowered(false, adapter: 0)
            let adapter = try await Adapter.open(
                power: .powerOn, configuration: .init(bonds: .store(MemoryBondStore()), privacy: .on),
                on: fixture.kernel)
            #expect(adapter.information.usesPrivateAddresses)
            #expect(adapter.information.address.isZero)
            await adapter.close()
        }
    }

    @Test func adaptersInOtherPlacesHaveOtherAddresses() async throws {
        try await Self.run { fixture, device in
            let store = MemoryBondStore()
            let first = try await Self.connect(fixture, device, store)
            try Self.restart(fixture, place: "usb1/1-4")
            let other = try await Self.connect(fixture, device, store)
            #expect(other.address != first.address && other.hasPaired)
            try Self.restart(fixture)
            let again = try await Self.connect(fixture, device, store)
            #expect(again.address == first.address && !again.hasPaired)
        }
    }

    /// A store that stores nothing, as on a read-only disk.
    private struct FailingStore: BondStore {
        private func fail() -> BluetoothError {
            .storageFailed(.init("keep"), "/x", KernelError("open", .accessDenied))
        }
        func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond] { [] }
        func save(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) { throw fail() }
        func update(_ bond: Bond, of adapter: BluetoothAddress) async throws(BluetoothError) -> Bool { throw fail() }
        func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) async throws(BluetoothError) {
            throw fail()
        }
        func localIdentity(
            ofAdapterAt place: String, orStore proposal: LocalIdentity?
        ) async throws(BluetoothError) -> LocalIdentity? { throw fail() }
    }

    @Test func anIdentityThatCannotBeStoredLastsAsLongAsTheAdapterIsOpen() async throws {
        try await Self.run { fixture, _ in
            let log = LogRecorder()
            let store = FailingStore()
            let adapter = try await Adapter.open(
                power: .powerOn, configuration: .init(bonds: .store(store), log: log.log), on: fixture.kernel)
            let address = adapter.information.address
            #expect(address.randomKind == .static)
            #expect(log.lines.contains { $0.contains("will not recognise it") })
            try Self.restart(fixture)
            try await fixture.settle { adapter.state != .absent }
            try await adapter.setPowered(true)
            #expect(adapter.information.address == address)
        }
    }

    // MARK: Files

    private static let sample = LocalIdentity(
        staticAddress: BluetoothAddress(0xC0DE_0000_0001, kind: .random), identityResolvingKey: BondSamples.key(7))

    /// The files of earlier versions are readable.
    @Test func theFormatStays() throws {
        let key = try #require(SecurityKey([UInt8](0..<16)))
        let address = BluetoothAddress(0xC098_E512_3456, kind: .random)
        let identity = hex(
            "424c452d53454c460100 0400 68657265 563412e598c0 000102030405060708090a0b0c0d0e0f"
                + "10893b0f8d1814ea64bfe35e3842fc74")
        let expected = LocalIdentity(staticAddress: address, identityResolvingKey: key)
        #expect(try LocalIdentity(decoding: identity, place: "here") == expected)
        #expect(expected.encoded(forAdapterAt: "here") == identity)

        var bond = Bond(identity: address)
        (bond.identityResolvingKey, bond.name, bond.time, bond.wasUsedAgain) = (key, "Lamp", 1_700_000_000, true)
        let kept = hex(
            "424c452d424f4e440100 55443322110000 563412e598c001 050800 00f1536500000000 090000 040400 4c616d70"
                + "021000 000102030405060708090a0b0c0d0e0f 86aed74e2dc9fddeb36004f2c627c592")
        let adapter = BluetoothAddress(0x0011_2233_4455, kind: .public)
        #expect(try Bond(decoding: kept, adapter: adapter) == bond)
        #expect(try bond.encoded(for: adapter) == kept)
    }

    @Test func anIdentityInAFileOutlivesTheProgram() async throws {
        try await BondSamples.withDirectory { directory in
            let store = try FileBondStore(directory: directory)
            #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: nil) == nil)
            #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: Self.sample) == Self.sample)
            let next = try FileBondStore(directory: directory)
            #expect(try await next.localIdentity(ofAdapterAt: "here", orStore: .random()) == Self.sample)
            #expect(try await next.localIdentity(ofAdapterAt: "there", orStore: nil) == nil)
            // The directory of an adapter's bonds is separate.
            #expect(try await next.bonds(of: Self.sample.staticAddress).isEmpty)
            let nowhere = try FileBondStore(directory: "/proc/nowhere")
            let error = await failure {
                _ = try await nowhere.localIdentity(ofAdapterAt: "here", orStore: Self.sample)
            }
            #expect(error?.code == .storageFailed)
        }
    }

    @Test func theFirstOfManyProgramsDeterminesTheIdentity() async throws {
        try await BondSamples.withDirectory { directory in
            let found = try await withThrowingTaskGroup(of: LocalIdentity?.self) { group in
                for _ in 0..<16 {
                    let store = try FileBondStore(directory: directory)
                    group.addTask { try await store.localIdentity(ofAdapterAt: "here", orStore: .random()) }
                }
                return try await group.reduce(into: Set<LocalIdentity?>()) { $0.insert($1) }
            }
            #expect(found.count == 1 && found.first != nil)
            let store = try FileBondStore(directory: directory)
            let path = store.path(ofAdapterAt: "here")
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(try SystemFiles.names(in: directory).count == 1)
        }
    }

    /// Runs `body` with a store that has an identity for "here": the path of its file, and its content.
    private static func withKeptIdentity(
        _ body: (FileBondStore, _ path: String, _ bytes: [UInt8], LogRecorder) async throws -> Void
    ) async throws {
        try await BondSamples.withDirectory { directory in
            let log = LogRecorder()
            let store = try FileBondStore(directory: directory, log: log.log)
            _ = try await store.localIdentity(ofAdapterAt: "here", orStore: sample)
            let path = store.path(ofAdapterAt: "here")
            try await body(store, path, try #require(try SystemFiles.read(path, limit: 4096)), log)
        }
    }

    @Test func aDamagedFileIsRenamedAndAnotherIdentityIsMade() async throws {
        try await Self.withKeptIdentity { store, path, bytes, log in
            let elsewhere = Self.sample.encoded(forAdapterAt: "there")
            let damaged: [[UInt8]] = [
                [], Array(bytes.dropLast()), bytes + [0], [UInt8](repeating: 0xFF, count: bytes.count), elsewhere,
            ]
            for bytes in damaged {
                try SystemFiles.replace(path, with: bytes)
                let other = LocalIdentity.random()
                #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: nil) == nil)
                #expect(try SystemFiles.read(path + ".damaged", limit: 4096) == bytes)
                #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: other) == other)
            }
            #expect(log.lines.count == damaged.count)
            #expect(!log.lines.joined().contains("secret"))
        }
    }

    @Test func anIdentityOfALaterFormatIsRenamed() async throws {
        try await Self.withKeptIdentity { store, path, kept, log in
            var bytes = kept
            bytes[8] = 2
            try SystemFiles.replace(path, with: bytes)
            let found = try await store.localIdentity(ofAdapterAt: "here", orStore: nil)
            #expect(found == nil)
            #expect(try SystemFiles.read(path + ".newer", limit: 4096) == bytes)
            #expect(log.lines.contains { $0.contains("later version") && $0.contains("format 2") })
        }
    }

    @Test func anIdentityMadeByAnotherProgramMeanwhileStays() async throws {
        try await BondSamples.withDirectory { directory in
            let other = try FileBondStore(directory: directory)
            let path = other.path(ofAdapterAt: "here")
            let store = try FileBondStore(directory: directory, log: LogRecorder().log) { call throws(KernelError) in
                guard call.name == "renameat2" else { return }
                try SystemFiles.replace(path, with: Self.sample.encoded(forAdapterAt: "here"))
            }
            #expect(try await store.localIdentity(ofAdapterAt: "here", orStore: .random()) == Self.sample)
            #expect(try SystemFiles.names(in: directory).count == 1)
        }
    }
}
