import TestSupport
import Testing

@testable import BluetoothLE

/// The kernel's keys when the store cannot be read or written.
@Suite struct FailingStoreTests {
    /// Runs `body` with a bonded central whose store can be made to fail.
    private static func run(
        _ body: @escaping @Sendable (BondFixture, Adapter, FailingStore) async throws -> Void
    ) async throws {
        let store = FailingStore(isFull: false)
        try await BondFixture.run(centralStore: store) { fixture in
            let (central, peripheral) = (try await fixture.central.open(), try await fixture.peripheral.open())
            let served = try await peripheral.serve(fixture.base)
            try await fixture.connect(central).disconnect()
            try await fixture.base.settle { await central.bonds().count == 1 }
            await central.session.flushBonds()
            #expect(fixture.central.kernel.longTermKeys(adapter: 0).count == 1)
            try await body(fixture, central, store)
            await peripheral.close()
            withExtendedLifetime(served) {}
        }
    }

    @Test func aRemovedDeviceIsForgottenByTheKernelThoughItsFileStays() async throws {
        try await Self.run { fixture, central, store in
            store.isFull.withLock { $0 = true }
            let error = await failure { try await central.removeBond(with: BondFixture.peripheralAddress) }
            #expect(error?.code == .storageFailed)
            try await fixture.base.settle { fixture.central.kernel.longTermKeys(adapter: 0).isEmpty }
            await central.close()
        }
    }

    @Test func aRemovalWhoseTaskIsCancelledCompletes() async throws {
        try await Self.run { fixture, central, store in
            let removal = fixture.base.begin {
                withUnsafeCurrentTask { $0?.cancel() }
                try await central.removeBond(with: BondFixture.peripheralAddress)
            }
            #expect(await failure { try await removal.value }?.code == .cancelled)
            try await fixture.base.settle { fixture.central.kernel.longTermKeys(adapter: 0).isEmpty }
            await central.session.flushBonds()
            #expect(store.memory.bonds(of: BondFixture.centralAddress).isEmpty)
            await central.close()
        }
    }

    @Test func anUnreadableStoreLeavesTheKernelsKeys() async throws {
        try await Self.run { fixture, central, store in
            await central.close()
            store.isUnreadable.withLock { $0 = true }
            let second = try await fixture.central.open()
            #expect(await second.bondStatus.failure != nil)
            #expect(fixture.central.kernel.longTermKeys(adapter: 0).count == 1)
            // Whether the device is bonded is not known.
            let peer = BondFixture.peripheralAddress
            let error = await failure { _ = try await second.connect(to: peer) }
            #expect(error?.code == .storageFailed)
            #expect(error?.remedy?.contains("leavesBondedLinksUnencrypted") == true)
            try await second.connect(to: peer, options: .unencrypted).disconnect()
            store.isUnreadable.withLock { $0 = false }
            try await fixture.connect(second).disconnect()
            #expect(fixture.questions == 2, "they paired again")
            await second.close()
        }
    }

    @Test func aKeyOfASizeThatCannotBeIsAMistake() async throws {
        try await Self.run { fixture, central, _ in
            var bond = try #require(await central.bond(with: BondFixture.peripheralAddress))
            let good = bond
            bond.longTermKeys[0].encryptionSize = 17
            let impossible = bond
            let error = await failure { try await central.setBond(impossible) }
            #expect(error?.code == .invalidArgument)
            #expect(await central.bond(with: BondFixture.peripheralAddress) == good)
            await central.close()
        }
    }
}

extension AdapterSession {
    /// Waits until all changes are written.
    fileprivate func flushBonds() async { await bondManager.flush() }
}
