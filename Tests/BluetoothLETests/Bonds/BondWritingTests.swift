import BluetoothHost
import BluetoothLoop
import BluetoothSimulation
import Logging
import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct BondWritingTests {
    /// Of the changes of a bond that wait, the last is written.
    @Test func theLastChangeOfABondIsWritten() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        try await radio.run {
            let store = MemoryBondStore()
            let bonds = (1...3).map { BondSamples.bond(BluetoothAddress(0xC098_E512_3450 + $0, kind: .random)) }
            let manager = await radio.loop.run {
                let manager = Self.manager(store, on: radio.loop)
                for bond in bonds { manager.add(bond) }
                manager.displace(bonds[0], by: bonds[1].identity)
                return LoopBound(manager, on: radio.loop)
            }
            await Task(executorPreference: radio.loop) { await Self.flush(manager) }.value
            #expect(store.bonds(of: .zero).map(\.identity).sorted() == bonds[1...].map(\.identity))
        }
    }

    /// What a reading began with is older than what is written meanwhile.
    @Test func aReadingKeepsWhatChangesMeanwhile() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        try await radio.run {
            let bonds = (1...4).map { BondSamples.bond(BluetoothAddress(0xC098_E512_3450 + $0, kind: .random)) }
            let store = LateStore(bonds: Array(bonds[..<2]), on: radio.loop)
            let manager = await radio.loop.run {
                let manager = Self.manager(store, on: radio.loop)
                // One is being removed, and one being written.
                manager.add(bonds[0])
                manager.displace(bonds[0], by: bonds[2].identity)
                manager.add(bonds[2])
                return LoopBound(manager, on: radio.loop)
            }
            let reading = Task(executorPreference: radio.loop) { await Self.read(manager, on: radio.loop) }
            try await radio.sleep(for: .milliseconds(500))
            // And another one, before the store answers.
            await radio.loop.run { manager.value.add(bonds[3]) }
            await reading.value
            #expect(await radio.loop.run { manager.value.bonds.map(\.identity) } == bonds[1...].map(\.identity))
        }
    }

    private static func manager(_ store: any BondStore, on loop: EventLoop) -> BondManager {
        BondManager(store, ScriptedPairing(ScriptedHost(on: loop)), on: loop, log: Logger(label: "test"))
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

    private nonisolated(nonsending) static func read(_ manager: LoopBound<BondManager>, on loop: EventLoop) async {
        await manager.value.prepare(ScriptedHost(on: loop).adapterInformation)
    }

    private nonisolated(nonsending) static func flush(_ manager: LoopBound<BondManager>) async {
        await manager.value.flush()
    }
}
