import BluetoothGATT
import BluetoothGateway
import BluetoothSimulation
import LINBLE
import LINBLESimulation
import Logging
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// A machine with three adapters, its devices, and two machines that visit it.
///
/// The first adapter serves attributes and channels, the second a UART, the third visits a bonded device; as a group
/// they scan, and keep a sensor and a UART module.
struct Site: Sendable {
    static let service: BluetoothUUID = 0xFFF0
    static let values: BluetoothUUID = 0xFFF3
    static let dynamic: BluetoothUUID = 0xFFF4
    static let protected: BluetoothUUID = 0xFFF5
    static let psm: UInt16 = 0x0085
    static let advertisements = [SimulatedAdvertisement(isScannable: false, interval: .seconds(10))]

    let radio: SimulatedRadio
    let ledger: Ledger
    /// The machine's kernel, then those of the visitors.
    let kernels: [SimulatedKernel]
    let adapters: [Adapter]
    let group: AdapterGroup
    /// The server of the sensor, of the bonded device, and of one that is visited in passing.
    let servers: [SimulatedGATTServer]
    /// Those, the UART module, and a device that answers what is not a PDU.
    let devices: [SimulatedPeripheral]
    private let kept: Renewed<KeptConnection>
    private let uart: Renewed<KeptUART>

    static func controller(_ number: Int, of machine: Int = 0) -> SimulatedController {
        var controller = SimulatedController(
            address: BluetoothAddress(0x00AA_0000_0000 + UInt64(machine << 8 + number), kind: .public),
            family: number == 1 ? .legacy : .extended, hasCoded: number == 2)
        // The place identifies an adapter that has lost its address.
        (controller.place, controller.receiverGain) = ("place \(number)", Int8(-10 * number))
        return controller
    }

    private static func advertising(_ kind: AdvertisingOptions.Kind = .connectable) -> AdvertisingOptions {
        AdvertisingOptions(kind: kind, interval: .seconds(10)...(.seconds(10)), whenAdapterUnavailable: .resume)
    }

    private static let configuration = AdapterConfiguration(
        bonds: .store(MemoryBondStore()), log: Logger(label: "site") { _ in SwiftLogNoOpLogHandler() })

    init(_ fixture: Fixture, _ seed: UInt64) async throws {
        let radio = fixture.radio
        (self.radio, ledger) = (radio, Ledger(radio, seed))
        kernels = [fixture.kernel] + (1...2).map { radio.makeKernel(adapters: [Self.controller(0, of: $0)]) }
        var adapters: [Adapter] = []
        for number in 0..<3 as Range<UInt16> {
            adapters.append(
                try await Adapter.open(
                    .index(number), power: .keepOn, configuration: Self.configuration, on: fixture.kernel))
        }
        self.adapters = adapters
        group = try await AdapterGroup(adapters)
        servers = try (0..<3).map { _ in
            let characteristics = [
                GATTCharacteristic(Self.values, properties: [.notify, .read], value: .stored([0])),
                GATTCharacteristic(Self.dynamic, properties: [.read, .write, .notify]),
                GATTCharacteristic(
                    Self.protected, properties: .read, permissions: [.read, .readEncrypted], value: .stored([7])),
            ]
            return try SimulatedGATTServer([GATTService(Self.service, characteristics: characteristics)])
        }
        let device = CountedDevice(to: ledger.flow("to UART module"), from: ledger.flow("from UART module"))
        devices =
            servers.map { SimulatedPeripheral(on: radio, advertisements: Self.advertisements, gatt: $0) } + [
                SimulatedLINBLE(on: radio, .init(attached: device)).peripheral,
                SimulatedPeripheral(on: radio, advertisements: Self.advertisements) { _ in Nonsense() },
            ]
        for data in [[2, 0x01, 0x06]] + SimulatedAdvertisement.malformed.map(\.data) {
            SimulatedPeripheral(on: radio, advertisements: [.beacon(data, interval: .seconds(300))])
        }
        kept = Renewed { [group, devices] in group.keepConnected(to: devices[0].address) }
        uart = Renewed { [group, devices] in UARTConnection.keep(.address(devices[3].address), on: group) }
        try await adapters[2].setPairingAgent(JustWorksPairingAgent())
        servers[2].onRead { _, _ in .value([1, 2, 3]) }
        devices[3].setAdvertisements(Self.advertisements)
        devices[2].setService(Self.psm, receiveMTU: 512)
    }

