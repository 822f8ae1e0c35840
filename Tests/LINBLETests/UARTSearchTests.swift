import BluetoothGateway
import BluetoothLE
import BluetoothSimulation
import LINBLE
import LINBLESimulation
import Synchronization
import TestSupport
import Testing

/// The search for the device of a UART: on LE Coded, and by its key, on an adapter and on a group.
@Suite(.timeLimit(.minutes(2))) struct UARTSearchTests {
    private struct SearchFixture: Sendable {
        let radio: SimulatedRadio
        let kernel: SimulatedKernel
        let linble: SimulatedLINBLE
        /// The second receives everything 20 dB weaker.
        let adapters: [Adapter]
        let group: AdapterGroup

        func open(_ device: UARTDevice, _ options: UARTOptions, onGroup: Bool) async throws -> UARTConnection {
            if onGroup { return try await UARTConnection.open(device, on: group, options: options) }
            return try await UARTConnection.open(device, on: adapters[0], options: options)
        }

        func keep(_ device: UARTDevice, _ options: UARTOptions, onGroup: Bool) -> KeptUART {
            let options = KeptUARTOptions(uart: options)
            return onGroup
                ? UARTConnection.keep(device, on: group, options: options)
                : UARTConnection.keep(device, on: adapters[0], options: options)
        }

        /// Has the device advertise on LE Coded only, also under another address.
        func moveToCoded(address: BluetoothAddress? = nil) {
            linble.peripheral.setSupportedPHYs([.le1M, .le2M, .leCoded])
            linble.peripheral.setAdvertisements([
                SimulatedAdvertisement(
                    data: Array("\u{4}\u{9}far".utf8), isScannable: false, isLegacy: false, primaryPHY: .leCoded,
                    secondaryPHY: .leCoded, address: address)
            ])
        }

        /// Has the device advertise under a new private address.
        @discardableResult
        func rotate() throws -> BluetoothAddress {
            let address = try #require(linble.peripheral.makePrivateAddress())
            linble.peripheral.setAdvertisements([SimulatedAdvertisement(address: address)])
            return address
        }

        /// The device's key.
        func identity() throws -> DeviceIdentity {
            linble.peripheral.setSecurity(SimulatedSecurity(identity: UARTSearchTests.own))
            return DeviceIdentity(name: "far", key: try #require(linble.peripheral.identityResolvingKey))
        }
    }

    private static let own = BluetoothAddress(0xC0DE_0000_0001, kind: .random)

    private static func run(_ story: @escaping @Sendable (SearchFixture) async throws -> Void) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let linble = SimulatedLINBLE(on: radio)
        let near = SimulatedController(hasCoded: true)
        var far = near
        far.receiverGain = -20
        let kernel = radio.makeKernel(adapters: [near, far])
        try await radio.run(limit: .seconds(86_400)) {
            let adapters = [
                try await Adapter.open(.index(0), power: .powerOn, on: kernel),
                try await Adapter.open(.index(1), power: .powerOn, on: kernel),
            ]
            // As kernels before 6.6 do, so that LE Coded is used only by what asks for it.
            for adapter in adapters { try await adapter.setDefaults(AdapterDefaults(phys: .le1M)) }
            let group = try await AdapterGroup(adapters)
            try await story(
                SearchFixture(radio: radio, kernel: kernel, linble: linble, adapters: adapters, group: group))
        }
    }

    @Test(arguments: [false, true]) func aDeviceOnCodedIsFoundByName(onGroup: Bool) async throws {
        try await Self.run { fixture in
            fixture.moveToCoded()
            let deaf = await failure {
                _ = try await fixture.open(.name("far"), UARTOptions(), onGroup: onGroup)
            }
            #expect(deaf?.code == .notFound)
            for phys in [.leCoded, [.le1M, .leCoded]] as [LEPHYSet] {
                let uart = try await fixture.open(.name("far"), UARTOptions(phys: phys), onGroup: onGroup)
                // With a choice the simulated controllers prefer LE 1M once the link is up.
                #expect(try await uart.connection.phys().transmit == (phys == .leCoded ? .leCoded : .le1M))
                try await uart.send([7])
                #expect(try await uart.read(timeout: .seconds(10)) == [7])
                await uart.disconnect()
            }
        }
    }

    @Test(arguments: [false, true]) func aDeviceOnCodedIsFoundAgainByAKeptUART(onGroup: Bool) async throws {
        try await Self.run { fixture in
            fixture.moveToCoded()
            let uart = fixture.keep(.name("far"), UARTOptions(phys: [.le1M, .leCoded]), onGroup: onGroup)
            for byte in 0..<3 as Range<UInt8> {
                try await uart.send([byte])
                #expect(try await uart.read(timeout: .seconds(60)) == [byte])
                fixture.linble.peripheral.breakLinks()
                try await fixture.radio.settle { await uart.connection == nil }
            }
            await uart.disconnect()
        }
    }

    @Test(arguments: [false, true]) func aDeviceOnCodedIsFoundByItsKey(onGroup: Bool) async throws {
        try await Self.run { fixture in
            let device = UARTDevice.identity(try fixture.identity())
            let address = try #require(fixture.linble.peripheral.makePrivateAddress())
            fixture.moveToCoded(address: address)
            let options = UARTOptions(scanTimeout: .seconds(3), connectTimeout: .seconds(20))
            let time = await fixture.radio.duration {
                let deaf = await failure { _ = try await fixture.open(device, options, onGroup: onGroup) }
                #expect(deaf?.code == .notFound)
            }
            // The time limit is that of the search.
            #expect(time >= .seconds(3) && time < .seconds(4))
            let uart = try await fixture.open(device, UARTOptions(phys: .leCoded), onGroup: onGroup)
            #expect(uart.peer == address)
            #expect(try await uart.connection.phys().transmit == .leCoded)
            await uart.disconnect()
        }
    }

    /// Its address changes before it answers, and with each link.
    @Test(arguments: [false, true]) func aDeviceKnownByItsKeyIsFoundAtEachAddress(onGroup: Bool) async throws {
        try await Self.run { fixture in
            let device = UARTDevice.identity(try fixture.identity())
            let uart = fixture.keep(device, UARTOptions(), onGroup: onGroup)
            try await fixture.radio.sleep(for: .seconds(100))
            for byte in 0..<3 as Range<UInt8> {
                let address = try fixture.rotate()
                try await uart.send([byte])
                #expect(try await uart.read(timeout: .seconds(60)) == [byte])
                #expect(await uart.connection?.peer == address)
                fixture.linble.peripheral.setAdvertisements([])
                fixture.linble.peripheral.breakLinks()
                try await fixture.radio.settle { await uart.connection == nil }
            }
            #expect(await uart.statistics.linkCount == 3)
            await uart.disconnect()
        }
    }

    /// The adapter with the weaker signal has the bond.
    @Test func aBondedDeviceKnownByItsKeyNeedsNoScan() async throws {
        try await Self.run { fixture in
            let identity = try fixture.identity()
            try await fixture.adapters[1].setBond(
                Bond(identity: Self.own, identityResolvingKey: identity.key))
            try fixture.rotate()
            let steps = Mutex<[String]>([])
            let uart = try await UARTConnection.open(.identity(identity), on: fixture.group) { progress in
                switch progress.kind {
                case .found: steps.withLock { $0.append("found") }
                case .connecting(let address, _): steps.withLock { $0.append("connecting to \(address)") }
                default: break
                }
            }
            #expect(await uart.connection.adapterName == "hci1")
            #expect(steps.withLock { $0 } == ["connecting to \(Self.own)"])
            await uart.disconnect()
        }
    }
}
