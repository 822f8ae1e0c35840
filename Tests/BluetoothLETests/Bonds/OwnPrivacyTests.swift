import SimulatedKernel
import TestSupport
import Testing

@testable import BluetoothLE

/// This machine hides behind addresses that change, and whom it has told its key knows it all the same.
@Suite struct OwnPrivacyTests {
    /// Opens a machine's adapter, which answers Just Works.
    private static func open(
        _ machine: BondStory.Machine, _ privacy: PrivacyMode?, log: LogRecorder = LogRecorder()
    ) async throws -> Adapter {
        let adapter = try await Adapter.open(
            .address(machine.address), power: .powerOn, bonds: .store(machine.store), privacy: privacy,
            on: machine.kernel, log: log.log)
        try await adapter.setPairingAgent(JustWorksPairingAgent())
        return adapter
    }

    @Test func aPeripheralIsKnownOnlyToThoseItWasPairedWith() async throws {
        try await BondStory.run(limit: .seconds(3000)) { story in
            let peripheral = try await Self.open(story.peripheral, .on)
            #expect(peripheral.information.usesPrivateAddresses)
            #expect(peripheral.information.address == BondStory.peripheralAddress)
            let central = try await Self.open(story.central, nil)
            #expect(!central.information.usesPrivateAddresses)
            let served = try await peripheral.serve(story.story)
            let stranger = try await central.first(timeout: .seconds(5))
            let first = try #require(stranger.address)
            #expect(first.randomKind == .resolvablePrivate && stranger.privateAddress == nil)
            let connection = try await story.connect(central, to: first)
            try await story.story.settle { await central.bond(with: BondStory.peripheralAddress) != nil }
            #expect(await connection.identity == BondStory.peripheralAddress)
            await connection.disconnect()
            try await story.story.settle { served.links.connections.isEmpty }
            // Another address, a quarter of an hour later and after each time the adapter was off.
            var seen: Set<BluetoothAddress> = [first]
            var again: AdvertisingSet?
            for round in 0..<3 {
                if round < 2 {
                    try await story.story.radio.sleep(for: .seconds(901))
                } else {
                    try await peripheral.setPowered(false)
                    try await peripheral.setPowered(true)
                    again = try await peripheral.advertise(AdvertisementContent(localName: "served"))
                }
                let heard = try await central.first(timeout: .seconds(30))
                #expect(heard.address == BondStory.peripheralAddress)
                seen.insert(try #require(heard.privateAddress))
            }
            #expect(seen.count == 4 && !seen.contains(BondStory.peripheralAddress))
            let questions = story.questions
            let second = try await story.connect(central, to: BondStory.peripheralAddress)
            #expect(try await second.security().level == .medium)
            #expect(story.questions == questions)
            await second.disconnect()
            await central.close()
            await peripheral.close()
            withExtendedLifetime((served, again)) {}
        }
    }

    @Test func aCentralIsKnownAgainAfterARestart() async throws {
        try await BondStory.run { story in
            let peripheral = try await Self.open(story.peripheral, nil)
            let served = try await peripheral.serve(story.story)
            var peers: Set<BluetoothAddress> = []
            var questions = 0
            for round in 0..<3 {
                let central = try await Self.open(story.central, .on)
                let connection = try await story.connect(central)
                try await story.story.settle { !served.links.connections.isEmpty }
                let other = try #require(served.links.connections.first)
                peers.insert(other.peer)
                if round == 0 { questions = story.questions }
                try await story.story.settle { await peripheral.bonds().count == 1 }
                #expect(await peripheral.bonds().map(\.identity) == [BondStory.centralAddress])
                #expect(await other.identity == BondStory.centralAddress)
                #expect(try await connection.security().level == .medium)
                await connection.disconnect()
                try await story.story.settle { served.links.connections.isEmpty }
                await central.close()
                try story.central.restart()
            }
            #expect(story.questions == questions, "they paired again")
            // A stranger at first, and by its identity from then on.
            #expect(peers.contains(BondStory.centralAddress) && peers.count == 2)
            await peripheral.close()
        }
    }

    @Test func aDevicePairedWithKnowsTheCentralBehindItsNextAddress() async throws {
        try await BondStory.run { story in
            let device = SimulatedPeripheral(
                on: story.story.radio, gatt: try SimulatedGATTServer([CachingTests.battery]))
            device.setSecurity(SimulatedSecurity())
            for _ in 0..<2 {
                let central = try await Self.open(story.central, .on)
                let connection = try await story.connect(central, to: device.address)
                #expect(device.links.first?.peer.randomKind == .resolvablePrivate)
                await connection.disconnect()
                try await story.story.settle { device.links.isEmpty }
                await central.close()
                try story.central.restart()
            }
            #expect(story.questions == 1)
        }
    }

    @Test func privacyIsChangedOnlyWhereTheAdapterMayBeSwitchedOff() async throws {
        try await Story.run { story in
            let error = await failure { _ = try await Adapter.open(privacy: .on, on: story.kernel) }
            #expect(error?.code == .busy)
            #expect(error?.remedy?.contains("power off") == true)
            let hidden = try await Adapter.open(power: .powerOn, privacy: .on, on: story.kernel)
            #expect(hidden.information.usesPrivateAddresses && hidden.state == .poweredOn)
            // Who says nothing leaves it, and who wants the same does not disturb.
            for privacy in [nil, PrivacyMode.on] {
                let other = try await Adapter.open(power: .powerOn, privacy: privacy, on: story.kernel)
                #expect(other.information.usesPrivateAddresses)
                #expect(hidden.state == .poweredOn)
                await other.close()
            }
            let open = try await Adapter.open(power: .powerOn, privacy: .off, on: story.kernel)
            #expect(!open.information.usesPrivateAddresses)
        }
    }

    @Test func anAdapterThatWasOnIsOnAgainWhenItCannotHide() async throws {
        try await Story.run { story in
            func isUp() throws -> Bool? { try story.kernel.adapters().first?.isUp }
            story.kernel.setRefusal(.failed, of: .setPrivacy)
            let refused = await failure {
                _ = try await Adapter.open(power: .powerOn, privacy: .on, on: story.kernel)
            }
            #expect(refused != nil)
            #expect(try isUp() == true)
            story.kernel.setRefusal(nil, of: .setPrivacy)
            story.kernel.setSilent(true, for: .setPrivacy)
            let opening = story.begin {
                try await Adapter.open(power: .powerOn, privacy: .on, on: story.kernel)
            }
            try await story.radio.sleep(for: .seconds(2))
            #expect(try isUp() == false)
            opening.cancel()
            let cancelled = await failure { _ = try await opening.value }
            #expect(cancelled?.code == .cancelled)
            #expect(try isUp() == true)
        }
    }

    @Test func anAdapterThatIsPluggedInAgainHidesAgain() async throws {
        try await BondStory.run { story in
            let adapter = try await Self.open(story.central, .on)
            try story.central.restart()
            try await story.story.settle { adapter.state == .absent || adapter.state == .poweredOn }
            try await adapter.ready(timeout: .seconds(30))
            try await story.story.settle { adapter.information.usesPrivateAddresses }
            await adapter.close()
        }
    }

    @Test func aScanAsksWithAnAddressThatIsNobodys() async throws {
        try await BondStory.run(limit: .seconds(3000)) { story in
            _ = SimulatedPeripheral(on: story.story.radio)
            let log = LogRecorder()
            let adapter = try await Self.open(story.central, .on, log: log)
            let scan = try await adapter.scan(ScanOptions(isActive: true, duplicates: .all))
            let task = story.story.begin {
                var count = 0
                var iterator = scan.makeAsyncIterator()
                while (try? await iterator.next()) != nil { count += 1 }
                return count
            }
            try await story.story.radio.sleep(for: .seconds(2000))
            await adapter.close()
            #expect(try await task.value > 1000)
            let addresses = log.lines.filter { $0.hasPrefix("HCI → LE Set Random Address") }
            #expect(addresses.count == 3 && Set(addresses).count == 3, "\(addresses)")
        }
    }
}
