import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Private addresses of this machine, which devices with its key resolve.
@Suite struct OwnPrivacyTests {
    /// Opens a machine's adapter, with an agent that accepts Just Works.
    private static func open(
        _ machine: BondFixture.Machine, _ privacy: PrivacyMode?, log: LogRecorder = LogRecorder()
    ) async throws -> Adapter {
        let adapter = try await Adapter.open(
            .address(machine.address), power: .powerOn,
            configuration: .init(bonds: .store(machine.store), privacy: privacy, log: log.log), on: machine.kernel)
        try await adapter.setPairingAgent(JustWorksPairingAgent())
        return adapter
    }

    @Test func aPeripheralIsRecognisedOnlyByBondedDevices() async throws {
        try await BondFixture.run(limit: .seconds(3000)) { fixture in
            let peripheral = try await Self.open(fixture.peripheral, .on)
            #expect(peripheral.information.usesPrivateAddresses)
            #expect(peripheral.information.address == BondFixture.peripheralAddress)
            let central = try await Self.open(fixture.central, nil)
            #expect(!central.information.usesPrivateAddresses)
            let served = try await peripheral.serve(fixture.base)
            let stranger = try await central.firstAdvertisement(timeout: .seconds(5))
            let first = try #require(stranger.address)
            #expect(first.randomKind == .resolvablePrivate && stranger.privateAddress == nil)
            let connection = try await fixture.connect(central, to: first)
            try await fixture.base.settle { await central.bond(with: BondFixture.peripheralAddress) != nil }
            #expect(await connection.identity == BondFixture.peripheralAddress)
            await connection.disconnect()
            try await fixture.base.settle { served.links.connections.isEmpty }
            // A new address after a quarter of an hour, and after each power cycle.
            var seen: Set<BluetoothAddress> = [first]
            var again: AdvertisingSet?
            for round in 0..<3 {
                if round < 2 {
                    try await fixture.base.radio.sleep(for: .seconds(901))
                } else {
                    try await peripheral.setPowered(false)
                    try await peripheral.setPowered(true)
                    again = try await peripheral.advertise(AdvertisementContent(localName: "served"))
                }
                let heard = try await central.firstAdvertisement(timeout: .seconds(30))
                #expect(heard.address == BondFixture.peripheralAddress)
                seen.insert(try #require(heard.privateAddress))
            }
            #expect(seen.count == 4 && !seen.contains(BondFixture.peripheralAddress))
            let questions = fixture.questions
            let second = try await fixture.connect(central, to: BondFixture.peripheralAddress)
            #expect(try await second.security().level == .medium)
            #expect(fixture.questions == questions)
            await second.disconnect()
            await central.close()
            await peripheral.close()
            withExtendedLifetime((served, again)) {}
        }
    }

    @Test func aCentralIsRecognisedAfterARestart() async throws {
        try await BondFixture.run { fixture in
            let peripheral = try await Self.open(fixture.peripheral, nil)
            let served = try await peripheral.serve(fixture.base)
            var peers: Set<BluetoothAddress> = []
            var questions = 0
            for round in 0..<3 {
                let central = try await Self.open(fixture.central, .on)
                let connection = try await fixture.connect(central)
                try await fixture.base.settle { !served.links.connections.isEmpty }
                let other = try #require(served.links.connections.first)
                peers.insert(other.peer)
                if round == 0 { questions = fixture.questions }
                try await fixture.base.settle { await peripheral.bonds().count == 1 }
                #expect(await peripheral.bonds().map(\.identity) == [BondFixture.centralAddress])
                #expect(await other.identity == BondFixture.centralAddress)
                #expect(try await connection.security().level == .medium)
                await connection.disconnect()
                try await fixture.base.settle { served.links.connections.isEmpty }
                await central.close()
                try fixture.central.restart()
            }
            #expect(fixture.questions == questions, "they paired again")
            // Unknown at first, and recognised by its identity after that.
            #expect(peers.contains(BondFixture.centralAddress) && peers.count == 2)
            await peripheral.close()
        }
    }

    @Test func aBondedDeviceResolvesTheCentralsNextAddress() async throws {
        try await BondFixture.run { fixture in
            let device = SimulatedPeripheral(
                on: fixture.base.radio, gatt: try SimulatedGATTServer([CachingTests.battery]))
            device.setSecurity(SimulatedSecurity())
            for _ in 0..<2 {
                let central = try await Self.open(fixture.central, .on)
                let connection = try await fixture.connect(central, to: device.address)
                #expect(device.links.first?.peer.randomKind == .resolvablePrivate)
                await connection.disconnect()
                try await fixture.base.settle { device.links.isEmpty }
                await central.close()
                try fixture.central.restart()
            }
            #expect(fixture.questions == 1)
        }
    }

    @Test func privacyIsChangedOnlyIfTheAdapterMayBePoweredOff() async throws {
        try await Fixture.run { fixture in
            let error = await failure {
                _ = try await Adapter.open(configuration: .init(privacy: .on), on: fixture.kernel)
            }
            #expect(error?.code == .busy)
            #expect(error?.remedy?.contains("power off") == true)
            let hidden = try await Adapter.open(power: .powerOn, configuration: .init(privacy: .on), on: fixture.kernel)
            #expect(hidden.information.usesPrivateAddresses && hidden.state == .poweredOn)
            // No request and the same request both leave the setting unchanged.
            for privacy in [nil, PrivacyMode.on] {
                let other = try await Adapter.open(
                    power: .powerOn, configuration: .init(privacy: privacy), on: fixture.kernel)
                #expect(other.information.usesPrivateAddresses)
                #expect(hidden.state == .poweredOn)
                await other.close()
            }
            let open = try await Adapter.open(power: .powerOn, configuration: .init(privacy: .off), on: fixture.kernel)
            #expect(!open.information.usesPrivateAddresses)
        }
    }

    @Test func anAdapterIsPoweredOnAgainWhenPrivacyFails() async throws {
        try await Fixture.run { fixture in
            func isUp() throws -> Bool? { try fixture.kernel.adapters().first?.isUp }
            fixture.kernel.setRefusal(.failed, of: .setPrivacy)
            let refused = await failure {
                _ = try await Adapter.open(power: .powerOn, configuration: .init(privacy: .on), on: fixture.kernel)
            }
            #expect(refused != nil)
            #expect(try isUp() == true)
            fixture.kernel.setRefusal(nil, of: .setPrivacy)
            fixture.kernel.setSilent(true, for: .setPrivacy)
            let opening = fixture.begin {
                try await Adapter.open(power: .powerOn, configuration: .init(privacy: .on), on: fixture.kernel)
            }
            try await fixture.radio.sleep(for: .seconds(2))
            #expect(try isUp() == false)
            opening.cancel()
            let cancelled = await failure { _ = try await opening.value }
            #expect(cancelled?.code == .cancelled)
            #expect(try isUp() == true)
        }
    }

    @Test func privacyIsRestoredAfterHotplug() async throws {
        try await BondFixture.run { fixture in
            let adapter = try await Self.open(fixture.central, .on)
            try fixture.central.restart()
            try await fixture.base.settle { adapter.state == .absent || adapter.state == .poweredOn }
            try await adapter.ready(timeout: .seconds(30))
            try await fixture.base.settle { adapter.information.usesPrivateAddresses }
            await adapter.close()
        }
    }

    @Test func aScanUsesANonResolvableAddress() async throws {
        try await BondFixture.run(limit: .seconds(3000)) { fixture in
            _ = SimulatedPeripheral(on: fixture.base.radio)
            let log = LogRecorder()
            let adapter = try await Self.open(fixture.central, .on, log: log)
            let scan = try await adapter.scan(ScanOptions(isActive: true, duplicates: .all))
            let task = fixture.base.begin {
                var count = 0
                var iterator = scan.makeAsyncIterator()
                while (try? await iterator.next()) != nil { count += 1 }
                return count
            }
            try await fixture.base.radio.sleep(for: .seconds(2000))
            await adapter.close()
            #expect(try await task.value > 1000)
            let addresses = log.lines.filter { $0.hasPrefix("HCI → LE Set Random Address") }
            #expect(addresses.count == 3 && Set(addresses).count == 3, "\(addresses)")
        }
    }
}
