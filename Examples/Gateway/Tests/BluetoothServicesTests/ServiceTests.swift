import BluetoothLE
import BluetoothServices
import BluetoothSimulation
import LINBLE
import LINBLESimulation
import Logging
import MetricsTestKit
import ServiceLifecycle
import Testing

@Suite struct ServiceTests {
    // In real time: a service group works in tasks of its own, for which virtual time does not wait.
    let radio = SimulatedRadio(time: .real)
    let counted = TestMetrics()

    var metrics: BluetoothMetrics { BluetoothMetrics(dimensions: [("adapter", "hci0")], factory: counted) }

    func count(_ label: String, _ further: [(String, String)] = []) throws -> Int64 {
        try counted.expectCounter(label, [("adapter", "hci0")] + further).totalValue
    }

    /// The last service of a group: `body`, whose end shuts the group down in order.
    struct Body: Service {
        let body: @Sendable () async throws -> Void
        func run() async throws { try await body() }
    }

    /// Runs the services in a group until `body` ends.
    func run(_ services: [any Service], while body: @escaping @Sendable () async throws -> Void) async throws {
        var configurations = services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
        configurations.append(
            .init(service: Body(body: body), successTerminationBehavior: .gracefullyShutdownGroup))
        try await ServiceGroup(
            configuration: .init(services: configurations, logger: Logger(label: "test"))
        ).run()
    }

    @discardableResult func makeBattery() throws -> SimulatedPeripheral {
        let server = try SimulatedGATTServer([
            GATTService(.battery) { GATTCharacteristic(.batteryLevel, properties: .read, value: .stored([12])) }
        ])
        return SimulatedPeripheral(
            on: radio, advertisements: [try SimulatedAdvertisement(fields: [.services([.battery])])],
            gatt: server)
    }

