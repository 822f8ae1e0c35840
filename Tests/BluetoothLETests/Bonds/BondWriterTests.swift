import BluetoothLoop
import BluetoothSimulation
import Logging
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct BondWriterTests {
    /// Of the changes of a bond that wait, the last is written.
    @Test func theLastChangeOfABondIsWritten() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        try await radio.run {
            let store = MemoryBondStore()
            let bonds = (1...3).map { BondSamples.bond(BluetoothAddress(0xC098_E512_3450 + $0, kind: .random)) }
            for bond in bonds { store.save(bond, of: .zero) }
            let writer = await radio.loop.run {
                let writer = BondWriter(store, on: radio.loop, log: Logger(label: "test"))
                for bond in bonds { writer.write(bond, of: bond.identity, isUpdate: false) }
                writer.write(nil, of: bonds[0].identity, isUpdate: false)
                return LoopBound(writer, on: radio.loop)
            }
            await withTaskExecutorPreference(radio.loop) { await Self.writeAll(writer) }
            #expect(store.bonds(of: .zero).map(\.identity).sorted() == bonds[1...].map(\.identity))
        }
    }

    /// What a reading began with is older than what is written meanwhile.
    @Test func aReadingKeepsWhatChangesMeanwhile() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        try await radio.run {
            let bonds = (1...4).map { BondSamples.bond(BluetoothAddress(0xC098_E512_3450 + $0, kind: .random)) }
            let store = LateStore(bonds: Array(bonds[..<2]), on: radio.loop)
            let writer = await radio.loop.run {
                let writer = BondWriter(store, on: radio.loop, log: Logger(label: "test"))
                // One is being removed, and one being written.
                writer.write(nil, of: bonds[0].identity, isUpdate: false)
                writer.write(bonds[2], of: bonds[2].identity, isUpdate: false)
                return LoopBound(writer, on: radio.loop)
            }
            let writing = Task(executorPreference: radio.loop) { await Self.writeAll(writer) }
            let reading = Task(executorPreference: radio.loop) { try await Self.read(writer) }
            try await radio.sleep(for: .milliseconds(500))
            // And another one, before the store answers.
            await radio.loop.run {
                writer.value.write(bonds[3], of: bonds[3].identity, isUpdate: false)
            }
            let read = try await reading.value
            #expect(read.bonds.map(\.identity) == [bonds[1].identity])
            #expect(read.own == Set([0, 2, 3].map { bonds[$0].identity }))
            await writing.value
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

    private nonisolated(nonsending) static func read(
        _ writer: LoopBound<BondWriter>
    ) async throws -> (bonds: [Bond], own: Set<BluetoothAddress>) {
        try #require(try await writer.value.read())
    }

    private nonisolated(nonsending) static func writeAll(_ writer: LoopBound<BondWriter>) async {
        while await writer.value.next() != nil {}
    }
}
