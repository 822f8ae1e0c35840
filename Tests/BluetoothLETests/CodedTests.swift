import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

private let coded = SimulatedController(hasCoded: true)

/// Connecting on LE Coded, and the PHYs of an adapter.
@Suite struct CodedTests {
    /// A device that can be heard on LE Coded only.
    private static func far(_ fixture: Fixture) throws -> SimulatedPeripheral {
        let peripheral = SimulatedPeripheral(
            on: fixture.radio,
            advertisements: [
                SimulatedAdvertisement(
                    data: [2, 0x01, 0x06], isScannable: false, isLegacy: false, primaryPHY: .leCoded,
                    secondaryPHY: .leCoded)
            ], gatt: try SimulatedGATTServer([]))
        peripheral.setSupportedPHYs([.le1M, .le2M, .leCoded])
        return peripheral
    }

    private static let onCoded = LinkPHYs(transmit: .leCoded, receive: .leCoded)
    private static let only1M = AdapterDefaults(phys: .le1M)

    private static func find(_ device: SimulatedPeripheral, _ adapter: Adapter) async throws -> Advertisement {
        try await adapter.firstAdvertisement(timeout: .seconds(3), options: ScanOptions(coded: true)) {
            $0.address == device.address
        }
    }

    @Test func aDeviceThatIsHeardOnCodedOnlyGetsItsLinkThere() async throws {
        try await Fixture.run([coded]) { fixture in
            let device = try Self.far(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            // The kernel selects all PHYs of the controller.
            let connection = try await adapter.connect(to: device.address)
            #expect(try await connection.phys() == Self.onCoded)
            await connection.disconnect()
            #expect(fixture.kernel.selectedPHYs() == [.le1M, .le2M, .leCoded])
        }
    }

    @Test func closingTheAdapterDuringTheConnectEndsTheSelection() async throws {
        for milliseconds in [0, 1, 100, 1000] {
            try await Fixture.run([coded]) { fixture in
                let device = try Self.far(fixture)
                device.setHidden(true)
                let (adapter, other) = (
                    try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: fixture.kernel)
                )
                try await other.setDefaults(Self.only1M)
                let waiting = fixture.begin {
                    try await adapter.connect(to: device.address, options: ConnectionOptions(phys: .leCoded))
                }
                try await fixture.radio.sleep(for: .milliseconds(milliseconds))
                await adapter.close()
                #expect(await failure { _ = try await waiting.value } != nil)
                try await fixture.settle { fixture.kernel.selectedPHYs() == .le1M }
            }
        }
    }

    @Test func aDeviceKnownByItsKeyIsLookedForOnCodedIfTheOptionsSaySo() async throws {
        try await Fixture.run([coded]) { fixture in
            let phone = try PrivateDevice(fixture)
            let address = try #require(phone.device.makePrivateAddress())
            phone.device.setSupportedPHYs([.le1M, .le2M, .leCoded])
            phone.device.setAdvertisements([
                SimulatedAdvertisement(
                    isScannable: false, isLegacy: false, primaryPHY: .leCoded, secondaryPHY: .leCoded, address: address)
            ])
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await adapter.setDefaults(Self.only1M)
            let deaf = await failure {
                _ = try await adapter.connect(to: phone.identity, options: ConnectionOptions(timeout: .seconds(3)))
            }
            #expect(deaf?.code == .notFound)
            let connection = try await adapter.connect(
                to: phone.identity, options: ConnectionOptions(timeout: .seconds(3), phys: .leCoded))
            #expect(connection.peer == address)
            #expect(try await connection.phys() == Self.onCoded)
            await connection.disconnect()
        }
    }

    @Test func theSelectedPHYsAreAmongTheDefaults() async throws {
        try await Fixture.withAdapter([coded]) { fixture, adapter in
            #expect(try await adapter.defaults().phys == [.le1M, .le2M, .leCoded])
            try await adapter.setDefaults(AdapterDefaults(phys: [.le1M, .le2M]))
            #expect(try await adapter.defaults().phys == [.le1M, .le2M])
            // Without a privilege the others are known.
            fixture.kernel.hasNetAdmin = false
            let defaults = try await Adapter.open(on: fixture.kernel).defaults()
            #expect(defaults.phys == nil)
            #expect(defaults.connectTimeout != nil)
        }
    }

