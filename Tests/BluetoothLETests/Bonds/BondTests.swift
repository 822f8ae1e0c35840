import BluetoothGATT
import BluetoothManagement
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Bonds that survive links, adapters and programs.
@Suite struct BondTests {
    @Test(
        "a bonded device reconnects encrypted after both programs and kernels have begun anew",
        arguments: [true, false])
    func restart(_ usesSecureConnections: Bool) async throws {
        try await BondFixture.run { fixture in
            let (central, peripheral) = (try await fixture.central.open(), try await fixture.peripheral.open())
            if !usesSecureConnections {
                try await central.setPairingAgent(JustWorksPairingAgent(), secureConnections: .off)
            }
            #expect(await central.bondStatus == .loaded)
            let served = try await peripheral.serve(fixture.base)
            let connection = try await fixture.connect(central)
            #expect(fixture.questions == 2)
            try await fixture.base.settle { await central.bonds().count == 1 }
            try await fixture.base.settle { await peripheral.bonds().count == 1 }
            let bond = try #require(await central.bond(with: BondFixture.peripheralAddress))
            #expect(bond.usesSecureConnections == usesSecureConnections)
            #expect(bond.longTermKeys.count == (usesSecureConnections ? 1 : 2))
            #expect(bond.level == .medium && bond.encryptionKeySize == 16 && !bond.isAuthenticated)
            #expect(bond.time > 1_600_000_000)
            #expect(await peripheral.bond(with: BondFixture.centralAddress)?.longTermKeys.isEmpty == false)
            await connection.disconnect()
            await central.close()
            await peripheral.close()
            withExtendedLifetime(served) {}

            try fixture.central.restart()
            try fixture.peripheral.restart()
            let (second, server) = (try await fixture.central.open(), try await fixture.peripheral.open())
            #expect(await second.bonds() == [bond])
            let servedAgain = try await server.serve(fixture.base)
            let again = try await fixture.connect(second)
            #expect(try await again.security().level == .medium)
            #expect(fixture.questions == 2, "they paired again")
            await again.disconnect()
            try await fixture.base.settle { servedAgain.links.connections.isEmpty }
            await second.close()

            // Without the keys the devices must pair again, which replaces the peripheral's bond.
            try fixture.central.restart()
            try await server.setPairingAgent(JustWorksPairingAgent(replacesBonds: true))
            let stranger = try await fixture.central.open(.store(MemoryBondStore()))
            try await fixture.connect(stranger).disconnect()
            #expect(fixture.questions > 2)
            await stranger.close()
            await server.close()
            withExtendedLifetime(servedAgain) {}
        }
    }

    @Test func anAdapterPluggedInAgainHasItsBonds() async throws {
        try await BondFixture.run { fixture in
            let (central, peripheral) = (try await fixture.central.open(), try await fixture.peripheral.open())
            let served = try await peripheral.serve(fixture.base)
            try await fixture.connect(central).disconnect()
            try await fixture.base.settle { await central.bonds().count == 1 }
            var states = central.states().makeAsyncIterator()
            try fixture.central.restart()
            while try await states.next() != .absent {}
            try await central.ready(timeout: .seconds(5))
            let connection = try await fixture.connect(central)
            #expect(try await connection.security().level == .medium)
            #expect(fixture.questions == 2)
            // Powering off does not remove them.
            try await central.setPowered(false)
            try await central.setPowered(true)
            try await fixture.connect(central).disconnect()
            #expect(fixture.questions == 2)
            await central.close()
            await peripheral.close()
            withExtendedLifetime(served) {}
        }
    }

    @Test func aDeviceWithPrivateAddressesIsBondedByItsIdentity() async throws {
        try await BondFixture.run { fixture in
            let identity = BluetoothAddress(0xC0DE_0000_0001, kind: .random)
            let private1 = BluetoothAddress(0x4000_0000_0011, kind: .random)
            let private2 = BluetoothAddress(0x4000_0000_0022, kind: .random)
            let device = SimulatedPeripheral(
                on: fixture.base.radio, address: private1, gatt: try SimulatedGATTServer([CachingTests.battery]))
            device.setSecurity(SimulatedSecurity(identity: identity))
            let central = try await fixture.central.open()
            let connection = try await fixture.connect(central, to: private1)
            try await fixture.base.settle { await central.bonds().count == 1 }
            let bond = try #require(await central.bonds().first)
            #expect(bond.identity == identity)
            #expect(bond.identityResolvingKey != nil)
            #expect(bond.longTermKeys.map(\.address) == [identity])
            #expect(await connection.identity == identity)
            await connection.disconnect()
            await central.close()
            try fixture.central.restart()
            device.setAdvertisements([SimulatedAdvertisement(address: private2)])
            let second = try await fixture.central.open()
            let again = try await fixture.connect(second, to: identity)
            #expect(try await again.security().level == .medium)
            #expect(fixture.questions == 1)
            await again.disconnect()
            await second.close()
        }
    }

