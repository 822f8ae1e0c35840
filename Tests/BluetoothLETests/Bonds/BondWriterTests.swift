import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import Logging
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct BondWriterTests {
    /// The owner of the bonds, which the program may release like an adapter.
    private final class Owner {
        let known: [BluetoothAddress: Bond]

        init(_ bonds: [Bond]) {
            known = Dictionary(uniqueKeysWithValues: bonds.map { ($0.identity, $0) })
        }
    }

    /// Pending writes retain the owner of the bonds: without it there would be no bonds, and the stored ones would be
    /// removed.
    @Test func pendingWritesCompleteAfterTheOwnerIsReleased() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        try await radio.run {
            let store = MemoryBondStore()
            let bonds = (1...3).map { BondSamples.bond(BluetoothAddress(0xC098_E512_3450 + $0, kind: .random)) }
            for bond in bonds { store.save(bond, of: .zero) }
            let writer = await radio.loop.run {
                let writer = BondWriter(store, on: radio.loop, log: Logger(label: "test"))
                let owner = Owner(bonds)
                writer.bond = { [weak owner] in owner?.known[$0] }
                for bond in bonds { writer.write(bond.identity, isUpdate: false, keeping: owner) }
                return LoopBound(writer, on: radio.loop)
            }
            await withTaskExecutorPreference(radio.loop) { await Self.flush(writer) }
            #expect(store.bonds(of: .zero).count == 3)
        }
    }

    /// What a reading began with is older than what is written meanwhile.
    @Test func aReadingKeepsWhatChangesMeanwhile() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        try await radio.run {
            let bonds = (1...4).map { BondSamples.bond(BluetoothAddress(0xC098_E512_3450 + $0, kind: .random)) }
            let store = LateStore(bonds: Array(bonds[..<2]), on: radio.loop)
            let owner = await radio.loop.run { LoopBound(Owner(Array(bonds[1...])), on: radio.loop) }
            let writer = await radio.loop.run {
                let writer = BondWriter(store, on: radio.loop, log: Logger(label: "test"))
                writer.bond = { [weak owner = owner.value] in owner?.known[$0] }
                // One is being removed, and one being written.
                for index in [0, 2] { writer.write(bonds[index].identity, isUpdate: false, keeping: owner.value) }
                return LoopBound(writer, on: radio.loop)
            }
            let reading = Task(executorPreference: radio.loop) { try await Self.read(writer) }
            try await radio.sleep(for: .milliseconds(500))
            // And another one, before the store answers.
            await radio.loop.run {
                writer.value.write(bonds[3].identity, isUpdate: false, keeping: owner.value)
            }
            let read = try await reading.value
            #expect(read.map(\.identity).sorted() == bonds[1...].map(\.identity))
            await withTaskExecutorPreference(radio.loop) { await Self.flush(writer) }
        }
    }

    /// A store whose answer to a reading is a second old.
    private final class LateStore: BondStore {
        private let bonds: [Bond]
        private let loop: EventLoop

        init(bonds: [Bond], on loop: EventLoop) { (self.bonds, self.loop) = (bonds, loop) }

        private nonisolated(nonsending) func wait(_ time: Duration) async {
            try? await Promise<Void, BluetoothError>().value(.init("wait"), timeout: time, on: loop)
        }

        func bonds(of adapter: BluetoothAddress) async throws(BluetoothError) -> [Bond] {
            await wait(.seconds(1))
            return bonds
        }

        func save(_ bond: Bond, of adapter: BluetoothAddress) async { await wait(.milliseconds(200)) }
        func update(_ bond: Bond, of adapter: BluetoothAddress) -> Bool { true }
        func removeBond(with identity: BluetoothAddress, of adapter: BluetoothAddress) async {
            await wait(.milliseconds(200))
        }

        func localIdentity(ofAdapterAt place: String, orStore proposal: LocalIdentity?) -> LocalIdentity? { proposal }
    }

    private nonisolated(nonsending) static func read(_ writer: LoopBound<BondWriter>) async throws -> [Bond] {
        try await writer.value.read() ?? []
    }

    private nonisolated(nonsending) static func flush(_ writer: LoopBound<BondWriter>) async {
        await writer.value.flush()
    }
}