    @Test func codedIsSelectedForTheTimeOfTheConnectOnly() async throws {
        try await Fixture.run([coded]) { fixture in
            let device = try Self.far(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            // As kernels before 6.6 do, or another program.
            let other = try await Adapter.open(on: fixture.kernel)
            try await other.setDefaults(Self.only1M)
            let deaf = await failure {
                _ = try await adapter.connect(to: device.address, options: ConnectionOptions(timeout: .seconds(3)))
            }
            #expect(deaf?.code == .timedOut)
            let found = try await Self.find(device, adapter)
            for connect in [
                { try await adapter.connect(to: found) },
                { try await adapter.connect(to: device.address, options: ConnectionOptions(phys: .leCoded)) },
                { try await adapter.connect(scan: ScanOptions(coded: true)) { $0.address == device.address } },
            ] as [@Sendable () async throws -> Connection] {
                let connection = try await connect()
                #expect(try await connection.phys() == Self.onCoded)
                try await fixture.settle { fixture.kernel.selectedPHYs() == .le1M }
                await connection.disconnect()
            }
            let kept = try adapter.keepConnected(to: found)
            try await fixture.settle { await kept.connection != nil }
            try await fixture.settle { fixture.kernel.selectedPHYs() == .le1M }
            await kept.disconnect()
        }
    }

    @Test func anAttemptThatEndsLeavesNothingSelectedUnlessAnotherNeedsIt() async throws {
        try await Fixture.run([coded]) { fixture in
            let (one, other) = (try Self.far(fixture), try Self.far(fixture))
            for device in [one, other] { device.setHidden(true) }
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await adapter.setDefaults(Self.only1M)
            let options = ConnectionOptions(phys: .leCoded)
            let first = fixture.begin { try await adapter.connect(to: one.address, options: options) }
            let second = fixture.begin { try await adapter.connect(to: other.address, options: options) }
            try await fixture.settle { fixture.kernel.selectedPHYs() == [.le1M, .leCoded] }
            first.cancel()
            #expect(await failure { _ = try await first.value }?.code == .cancelled)
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(fixture.kernel.selectedPHYs() == [.le1M, .leCoded])
            other.setHidden(false)
            let connection = try await second.value
            #expect(try await connection.phys() == Self.onCoded)
            try await fixture.settle { fixture.kernel.selectedPHYs() == .le1M }
            await connection.disconnect()
        }
    }

    @Test func aNearDeviceIsAskedForCodedOnceItsLinkIsUp() async throws {
        try await Fixture.withPeripheral([coded]) { fixture, adapter, device in
            device.setSupportedPHYs([.le1M, .leCoded])
            let connection = try await adapter.connect(
                to: device.address,
                options: ConnectionOptions(
                    parameters: ConnectionParameterRequest(interval: .milliseconds(60)...(.milliseconds(60))),
                    phys: .leCoded, dataLength: 251))
            #expect(try await connection.phys() == Self.onCoded)
            // The time suffices for such packets with S=8.
            try await fixture.settle { await connection.dataLength?.transmitOctets == 251 }
            #expect(await connection.dataLength?.transmitTime == .microseconds(17040))
            await connection.disconnect()
        }
    }

    @Test(arguments: [SimulatedController(), SimulatedController(family: .legacy)])
    func physThatTheControllerLacksAreRefused(_ controller: SimulatedController) async throws {
        try await Fixture.withPeripheral([controller]) { fixture, adapter, device in
            let error = await failure {
                _ = try await adapter.connect(
                    to: device.address, options: ConnectionOptions(phys: [.le1M, .leCoded]))
            }
            #expect(error?.code == .unsupported && error?.operation.peer == device.address)
            #expect(error?.message == "The controller does not support LE Coded; it has LE 1M, LE 2M.")
            let defaults = await failure {
                try await adapter.setDefaults(AdapterDefaults(connectTimeout: .seconds(1), phys: [.le1M, .leCoded]))
            }
            #expect(defaults?.code == .unsupported)
            #expect(fixture.kernel.selectedPHYs() == [.le1M, .le2M])
            // The others can be had.
            let connection = try await adapter.connect(to: device.address, options: ConnectionOptions(phys: .le2M))
            #expect(try await connection.phys().transmit == .le2M)
            await connection.disconnect()
        }
    }

    @Test func withoutThePrivilegeTheSelectionStays() async throws {
        try await Fixture.run([coded]) { fixture in
            let device = try Self.far(fixture)
            fixture.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(
                to: device.address, options: ConnectionOptions(phys: .leCoded))
            #expect(try await connection.phys() == Self.onCoded)
            await connection.disconnect()
            let error = await failure { try await adapter.setDefaults(Self.only1M) }
            #expect(error?.code == .notPermitted)
        }
    }

    @Test func aRefusalOfTheKernelIsNoReasonNotToConnect() async throws {
        try await Fixture.run([coded]) { fixture in
            let device = try Self.far(fixture)
            let adapter = try await Adapter.open(on: fixture.kernel)
            for (opcode, status) in [
                (ManagementOpcode.getPHYConfiguration, ManagementStatus.unknownCommand), (.setPHYConfiguration, .busy),
            ] {
                fixture.kernel.setRefusal(status, of: opcode)
                let connection = try await adapter.connect(
                    to: device.address, options: ConnectionOptions(phys: .leCoded))
                #expect(try await connection.phys() == Self.onCoded)
                await connection.disconnect()
                fixture.kernel.setRefusal(nil, of: opcode)
            }
        }
    }

    @Test func thePHYsOfAnAdapterArePreferredForLinksAndSurviveItsPower() async throws {
        try await Fixture.run([coded]) { fixture in
            let other = fixture.radio.makeKernel(adapters: [coded])
            let (central, peripheral) = (
                try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: other)
            )
            try await peripheral.setDefaults(Self.only1M)
            let set = try await peripheral.advertise(AdvertisementContent(localName: "slow"))
            let incoming = try await peripheral.incomingConnections()
            let connection = try await central.connect(options: ConnectionOptions(phys: .le2M)) {
                $0.localName == "slow"
            }
            #expect(try await connection.phys().transmit == .le1M)
            await connection.disconnect()
            await set.close()
            withExtendedLifetime(incoming) {}
            try await peripheral.setPowered(false)
            try await peripheral.setPowered(true)
            try await fixture.settle { other.selectedPHYs() == .le1M }
        }
    }

    @Test func invalidPHYsOfAnAdapterAreRefused() async throws {
        try await Fixture.withAdapter([coded]) { fixture, adapter in
            for phys in [[], .le2M, .leCoded, [.le1M, LEPHYSet(rawValue: 8)]] as [LEPHYSet] {
                let error = await failure { try await adapter.setDefaults(AdapterDefaults(phys: phys)) }
                #expect(error?.code == .invalidArgument)
            }
            #expect(fixture.kernel.selectedPHYs() == [.le1M, .le2M, .leCoded])
        }
    }
}