    // MARK: - What runs all the time

    func begin() {
        keepSensor()
        keepUART()
        ledger.keep("scan", after: 1...60) { _ in
            let reports = try await group.scan(ScanOptions(duplicates: .all, whenAdapterUnavailable: .resume))
            for try await _ in reports { ledger.hear() }
        }
        ledger.keep("serve attributes", after: 1...60) { _ in try await serveAttributes() }
        ledger.keep("serve channels", after: 1...60) { _ in try await serveChannels() }
        let options = UARTServerOptions(advertising: Self.advertising())
        ledger.keep("serve UART", after: 1...60) { _ in
            try await UARTServer.run(on: adapters[1], options: options) { central in
                while let bytes = try await central.read() { try await central.send(bytes) }
            }
        }
        for kernel in kernels.dropFirst() {
            ledger.keep("visit", after: 300...3600) { try await visit(from: kernel, &$0) }
        }
        ledger.keep("visit bonded device", after: 300...3600) { try await visitBonded(&$0) }
        passBy()
    }

    private func keepSensor() {
        let flow = ledger.flow("from sensor")
        ledger.keep("follow sensor", after: 1...60) { _ in
            try await kept.use { kept in
                for try await update in try await kept.subscribe(to: Self.values, in: Self.service) {
                    if case .value(let bytes) = update { flow.arrived(bytes) } else { flow.broke() }
                }
            }
        }
        let handle = servers[0].handle(of: Self.values, in: Self.service)
        ledger.keep("send from sensor", after: 10...120) { _ in
            if let handle, servers[0].notifyAtOnce(flow.take(), of: handle) == 0 { flow.giveBack() }
        }
        // A link on which nothing is sent does not show that its controller hangs.
        ledger.keep("read sensor", after: 300...1200) { _ in
            _ = try await kept.value.connection?.read(Self.values, in: Self.service)
        }
    }

    private func keepUART() {
        ledger.keep("follow UART", after: 1...60) { _ in
            try await uart.use { uart in
                while let bytes = try await uart.read() { ledger.flow("from UART module").arrived(bytes) }
            }
        }
        ledger.keep("send to UART", after: 30...600) { random in
            let uart = uart.value
            try await uart.send(ledger.flow("to UART module").take(random.number(in: 1...1000)))
            try await uart.flush()
        }
    }

    private func serveAttributes() async throws {
        let values = LocalCharacteristic(Self.values, properties: .notify)
        let written = LocalCharacteristic(Self.dynamic, properties: .write)
            .onWrite { ledger.flow("written by \($0.peer)").arrived($0.value) }
        let published = try await adapters[0].publish([LocalService(Self.service, characteristics: [values, written])])
        let incoming = try await adapters[0].incomingConnections()
        let set = try await adapters[0].advertise(
            AdvertisementContent(services: [Self.service]), options: Self.advertising())
        let beacon = try await adapters[2].advertise(
            AdvertisementContent(localName: "beacon"), options: Self.advertising(.nonConnectable))
        await withTaskGroup { group in
            group.addTask { await tick(published[values], to: incoming) }
            _ = await set.closed()
            group.cancelAll()
        }
        await beacon.close()
        await published.close()
    }