    // MARK: Without loading

    @Test func withoutTheCapabilityNothingIsLoadedAndTheLogSaysSo() async throws {
        let store = MemoryBondStore([BondSamples.bond()], of: BondFixture.centralAddress)
        try await BondFixture.run(centralStore: store) { fixture in
            fixture.central.kernel.setPowered(true, adapter: 0)
            fixture.central.kernel.hasNetAdmin = false
            let log = LogRecorder()
            let adapter = try await Adapter.open(
                configuration: .init(bonds: .store(store), log: log.log), on: fixture.central.kernel)
            #expect(await adapter.bondStatus == .notPermitted)
            let error = await failure { _ = try await adapter.connect(to: BondSamples.peer) }
            #expect(error?.code == .notPermitted)
            #expect(log.lines.contains { $0.contains("the keys of 1 bonds are not loaded") })
            #expect(await adapter.bonds() == [BondSamples.bond()])
            try await adapter.removeBond(with: BondSamples.peer)
            #expect(store.bonds(of: BondFixture.centralAddress).isEmpty)
            await adapter.close()
        }
    }

    @Test func besideTheDaemonKeysAreUntouched() async throws {
        let store = MemoryBondStore([BondSamples.bond()], of: BondFixture.centralAddress)
        try await BondFixture.run(centralStore: store) { fixture in
            // The daemon's bonds.
            let daemon = try await fixture.central.open(.disabled)
            let theirs = [BondSamples.bond(first: 9).longTermKeys[0]]
            try await daemon.sendToManagement(ManagementLoadLongTermKeys(theirs), to: 0)
            fixture.central.kernel.isBluetoothDaemonRunning = true
            let central = try await fixture.central.open()
            #expect(await central.bondStatus == .daemon)
            #expect(fixture.central.kernel.longTermKeys(adapter: 0) == theirs)
            let peripheral = try await fixture.peripheral.open()
            let served = try await peripheral.serve(fixture.base)
            try await fixture.connect(central).disconnect()
            try await fixture.base.settle { await peripheral.bonds().count == 1 }
            #expect(await central.bonds().count == 1, "a bond that the daemon keeps was taken")
            for adapter in [daemon, central, peripheral] { await adapter.close() }
            withExtendedLifetime(served) {}
        }
    }

    @Test func withoutBondStorageNoneAreLoadedOrMade() async throws {
        try await BondFixture.run { fixture in
            let central = try await fixture.central.open(.disabled)
            let peripheral = try await fixture.peripheral.open()
            let served = try await peripheral.serve(fixture.base)
            let connection = try await fixture.connect(central)
            try await fixture.base.settle { await peripheral.bonds().count == 1 }
            #expect(await central.bonds().isEmpty)
            #expect(await central.bondStatus == .disabled)
            await connection.disconnect()
            await central.close()
            await peripheral.close()
            withExtendedLifetime(served) {}
        }
    }

    // MARK: Removing

