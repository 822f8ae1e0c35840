import BluetoothHCI
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// The settings of a link that its options request.
@Suite struct LinkSettingsTests {
    private static let slow = ConnectionParameterRequest(
        interval: .milliseconds(100)...(.milliseconds(100)), latency: 1, supervisionTimeout: .seconds(3))

    private static func interval(of connection: Connection) async -> Duration? { await connection.parameters?.interval }

    @Test func theParametersHoldFromTheFirstConnectionEvent() async throws {
        for family in [HCICommandFamily.legacy, .extended] {
            try await Fixture.withPeripheral([SimulatedController(family: family)]) { _, adapter, device in
                // They are not requested later.
                device.setParameterRefusal(.unacceptableConnectionParameters)
                let options = ConnectionOptions(parameters: Self.slow)
                let connection = try await adapter.connect(to: device.address, options: options)
                let parameters = await connection.parameters
                #expect(
                    parameters
                        == ConnectionParameters(
                            interval: .milliseconds(100), latency: 1, supervisionTimeout: .seconds(3)))
                await connection.disconnect()
                // The kernel has forgotten them.
                let next = try await adapter.connect(to: device.address)
                #expect(await Self.interval(of: next) == .milliseconds(30))
                await next.disconnect()
            }
        }
    }

    @Test func theParametersOfSeveralDevicesDoNotReplaceEachOther() async throws {
        try await Fixture.run { fixture in
            let (absent, present) = (try fixture.makePeripheral(), try fixture.makePeripheral())
            absent.setHidden(true)
            for device in [absent, present] { device.setParameterRefusal(.unacceptableConnectionParameters) }
            // Two objects for the same adapter.
            let (adapter, other) = (
                try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: fixture.kernel)
            )
            let waiting = fixture.begin {
                try await adapter.connect(to: absent.address, options: ConnectionOptions(parameters: Self.slow))
            }
            try await fixture.radio.sleep(for: .seconds(1))
            let fast = try await other.connect(
                to: present.address, options: ConnectionOptions(parameters: .lowLatency))
            #expect(await Self.interval(of: fast) == .microseconds(7500))
            absent.setHidden(false)
            let late = try await waiting.value
            #expect(await Self.interval(of: late) == .milliseconds(100))
            await fast.disconnect()
            await late.disconnect()
        }
    }

    @Test func aCancelledAttemptLeavesNoParameters() async throws {
        try await Fixture.withPeripheral { fixture, adapter, device in
            device.setHidden(true)
            let waiting = fixture.begin {
                try await adapter.connect(to: device.address, options: ConnectionOptions(parameters: Self.slow))
            }
            try await fixture.radio.sleep(for: .seconds(1))
            waiting.cancel()
            #expect(await failure { _ = try await waiting.value }?.code == .cancelled)
            device.setHidden(false)
            let connection = try await adapter.connect(to: device.address)
            #expect(await Self.interval(of: connection) == .milliseconds(30))
            await connection.disconnect()
        }
    }

    @Test func closingTheAdapterAtAnyMomentLeavesNoParameters() async throws {
        // Before the device is heard, while the link is made, while it is asked for its features, once it is up.
        for milliseconds in [0, 1, 200, 400, 410, 450, 500, 1000] {
            try await Fixture.withPeripheral { fixture, adapter, device in
                device.setParameterRefusal(.unacceptableConnectionParameters)
                device.setHidden(true)
                let waiting = fixture.begin {
                    try await adapter.connect(to: device.address, options: ConnectionOptions(parameters: Self.slow))
                }
                try await fixture.radio.sleep(for: .milliseconds(300))
                device.setHidden(false)
                try await fixture.radio.sleep(for: .milliseconds(milliseconds))
                await adapter.close()
                if let made = try? await waiting.value { await made.disconnect() }
                let other = try await Adapter.open(on: fixture.kernel)
                let connection = try await other.connect(to: device.address)
                #expect(await Self.interval(of: connection) == .milliseconds(30), "closed after \(milliseconds) ms")
                await connection.disconnect()
            }
        }
    }

    @Test func theParametersOfADeviceAreThoseOfTheNewestAttempt() async throws {
        try await Fixture.run { fixture in
            let device = try fixture.makePeripheral()
            device.setParameterRefusal(.unacceptableConnectionParameters)
            device.setHidden(true)
            let (adapter, other) = (
                try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: fixture.kernel)
            )
            let first = fixture.begin {
                try await adapter.connect(to: device.address, options: ConnectionOptions(parameters: Self.slow))
            }
            try await fixture.radio.sleep(for: .seconds(1))
            let second = fixture.begin {
                try await other.connect(to: device.address, options: ConnectionOptions(parameters: .lowLatency))
            }
            try await fixture.radio.sleep(for: .seconds(1))
            second.cancel()
            _ = await failure { _ = try await second.value }
            device.setHidden(false)
            // The entry of the attempt that is left.
            let connection = try await first.value
            #expect(await Self.interval(of: connection) == .milliseconds(100))
            await connection.disconnect()
            let next = try await other.connect(to: device.address)
            #expect(await Self.interval(of: next) == .milliseconds(30))
            await next.disconnect()
        }
    }

    @Test func theDefaultsOfTheAdapterArePutBack() async throws {
        try await Fixture.withPeripheral { _, adapter, device in
            device.setParameterRefusal(.unacceptableConnectionParameters)
            try await adapter.setDefaults(
                AdapterDefaults(
                    connectionParameters: .init(
                        interval: .milliseconds(60)...(.milliseconds(60)), supervisionTimeout: .seconds(1))))
            let connection = try await adapter.connect(
                to: device.address, options: ConnectionOptions(parameters: Self.slow))
            #expect(await Self.interval(of: connection) == .milliseconds(100))
            await connection.disconnect()
            let next = try await adapter.connect(to: device.address)
            #expect(await Self.interval(of: next) == .milliseconds(60))
            await next.disconnect()
        }
    }

    @Test func withoutThePrivilegeTheParametersAreRequestedOfTheLink() async throws {
        try await Fixture.run { fixture in
            fixture.kernel.hasNetAdmin = false
            let device = try fixture.makePeripheral()
            let adapter = try await Adapter.open(on: fixture.kernel)
            let options = ConnectionOptions(parameters: Self.slow)
            let connection = try await adapter.connect(to: device.address, options: options)
            #expect(await Self.interval(of: connection) == .milliseconds(100))
            await connection.disconnect()
            // A peer that refuses has a link as it is.
            device.setParameterRefusal(.unacceptableConnectionParameters)
            let next = try await adapter.connect(to: device.address, options: options)
            #expect(await Self.interval(of: next) == .milliseconds(30))
            await next.disconnect()
            // Neither can be done without CAP_NET_RAW.
            fixture.kernel.hasNetRaw = false
            let plain = try await Adapter.open(on: fixture.kernel)
            let last = try await plain.connect(to: device.address, options: options)
            #expect(await last.parameters == nil)
            await last.disconnect()
        }
    }

    @Test func aUseChoosesEverySetting() async throws {
        try await Fixture.withPeripheral { fixture, adapter, device in
            let connection = try await adapter.connect(
                to: device.address, options: ConnectionOptions(use: .throughput))
            #expect(await Self.interval(of: connection) == .milliseconds(15))
            #expect(try await connection.phys() == LinkPHYs(transmit: .le2M, receive: .le2M))
            try await fixture.settle { await connection.dataLength?.transmitOctets == 251 }
            try await connection.adapt(to: .lowPower)
            let slow = await connection.parameters
            #expect(slow?.interval == .milliseconds(100) && slow?.latency == 2)
            // What it does not choose stays.
            #expect(try await connection.phys().transmit == .le2M)
            try await connection.adapt(to: .balanced)
            #expect(await Self.interval(of: connection) == .milliseconds(30))
            await connection.disconnect()
        }
    }

    /// Nothing needs the PHYs and the data length before the first request.
    @Test func connectingDoesNotWaitForTheSettings() async throws {
        try await Fixture.run { fixture in
            let device = try fixture.makePeripheral()
            device.setAdvertisements([SimulatedAdvertisement(interval: .milliseconds(20))])
            let adapter = try await Adapter.open(on: fixture.kernel)
            func time(_ options: ConnectionOptions) async throws -> Duration {
                let start = fixture.radio.now
                let connection = try await adapter.connect(to: device.address, options: options)
                let time = start.duration(to: fixture.radio.now)
                if options.use != nil {
                    // Later requests come after them.
                    let phys = try await connection.setPHYs(transmit: .le1M, receive: .le1M)
                    #expect(phys.transmit == .le1M)
                    try await fixture.settle { await connection.dataLength?.transmitOctets == 251 }
                    #expect(try await connection.phys().transmit == .le1M)
                }
                await connection.disconnect()
                return time
            }
            let plain = try await time(ConnectionOptions(parameters: ConnectionUse.throughput.parameters))
            let used = try await time(ConnectionOptions(use: .throughput))
            // The device's advertisement is heard at a random moment, in 30 ms at most.
            #expect(used < plain + .milliseconds(45), "\(used) and \(plain)")
        }
    }

    /// A Linux peripheral requests its own parameters five seconds after the link is up.
    @Test(arguments: [ConnectionUse.lowPower, .throughput])
    func aUseOutlivesALinuxPeripheralsRequest(_ use: ConnectionUse) async throws {
        try await Fixture.run { fixture in
            let (central, peripheral) = (
                try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: fixture.radio.makeKernel())
            )
            let set = try await peripheral.advertise(AdvertisementContent(localName: "own"))
            let connection = try await central.connect(options: ConnectionOptions(use: use)) { $0.localName == "own" }
            let changes = try await connection.linkChanges()
            try await fixture.radio.sleep(for: .seconds(10))
            let now = try #require(await connection.parameters)
            #expect(use.parameters.interval.contains(now.interval) && now.latency == use.parameters.latency)
            #expect(now.supervisionTimeout == .seconds(5))
            await connection.disconnect()
            var seen: [Duration] = []
            do {
                for try await change in changes {
                    if let parameters = change.parameters { seen.append(parameters.supervisionTimeout) }
                }
            } catch {}
            // There was such a request.
            #expect(seen.contains(.milliseconds(420)), "\(seen)")
            await set.close()
        }
    }

    /// The interval of a link a minute after its peripheral has requested 50 ms.
    private static func intervalAfterRequest(
        of device: SimulatedPeripheral, _ connection: Connection, _ fixture: Fixture
    ) async throws -> Duration? {
        device.requestConnectionParameters(
            LEConnectionParameters(intervalMinimum: 40, intervalMaximum: 40, latency: 0, supervisionTimeout: 100))
        try await fixture.radio.sleep(for: .seconds(60))
        return await interval(of: connection)
    }

    @Test func whatWasAskedForIsAskedAgainThreeTimes() async throws {
        try await Fixture.withPeripheral { fixture, adapter, device in
            let connection = try await adapter.connect(to: device.address, options: ConnectionOptions(use: .lowPower))
            for _ in 0..<3 {
                #expect(try await Self.intervalAfterRequest(of: device, connection, fixture) == .milliseconds(100))
            }
            #expect(try await Self.intervalAfterRequest(of: device, connection, fixture) == .milliseconds(50))
            // A policy is the program's explicit word, also against its own requests.
            try await connection.setParameterPolicy(.keep(.lowPower))
            #expect(try await Self.intervalAfterRequest(of: device, connection, fixture) == .milliseconds(100))
            try await connection.setParameterPolicy(.accept)
            #expect(try await Self.intervalAfterRequest(of: device, connection, fixture) == .milliseconds(50))
            try await connection.adapt(to: .lowPower)
            #expect(try await Self.intervalAfterRequest(of: device, connection, fixture) == .milliseconds(50))
            await connection.disconnect()
        }
    }

    @Test func aSettingOfItsOwnPrecedesThatOfTheUse() async throws {
        try await Fixture.withPeripheral { fixture, adapter, device in
            let connection = try await adapter.connect(
                to: device.address,
                options: ConnectionOptions(parameters: Self.slow, phys: .le1M, dataLength: 100, use: .throughput))
            #expect(await Self.interval(of: connection) == .milliseconds(100))
            #expect(try await connection.phys().transmit == .le1M)
            try await fixture.settle { await connection.dataLength?.transmitOctets == 100 }
            await connection.disconnect()
        }
    }

    @Test func invalidSettingsAreRefusedBeforeAnythingIsChanged() async throws {
        let options: [ConnectionOptions] = [
            ConnectionOptions(parameters: .init(interval: .milliseconds(1)...(.milliseconds(2)))),
            ConnectionOptions(parameters: .init(interval: .seconds(4)...(.seconds(4)), latency: 499)),
            ConnectionOptions(phys: []), ConnectionOptions(phys: LEPHYSet(rawValue: 8)),
            ConnectionOptions(dataLength: 26), ConnectionOptions(dataLength: 252, use: .throughput),
        ]
        try await Fixture.withPeripheral { _, adapter, device in
            for options in options {
                let error = await failure { _ = try await adapter.connect(to: device.address, options: options) }
                #expect(error?.code == .invalidArgument && error?.operation.peer == device.address)
            }
            let connection = try await adapter.connect(to: device.address)
            let error = await failure { _ = try await connection.setPHYs(transmit: [], receive: nil) }
            #expect(error?.code == .invalidArgument)
            await connection.disconnect()
        }
    }

    // MARK: Defaults of the adapter

    @Test func theDefaultsAreThoseOfLinksWithoutOthersAlsoAfterItWasUnplugged() async throws {
        let controller = SimulatedController(address: BluetoothAddress(0x0013_2233_4455, kind: .public))
        try await Fixture.run([controller]) { fixture in
            let device = try fixture.makePeripheral()
            let adapter = try await Adapter.open(power: .powerOn, on: fixture.kernel)
            try await adapter.setDefaults(
                AdapterDefaults(
                    connectionParameters: Self.slow, connectScanInterval: .milliseconds(100),
                    connectScanWindow: .milliseconds(50), connectTimeout: .seconds(2),
                    advertisingInterval: .milliseconds(100)...(.milliseconds(200))))
            let connection = try await adapter.connect(to: device.address)
            #expect(await Self.interval(of: connection) == .milliseconds(100))
            await connection.disconnect()
            // Another change leaves them.
            try await adapter.setDefaults(AdapterDefaults(connectTimeout: .seconds(3)))
            fixture.kernel.unplug(0)
            try await fixture.settle { adapter.state == .absent }
            fixture.kernel.plug(controller)
            try await adapter.ready(timeout: .seconds(10))
            let next = try await adapter.connect(to: device.address)
            #expect(await Self.interval(of: next) == .milliseconds(100))
            await next.disconnect()
        }
    }

    @Test func aPeripheralRequestsItsDefaultsOfALinkWithOthers() async throws {
        try await Fixture.run { fixture in
            let other = fixture.radio.makeKernel()
            let (central, peripheral) = (
                try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: other)
            )
            try await peripheral.setDefaults(AdapterDefaults(connectionParameters: Self.slow))
            let set = try await peripheral.advertise(AdvertisementContent(localName: "slow"))
            let incoming = try await peripheral.incomingConnections()
            let connection = try await central.connect { $0.localName == "slow" }
            try await fixture.settle { await Self.interval(of: connection) == .milliseconds(100) }
            await connection.disconnect()
            await set.close()
            withExtendedLifetime(incoming) {}
        }
    }

    private static let invalidDefaults: [AdapterDefaults] = [
        AdapterDefaults(connectionParameters: .init(interval: .seconds(5)...(.seconds(5)))),
        AdapterDefaults(connectionParameters: Self.slow, connectScanInterval: .milliseconds(100)),
        AdapterDefaults(connectScanWindow: .milliseconds(100)),
        AdapterDefaults(connectScanInterval: .milliseconds(10), connectScanWindow: .milliseconds(20)),
        AdapterDefaults(connectScanInterval: .seconds(11), connectScanWindow: .milliseconds(20)),
        AdapterDefaults(connectionParameters: Self.slow, connectTimeout: .zero),
        AdapterDefaults(connectTimeout: .seconds(66)),
        AdapterDefaults(advertisingInterval: .milliseconds(10)...(.milliseconds(20))),
        AdapterDefaults(advertisingInterval: .seconds(1)...(.seconds(11))),
    ]

    @Test func invalidDefaultsAreRefusedWithNothingChanged() async throws {
        try await Fixture.withPeripheral { _, adapter, device in
            for invalid in Self.invalidDefaults {
                let error = await failure { try await adapter.setDefaults(invalid) }
                #expect(error?.code == .invalidArgument)
            }
            let connection = try await adapter.connect(to: device.address)
            #expect(await Self.interval(of: connection) == .milliseconds(30))
            await connection.disconnect()
        }
    }

    @Test func defaultsNeedThePrivilege() async throws {
        try await Fixture.run { fixture in
            fixture.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(on: fixture.kernel)
            let error = await failure { try await adapter.setDefaults(AdapterDefaults(connectTimeout: .seconds(1))) }
            #expect(error?.code == .notPermitted)
        }
    }
}
