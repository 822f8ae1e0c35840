import TestSupport
import Testing

@testable import BluetoothLE

/// What keys the kernel has when the store cannot be read or written.
@Suite struct FailingStoreTests {
    /// Runs `body` with a bonded central whose store may be made to fail.
    private static func run(
        _ body: @escaping @Sendable (BondStory, Adapter, FailingStore) async throws -> Void
    ) async throws {
        let store = FailingStore(isFull: false)
        try await BondStory.run(centralStore: store) { story in
            let (central, peripheral) = (try await story.central.open(), try await story.peripheral.open())
            let served = try await peripheral.serve(story.story)
            try await story.connect(central).disconnect()
            try await story.story.settle { await central.bonds().count == 1 }
            await central.session.flushBonds()
            #expect(story.central.kernel.longTermKeys(adapter: 0).count == 1)
            try await body(story, central, store)
            await peripheral.close()
            withExtendedLifetime(served) {}
        }
    }

    @Test func aRemovedDeviceIsForgottenByTheKernelThoughItsFileStays() async throws {
        try await Self.run { story, central, store in
            store.isFull.withLock { $0 = true }
            let error = await failure { try await central.removeBond(with: BondStory.peripheralAddress) }
            #expect(error?.code == .storageFailed)
            try await story.story.settle { story.central.kernel.longTermKeys(adapter: 0).isEmpty }
            await central.close()
        }
    }

    @Test func aRemovalWhoseTaskIsCancelledIsDoneAllTheSame() async throws {
        try await Self.run { story, central, store in
            let removal = story.story.begin {
                withUnsafeCurrentTask { $0?.cancel() }
                try await central.removeBond(with: BondStory.peripheralAddress)
            }
            #expect(await failure { try await removal.value }?.code == .cancelled)
            try await story.story.settle { story.central.kernel.longTermKeys(adapter: 0).isEmpty }
            await central.session.flushBonds()
            #expect(store.memory.bonds(of: BondStory.centralAddress).isEmpty)
            await central.close()
        }
    }

    @Test func aStoreThatCannotBeReadLeavesTheKernelItsKeys() async throws {
        try await Self.run { story, central, store in
            await central.close()
            store.isFull.withLock { $0 = true }
            let second = try await story.central.open()
            guard case .failed = await second.bondStanding else {
                Issue.record("the bonds were read")
                return
            }
            #expect(story.central.kernel.longTermKeys(adapter: 0).count == 1)
            try await story.connect(second).disconnect()
            #expect(story.questions == 2, "they paired again")
            await second.close()
        }
    }

    @Test func aKeyOfASizeThatCannotBeIsAMistake() async throws {
        try await Self.run { story, central, _ in
            var bond = try #require(await central.bond(with: BondStory.peripheralAddress))
            let good = bond
            bond.longTermKeys[0].encryptionSize = 17
            let impossible = bond
            let error = await failure { try await central.setBond(impossible) }
            #expect(error?.code == .invalidArgument)
            #expect(await central.bond(with: BondStory.peripheralAddress) == good)
            await central.close()
        }
    }
}

extension AdapterSession {
    /// Waits until what has changed is written.
    fileprivate func flushBonds() async { await bondKeeper.value.flush() }
}