    @Test func aRemovedBondEndsTheLinkAndIsDeletedEverywhere() async throws {
        try await BondFixture.run { fixture in
            let (central, peripheral) = (try await fixture.central.open(), try await fixture.peripheral.open())
            let served = try await peripheral.serve(fixture.base)
            let connection = try await fixture.connect(central)
            try await fixture.base.settle { await central.bonds().count == 1 }
            let changes = await central.bondChanges()
            let key = AttributeCacheKey(adapter: BondFixture.centralAddress, peer: BondFixture.peripheralAddress)
            _ = try await connection.discover()
            try await fixture.base.settle { await central.session.attributeCache?.database(for: key) != nil }
            try await central.removeBond(with: BondFixture.peripheralAddress)
            _ = await connection.disconnected()
            var iterator = changes.makeAsyncIterator()
            #expect(try await iterator.next()?.removed == BondFixture.peripheralAddress)
            #expect(await central.bonds().isEmpty)
            #expect(fixture.central.kernel.longTermKeys(adapter: 0).isEmpty)
            #expect(try await fixture.central.store.bonds(of: BondFixture.centralAddress).isEmpty)
            #expect(await central.session.attributeCache?.database(for: key) == nil)
            // A second removal is no error.
            try await central.removeBond(with: BondFixture.peripheralAddress)
            // While the adapter is off as well.
            try await central.setBond(BondSamples.bond())
            try await central.setPowered(false)
            try await central.removeBond(with: BondSamples.peer)
            #expect(fixture.central.kernel.longTermKeys(adapter: 0).isEmpty)
            await central.close()
            await peripheral.close()
            withExtendedLifetime(served) {}
        }
    }

    @Test func aBondIsTheStoresAndTheKeysAreAllPrograms() async throws {
        let store = MemoryBondStore([BondSamples.bond()], of: BondFixture.centralAddress)
        try await BondFixture.run(centralStore: store) { fixture in
            let central = try await fixture.central.open()
            let (same, other) = (try await fixture.central.open(), try await fixture.central.open(.disabled))
            let keys = BondSamples.bond().longTermKeys
            try await other.sendToManagement(ManagementLoadLongTermKeys(keys), to: 0)
            // Another program makes the kernel forget the device.
            try await other.sendToManagement(
                ManagementUnpairDevice(ManagementAddress(BondSamples.peer), disconnect: true), to: 0)
            try await fixture.base.radio.sleep(for: .seconds(1))
            #expect(await central.bonds().count == 1)
            #expect(store.bonds(of: BondFixture.centralAddress).count == 1)
            // Another one removes the bond that the two share.
            try await other.sendToManagement(ManagementLoadLongTermKeys(keys), to: 0)
            try await same.removeBond(with: BondSamples.peer)
            try await fixture.base.settle { await central.bonds().isEmpty }
            for adapter in [central, same, other] { await adapter.close() }
        }
    }

    // MARK: Failing stores

    @Test func aBondThatCannotBeStoredLastsUntilTheProgramEnds() async throws {
        let store = FailingStore()
        try await BondFixture.run(centralStore: store) { fixture in
            let log = LogRecorder()
            let central = try await fixture.central.open(log: log)
            let peripheral = try await fixture.peripheral.open()
            let served = try await peripheral.serve(fixture.base)
            let changes = await central.bondChanges()
            var iterator = changes.makeAsyncIterator()
            try await fixture.connect(central).disconnect()
            guard let (bond, reason) = try await iterator.next()?.notStored, reason == store.error else {
                Issue.record("no change reported the unsaved bond")
                return
            }
            #expect(log.lines.contains { $0.contains("ends with this program") && $0.contains("disk is full") })
            // The bond remains in use, even after hotplug.
            var states = central.states().makeAsyncIterator()
            try fixture.central.restart()
            while try await states.next() != .absent {}
            try await central.ready(timeout: .seconds(5))
            #expect(await central.bonds() == [bond])
            try await fixture.connect(central).disconnect()
            #expect(fixture.questions == 2)
            guard let (used, again) = try await iterator.next()?.notStored, again == store.error, used.wasUsedAgain
            else {
                Issue.record("no change reported the use of the bond")
                return
            }
            // The next change stores it, once there is room.
            store.isFull.withLock { $0 = false }
            var renamed = used
            renamed.name = "kept"
            try await central.setBond(renamed)
            #expect(try await iterator.next()?.stored == renamed)
            #expect(store.memory.bonds(of: BondFixture.centralAddress) == [renamed])
            await central.close()
            await peripheral.close()
            withExtendedLifetime(served) {}
        }
    }

    @Test func aPrivateAddressIsNoIdentity() async throws {
        try await BondFixture.run { fixture in
            let central = try await fixture.central.open()
            let error = await failure {
                try await central.setBond(Bond(identity: BluetoothAddress(0x4000_0000_0001, kind: .random)))
            }
            #expect(error?.code == .invalidArgument)
            await central.close()
        }
    }
}
