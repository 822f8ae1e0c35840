import BluetoothGATT
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothGateway
@testable import BluetoothLE

/// A group, and a device that is a complete stack as well: its bond, its pairing and what it is served stay with an adapter.
@Suite struct GroupBondTests {
    /// A machine that advertises, and has a value for encrypted links.
    private struct Device {
        static let name = "bonded"
        static let service: BluetoothUUID = 0xFFF0
        static let value: BluetoothUUID = 0xFFF1

        let adapter: Adapter
        let links: IncomingConnections
        var advertising: AdvertisingSet?

        /// The address that a bond is stored under.
        var identity: BluetoothAddress { adapter.information.address }

        init(_ base: Fixture, _ privacy: PrivacyMode?) async throws {
            let address = BluetoothAddress(0x00AA_0100_00B2, kind: .public)
            let kernel = base.radio.makeKernel(adapters: [SimulatedController(address: address)])
            adapter = try await Adapter.open(
                power: .powerOn, configuration: .init(bonds: .store(MemoryBondStore()), privacy: privacy), on: kernel)
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            try await adapter.publish([
                GATTService(
                    Self.service,
                    characteristics: [
                        GATTCharacteristic(
                            Self.value, properties: [.read], permissions: [.read, .readEncrypted], value: .stored([7]))
                    ])
            ])
            links = try await adapter.incomingConnections()
        }

        mutating func appear() async throws {
            advertising = try await adapter.advertise(AdvertisementContent(localName: Self.name))
        }

        mutating func leave() async {
            await advertising?.close()
            advertising = nil
        }
    }

    /// Opens adapters of the machine, the second of which receives everything 20 dB weaker, with the same bonds.
    private static func open(_ base: Fixture, _ indices: [UInt16], _ store: MemoryBondStore) async throws -> [Adapter] {
        var adapters: [Adapter] = []
        for index in indices {
            let adapter = try await Adapter.open(
                .index(index), power: .powerOn, configuration: .init(bonds: .store(store)), on: base.kernel)
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            adapters.append(adapter)
        }
        return adapters
    }

    private static func run(_ body: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        let controllers = ([0, -20] as [Int8]).map { gain in
            var controller = SimulatedController()
            controller.receiverGain = gain
            return controller
        }
        try await Fixture.run(controllers, limit: .seconds(3600), body)
    }

    @Test(arguments: [nil, PrivacyMode.on])
    func aBondedDeviceStaysWithItsAdapterAlthoughAnotherReceivesItBetter(_ privacy: PrivacyMode?) async throws {
        try await Self.run { base in
            let store = MemoryBondStore()
            var device = try await Device(base, privacy)
            try await device.appear()
            let weak = try await Self.open(base, [1], store)[0]
            let first = try await weak.connect { $0.localName == Device.name }
            #expect(try await first.pair().isBonded)
            await first.disconnect()
            await weak.close()
            await device.leave()
            try await base.radio.sleep(for: .seconds(60))

            let adapters = try await Self.open(base, [0, 1], store)
            let fixture = GroupFixture(base: base, adapters: adapters, group: try await AdapterGroup(adapters))
            try await device.appear()
            let identity = device.identity
            #expect(await adapters[0].bond(with: identity) == nil)
            #expect(await adapters[1].bond(with: identity) != nil)
            var best: String?
            for try await found in try await fixture.group.scan(ScanOptions(duplicates: .all))
            where found.address == identity && found.signals.count == 2 {
                best = found.signals.first?.adapter
                break
            }
            #expect(best == "hci0")
            for _ in 0..<2 {
                let connection = try await fixture.group.connect(to: identity)
                #expect(await connection.adapterName == "hci1")
                // With the keys of the bond, without pairing again.
                #expect(try await connection.read(Device.value, in: Device.service) == [7])
                #expect(await adapters[0].bond(with: identity) == nil)
                await connection.disconnect()
            }
            // Its adapter is waited for, and no other one takes its place.
            try await adapters[1].setPowered(false)
            let error = await failure { _ = try await fixture.group.connect(to: identity) }
            #expect(error?.code == .adapterOff)
            #expect(error?.message.contains("The bond with the device is one of hci1") == true)
            let waiter = base.begin {
                try await fixture.group.connect(
                    to: identity, options: ConnectionOptions(timeout: .seconds(60), waitsForAdapter: true))
            }
            try await base.radio.sleep(for: .seconds(20))
            #expect(device.links.connections.isEmpty)
            try await adapters[1].setPowered(true)
            #expect(await (try waiter.value).adapterName == "hci1")
            await fixture.group.close()
            for adapter in adapters + [device.adapter] { await adapter.close() }
        }
    }

    @Test(arguments: 0...1)
    func pairingAndServingConcernTheAdapterOfTheLink(_ number: Int) async throws {
        try await Self.run { base in
            var device = try await Device(base, nil)
            try await device.appear()
            let adapters = try await Self.open(base, [0, 1], MemoryBondStore())
            let group = try await AdapterGroup(adapters)
            let other = 1 - number
            base.radio.setInRange(false, adapters[other].information.address, device.identity)
            try await adapters[number].publish([GATTService(0xFFE0, characteristics: [])])
            try await adapters[other].publish([GATTService(0xFFE1, characteristics: [])])
            let connection = try await group.connect(to: device.identity)
            #expect(await connection.adapterName == "hci\(number)")
            #expect(try await connection.pair().isBonded)
            #expect(await adapters[number].bond(with: device.identity) != nil)
            #expect(await adapters[other].bond(with: device.identity) == nil)
            let links = device.links
            try await base.settle { links.connections.count == 1 }
            let theirs = try #require(links.connections.first)
            let served = try await theirs.discoverServices().map(\.uuid)
            #expect(served.contains(0xFFE0))
            #expect(!served.contains(0xFFE1))
            await connection.disconnect()
            await group.close()
            for adapter in adapters + [device.adapter] { await adapter.close() }
        }
    }
}
