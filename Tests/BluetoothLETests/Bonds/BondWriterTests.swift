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

    private nonisolated(nonsending) static func flush(_ writer: LoopBound<BondWriter>) async {
        await writer.value.flush()
    }
}