    @Test func aScanCountsItsReportsAndStopsInOrder() async throws {
        try makeBattery()
        let kernel = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let (reports, continuation) = AsyncStream.makeStream(of: Advertisement.self)
            let scan = ScanService(on: adapter, metrics: metrics) { continuation.yield($0) }
            try await run([AdapterService(adapter, metrics: metrics), scan]) {
                _ = await reports.first { $0.services.contains(.battery) }
            }
            #expect(await adapter.closed().code == .cancelled)
        }
        #expect(try count("bluetooth_reports") >= 1)
        #expect(try !counted.expectRecorder("bluetooth_rssi", [("adapter", "hci0")]).values.isEmpty)
    }

    @Test func aKeptDeviceIsCountedAndDisconnected() async throws {
        let battery = try makeBattery()
        let kernel = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let kept = adapter.keepConnected(to: battery.address)
            try await run([AdapterService(adapter, metrics: metrics), ConnectionService(kept, metrics: metrics)]) {
                let first = try await kept.connected()
                battery.breakLinks()
                _ = await first.disconnected()
                _ = try await kept.connected()
            }
            #expect(battery.links.isEmpty)
        }
        #expect(try count("bluetooth_reconnects") == 1)
        #expect(try counted.expectMeter("bluetooth_links", [("adapter", "hci0")]).lastValue == 0)
    }

    @Test func aFailureOfTheBodyDisconnectsTheDeviceAndEndsTheGroup() async throws {
        let battery = try makeBattery()
        let kernel = radio.makeKernel()
        struct Refused: Error {}
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let service = ConnectionService(adapter.keepConnected(to: battery.address), metrics: metrics) { kept in
                _ = try await kept.connected()
                throw Refused()
            }
            await #expect(throws: Refused.self) {
                try await run([service]) { try await radio.sleep(for: .seconds(3000)) }
            }
            #expect(battery.links.isEmpty)
            await adapter.close()
        }
    }

    /// Serves a battery until a visitor has read its level, after `body`.
    func serveBattery(
        on server: SimulatedKernel,
        after body: @escaping @Sendable (_ adapter: Adapter, _ visitor: Adapter) async throws -> Void = { _, _ in }
    ) async throws {
        let client = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: server)
            let visitor = try await Adapter.open(power: .powerOn, on: client)
            let serving = ServingService(
                on: adapter, AdvertisementContent(services: [.battery]), metrics: metrics,
                services: {
                    LocalService(.battery) { LocalCharacteristic(.batteryLevel, properties: .read, value: [97]) }
                })
            try await run([AdapterService(adapter, metrics: metrics), serving]) {
                try await body(adapter, visitor)
                let connection = try await visitor.connect { $0.services.contains(.battery) }
                #expect(try await connection.read(.batteryLevel, in: .battery) == [97])
                await connection.disconnect()
            }
            await #expect(throws: BluetoothError.self) {
                try await visitor.firstAdvertisement(timeout: .milliseconds(500)) { $0.services.contains(.battery) }
            }
            await visitor.close()
        }
    }

    @Test func servicesAreServedUntilShutdown() async throws {
        try await serveBattery(on: radio.makeKernel())
        #expect(try counted.expectMeter("bluetooth_links", [("adapter", "hci0")]).values == [1, 0])
    }

    /// Powers the adapter off and on, as another program would.
    func restart(_ adapter: Adapter, of kernel: SimulatedKernel) async throws {
        kernel.setPowered(false, adapter: 0)
        while adapter.state.isReady { try await radio.sleep(for: .milliseconds(10)) }
        kernel.setPowered(true, adapter: 0)
    }

    @Test func aScanWaitsForItsAdapter() async throws {
        try makeBattery()
        let kernel = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let (reports, continuation) = AsyncStream.makeStream(of: Advertisement.self)
            let scan = ScanService(on: adapter, metrics: metrics) { continuation.yield($0) }
            try await run([AdapterService(adapter, metrics: metrics), scan]) {
                _ = await reports.first { $0.services.contains(.battery) }
                try await restart(adapter, of: kernel)
                let other = try SimulatedAdvertisement(fields: [.services([.heartRate])])
                let peripheral = SimulatedPeripheral(on: radio, advertisements: [other])
                let report = await reports.first { $0.services.contains(.heartRate) }
                #expect(report?.address == peripheral.address)
            }
        }
    }

    @Test func servicesWaitForTheirAdapter() async throws {
        let server = radio.makeKernel()
        try await serveBattery(on: server) { adapter, visitor in
            _ = try await visitor.firstAdvertisement { $0.services.contains(.battery) }
            try await restart(adapter, of: server)
        }
    }

    @Test func incomingConnectionsHaveTheirOptions() async throws {
        let server = radio.makeKernel()
        let client = radio.makeKernel()
        let (asked, continuation) = AsyncStream.makeStream(of: BluetoothUUID.self)
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: server)
            let visitor = try await Adapter.open(power: .powerOn, on: client)
            let serving = ServingService(
                on: adapter, AdvertisementContent(services: [.heartRate]),
                accepting: IncomingConnectionOptions(maximumTransmissionUnit: 64),
                authorizing: { request in
                    continuation.yield(request.uuid)
                    return .once
                },
                metrics: metrics,
                services: {
                    LocalService(.heartRate) {
                        LocalCharacteristic(0xFFF1, properties: .write, permissions: [.write, .writeAuthorized])
                            .onWrite { _ in }
                    }
                })
            try await run([AdapterService(adapter, metrics: metrics), serving]) {
                let connection = try await visitor.connect { $0.services.contains(.heartRate) }
                #expect(await connection.maximumTransmissionUnit == 64)
                try await connection.write([1], to: 0xFFF1, in: .heartRate)
                let uuid = await asked.first { _ in true }
                #expect(uuid == 0xFFF1)
                await connection.disconnect()
            }
            await visitor.close()
        }
    }

    @Test func aUARTSendsWhatIsBufferedBeforeItEnds() async throws {
        let module = SimulatedLINBLE(on: radio)
        let kernel = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let uart = UARTConnection.keep(.address(module.address), on: adapter)
            try await run([AdapterService(adapter, metrics: metrics), UARTService(uart, metrics: metrics)]) {
                try await uart.send(Array(repeating: 0x55, count: 2000))
            }
            #expect(module.statistics.bytesFromHosts == 2000)
            await adapter.close()
        }
    }

    @Test func bytesThatCannotBeSentAreAFailureOfTheShutdown() async throws {
        let module = SimulatedLINBLE(on: radio)
        let kernel = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let uart = UARTConnection.keep(.address(module.address), on: adapter)
            module.peripheral.setHidden(true)
            let error = await #expect(throws: BluetoothError.self) {
                try await run([UARTService(uart, metrics: metrics, drainLimit: .milliseconds(50))]) {
                    try await uart.send([1])
                }
            }
            #expect(error?.code == .timedOut)
            await adapter.close()
        }
    }

    @Test func aCancelledServiceDisconnectsItsDevice() async throws {
        let battery = try makeBattery()
        let kernel = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let kept = adapter.keepConnected(to: battery.address)
            let service = Task { try await ConnectionService(kept, metrics: metrics).run() }
            let connection = try await kept.connected()
            service.cancel()
            await #expect(throws: (any Error).self) { try await service.value }
            #expect(await !connection.isConnected)
            await adapter.close()
        }
    }

    @Test func recoveriesOfTheRadioAreCounted() async throws {
        let kernel = radio.makeKernel()
        try await radio.run {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            try await run([AdapterService(adapter, metrics: metrics)]) {
                let events = await adapter.healthEvents()
                kernel.setFault(ControllerFault(.hangs, until: .powerOff), adapter: 0)
                _ = try await adapter.checkHealth()
                for try await event in events { if event.helpfulStep != nil { break } }
            }
        }
        #expect(counted.counters(label: "bluetooth_recoveries").map(\.totalValue) == [1])
    }
}