    /// Notifies each connection of a number now and then.
    private func tick(_ value: PublishedValue, to incoming: IncomingConnections) async {
        while (try? await radio.sleep(for: .seconds(5))) != nil {
            for connection in incoming.connections {
                // The kernel passes on links of its own to devices as well.
                guard let flow = ledger.flows["notified to \(connection.peer)"] else { continue }
                let code = await ledger.attempt("notify") {
                    try await value.notify(flow.take(), to: connection)
                }
                // What has failed otherwise may have arrived.
                if code == .notSubscribed { flow.giveBack() } else if code != nil { flow.broke() }
            }
        }
    }

    private func serveChannels() async throws {
        let listener = try await adapters[0].listen(psm: Self.psm)
        try await withThrowingDiscardingTaskGroup { group in
            for try await channel in listener {
                group.addTask {
                    await ledger.attempt("serve channel") {
                        while let packet = try await channel.read() {
                            ledger.flow("channel of \(channel.peer)").arrived(packet)
                            try await channel.send(ledger.flow("channel to \(channel.peer)").take(packet.count / 4))
                        }
                    }
                }
            }
        }
    }

    // MARK: - Visits

    /// A visitor does one of three things.
    private func visit(from kernel: SimulatedKernel, _ random: inout SeededGenerator) async throws {
        let uses: [@Sendable (Connection, BluetoothAddress, [Int]) async throws -> Void] = [
            useAttributes, useChannel, useUART,
        ]
        let choice = random.number(in: 0...2)
        let sizes = (0..<random.number(in: 1...30)).map { _ in random.number(in: 1...250) }
        let options = ConnectionOptions(
            enhancedBearers: random.number(in: 0...1), use: ConnectionUse.allCases.randomElement(using: &random))
        let adapter = try await Adapter.open(power: .powerOn, configuration: Self.configuration, on: kernel)
        let own = adapter.information.address
        let served = adapters[choice / 2].information.address
        let failure = await failure {
            try await adapter.withConnection(to: served, options: options) { try await uses[choice]($0, own, sizes) }
        }
        await adapter.close()
        if let failure { throw failure }
    }

    private func useAttributes(_ connection: Connection, _ own: BluetoothAddress, _ sizes: [Int]) async throws {
        let (written, notified) = (ledger.flow("written by \(own)"), ledger.flow("notified to \(own)"))
        for flow in [written, notified] { flow.broke() }
        let values = try await connection.subscribe(to: Self.values, in: Self.service)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for try await value in values { notified.arrived(value) } }
            for size in sizes {
                try await connection.write(written.take(1 + size % 100), to: Self.dynamic, in: Self.service)
                try? await radio.sleep(for: .seconds(7))
            }
            group.cancelAll()
        }
    }

    private func useChannel(_ connection: Connection, _ own: BluetoothAddress, _ sizes: [Int]) async throws {
        let (to, from) = (ledger.flow("channel of \(own)"), ledger.flow("channel to \(own)"))
        for flow in [to, from] { flow.broke() }
        let channel = try await connection.openChannel(psm: Self.psm)
        for size in sizes {
            try await channel.send(to.take(size))
            guard let packet = try await channel.read() else { break }
            from.arrived(packet)
        }
        await channel.close()
    }

    private func useUART(_ connection: Connection, _ own: BluetoothAddress, _ sizes: [Int]) async throws {
        let flow = ledger.flow("UART of \(own)")
        flow.broke()
        let uart = try await UARTConnection.attach(to: connection)
        for size in sizes {
            try await uart.send(flow.take(size))
            var rest = 4 * size
            while rest > 0, let bytes = try await uart.read(timeout: .seconds(60)) {
                flow.arrived(bytes)
                rest -= bytes.count
            }
        }
    }

    private func visitBonded(_ random: inout SeededGenerator) async throws {
        var options = ConnectionOptions()
        options.security.level = random.oneIn(2) ? .medium : nil
        do {
            try await adapters[2].withConnection(to: devices[1].address, options: options) {
                _ = try await $0.read(Self.protected, in: Self.service)
            }
        } catch {
            // The device may have lost its keys.
            if random.oneIn(3) { try await adapters[2].removeBond(with: devices[1].address) }
            throw error
        }
    }

    /// What a program does in passing, on one of the adapters.
    private func passBy() {
        pass("health") { _ = try await $0.checkHealth() }
        pass("properties") { _ = try await $0.controllerProperties() }
        pass("devices") { _ in _ = try await group.devices(for: .seconds(5)) }
        pass("advertise") { adapter in
            let set = try await adapter.advertise(AdvertisementContent(localName: "passing"))
            try? await radio.sleep(for: .seconds(60))
            await set.close()
        }
        pass("nonsense") { _ in
            try await group.withConnection(to: devices[4].address) { _ = try await $0.discover(cached: false) }
        }
        pass("channel") {
            let channel = try await $0.openChannel(to: devices[2].address, psm: Self.psm)
            for size in 1...50 { try await channel.send([UInt8](repeating: 7, count: size)) }
            await channel.close()
        }
        pass("attributes") { _ in
            try await group.withConnection(to: devices[2].address) { connection in
                let values = try await connection.subscribe(to: Self.dynamic, in: Self.service)
                _ = try await connection.read(Self.dynamic, in: Self.service)
                try await connection.write([1], to: Self.dynamic, in: Self.service)
                try await connection.adapt(to: .throughput)
                withExtendedLifetime(values) {}
            }
        }
    }

    /// Sometimes for less time than it takes.
    private func pass(_ name: String, _ body: @escaping @Sendable (Adapter) async throws -> Void) {
        ledger.keep("pass: \(name)", after: 1800...20_000) { random in
            let limit = Duration.milliseconds(random.oneIn(3) ? random.number(in: 1...3000) : 600_000)
            let adapter = adapters[random.number(in: 0...2)]
            try await withTimeLimit(limit, on: radio.loop) { try await body(adapter) }
        }
    }

    // MARK: - The end

    /// What must increase while nothing fails.
    private var signs: [String: Int] {
        var signs = ledger.flows.mapValues(\.counts.received)
        signs["advertisements"] = ledger.heard
        signs["visit bonded device"] = ledger.operations["visit bonded device"]?.values
        return signs
    }

    /// Waits until everything has worked again; what has not within a day.
    func recovered() async throws -> [String] {
        let (before, start) = (signs, radio.now)
        while true {
            let missing = signs.filter { before[$0.key] == $0.value }.map(\.key).sorted()
            guard !missing.isEmpty, start.duration(to: radio.now) < .seconds(86_400) else { return missing }
            try await radio.sleep(for: .seconds(60))
        }
    }

    /// Ends everything, and waits for all that has begun.
    func close() async throws {
        await uart.value.disconnect()
        await kept.value.disconnect()
        await group.close()
        for adapter in adapters { await adapter.close() }
        await ledger.end()
    }
}

/// What a program makes anew once it has ended because the program lacks a permission, which no attempt changes.
private final class Renewed<Value: Sendable>: Sendable {
    private let make: @Sendable () -> Value
    private let present: Mutex<Value>

    init(_ make: @escaping @Sendable () -> Value) {
        self.make = make
        present = Mutex(make())
    }

    var value: Value { present.withLock { $0 } }

    func use(_ body: (Value) async throws -> Void) async throws {
        do {
            try await body(value)
        } catch let error as BluetoothError where error.code == .notPermitted {
            present.withLock { $0 = make() }
            throw error
        }
    }
}

/// A device on the UART that checks the words it receives, and returns one of its own for each.
private struct CountedDevice: AttachedDevice {
    let to: Flow
    let from: Flow

    mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] {
        to.arrived(bytes)
        return [.send(from.take(bytes.count / 4))]
    }

    mutating func disconnected() -> [AttachedDeviceAction] {
        for flow in [to, from] { flow.broke() }
        return []
    }
}

/// A device whose every answer is empty, which is no PDU.
private final class Nonsense: SimulatedLinkHandler {
    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) { link.send([], on: channel) }
}
