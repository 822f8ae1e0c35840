import BluetoothGATT
import BluetoothLE
import BluetoothSimulation
import CoreBluetooth
import Synchronization
import Testing

/// A heart rate sensor with a battery, and a service with one characteristic of every kind.
struct Device: Sendable {
    static let name = "Pulse"
    static let address = BluetoothAddress(0xC098_E512_3458, kind: .random)
    static let otherAddress = BluetoothAddress(0xC000_0000_0077, kind: .random)
    /// The identifiers of devices with these addresses, as programs store them.
    static let identifier = UUID(
        uuid: (0xC0, 0x98, 0xE5, 0x12, 0x34, 0x58, 0x80, 0x01, 0x80, 0x43, 0x42, 0x4C, 0x69, 0x6E, 0x75, 0x78))
    static let otherIdentifier = UUID(
        uuid: (0xC0, 0x00, 0x00, 0x00, 0x00, 0x77, 0x80, 0x01, 0x80, 0x43, 0x42, 0x4C, 0x69, 0x6E, 0x75, 0x78))
    static let own = "5E010000-1234-5678-9ABC-DEF012345678"

    static func uuid(_ number: Int) -> String { "CA01000\(number)-1234-5678-9ABC-DEF012345678" }

    let server: SimulatedGATTServer
    let peripheral: SimulatedPeripheral
    /// The writes to the device's dynamic characteristics, in order.
    let written: Written

    final class Written: Sendable {
        private let values = Mutex<[[UInt8]]>([])
        var all: [[UInt8]] { values.withLock { $0 } }
        func append(_ value: [UInt8]) { values.withLock { $0.append(value) } }
    }

    init(
        on radio: SimulatedRadio, at address: BluetoothAddress = Self.address,
        limits: GATTServer.Limits = GATTServer.Limits()
    ) throws {
        let written = Written()
        self.written = written
        server = try SimulatedGATTServer(Self.services, limits: limits)
        server.onWrite { writes, _ in
            for write in writes { written.append(write.value) }
            return writes.contains { $0.value == [0xEE] } ? .refuse(ATTErrorCode(0x80)) : .accept
        }
        peripheral = SimulatedPeripheral(
            on: radio, address: address,
            advertisements: [
                try SimulatedAdvertisement(
                    fields: [
                        .flags([.leGeneralDiscoverable, .brEDRNotSupported]), .services(["180D"]), .txPowerLevel(4),
                        .manufacturerData(ManufacturerData(company: CompanyIdentifier(0xFFFF), data: [1, 2])),
                    ],
                    scanResponse: [
                        .localName(Self.name), .serviceData(ServiceData(service: "180F", data: [97])),
                        .solicitedServices(["1805"]),
                    ])
            ], signalStrength: -55, gatt: server)
    }

    func handle(_ characteristic: String, in service: String) -> AttributeHandle {
        guard let characteristic = BluetoothUUID(characteristic), let service = BluetoothUUID(service) else {
            return .none
        }
        return server.handle(of: characteristic, in: service) ?? .none
    }

    static var services: [GATTService] {
        func uuid(_ number: Int) -> BluetoothUUID { BluetoothUUID(Self.uuid(number)) ?? 0 }
        func label(_ text: String) -> GATTDescriptor {
            GATTDescriptor(
                .characteristicUserDescription, permissions: [.read, .write], value: .stored(Array(text.utf8)))
        }
        return [
            GATTService(
                .genericAccess,
                characteristics: [GATTCharacteristic(.deviceName, properties: .read, value: .stored(Array(name.utf8)))]),
            GATTService(
                .genericAttribute,
                characteristics: [GATTCharacteristic(.serviceChanged, properties: .indicate, value: .dynamic)]),
            GATTService(
                "180D", includedServices: ["180F"],
                characteristics: [
                    GATTCharacteristic("2A37", properties: .notify),
                    GATTCharacteristic("2A38", properties: .read, value: .stored([2])),
                    GATTCharacteristic("2A39", properties: .write, valueLengths: 1...1),
                ]),
            GATTService(
                "180F",
                characteristics: [
                    GATTCharacteristic(
                        "2A19", properties: [.read, .notify, .indicate], value: .stored([97]),
                        descriptors: [
                            GATTDescriptor(
                                .characteristicPresentationFormat, value: .stored([0x04, 0, 0xAD, 0x27, 1, 0, 0]))
                        ])
                ]),
            GATTService(
                BluetoothUUID(own) ?? 0,
                characteristics: [
                    GATTCharacteristic(
                        uuid(1), properties: [.read, .write], value: .stored(Array("note".utf8)),
                        descriptors: [label("a note")]),
                    GATTCharacteristic(uuid(2), properties: [.writeWithoutResponse, .write]),
                    GATTCharacteristic(uuid(3), properties: .indicate),
                    GATTCharacteristic(
                        uuid(4), properties: .read, value: .stored((0..<300).map { UInt8(truncatingIfNeeded: $0) })),
                    GATTCharacteristic(uuid(5), properties: [.read, .notify], value: .stored([0])),
                    GATTCharacteristic(uuid(6), properties: .write, permissions: []),
                ]),
        ]
    }
}

extension CBPeripheral {
    /// A discovered characteristic.
    func characteristic(_ uuid: String, in service: String) -> CBCharacteristic? {
        services?.first { $0.uuid == CBUUID(string: service) }?.characteristics?
            .first { $0.uuid == CBUUID(string: uuid) }
    }
}

extension Fixture {
    /// Runs a test with the device and a program, which has discovered all of it if `isReached`.
    static func withDevice(
        isReached: Bool = true, showsGenericServices: Bool = false,
        _ story: @escaping @Sendable (Fixture, Device, Recorder) async throws -> Void
    ) async throws {
        try await run(showsGenericServices: showsGenericServices) { fixture in
            let device = try Device(on: fixture.radio)
            let program = await Recorder.start(fixture)
            if isReached { _ = try #require(await program.reachDevice()) }
            try await story(fixture, device, program)
            withExtendedLifetime(device) {}
        }
    }
}

extension Recorder {
    /// Calls `body` with a discovered characteristic of the program's one peripheral, on the queue.
    func perform(
        with uuid: String, in service: String, _ body: @escaping @Sendable (CBPeripheral, CBCharacteristic) -> Void
    ) async {
        await perform(with: { peripheral in
            guard let characteristic = peripheral.characteristic(uuid, in: service) else { return }
            body(peripheral, characteristic)
        })
    }

    /// Waits until the device's name is known, which it is if a manager has met the device before.
    func waitForName(_ name: String = Device.name) async {
        if await fixture.onQueue({ self.peripherals.first?.name != name }) { await wait(for: "name \(name)") }
    }

    /// Asks for a connection to the device, which becomes the program's one peripheral.
    func beginConnecting() async {
        await perform { manager, recorder in
            recorder.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.identifier])
            manager.connect(recorder.peripherals[0])
        }
    }

    /// Discovers the services of the program's one peripheral, or only those of one kind.
    func discoverServices(_ kind: String? = nil) async {
        let count = journal.entries.count { $0 == "services" }
        await perform(with: { $0.discoverServices(kind.map { [CBUUID(string: $0)] }) })
        await wait(for: "services", count: count + 1)
    }

    /// Discovers the characteristics of all services that are known; `last` is the last of these.
    func discoverCharacteristics(upTo last: String) async {
        let count = journal.entries.count { $0 == "characteristics \(last)" }
        await perform(with: { peripheral in
            for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
        })
        await wait(for: "characteristics \(last)", count: count + 1)
    }

    /// Connects to the device, for the `round`th time, and discovers everything.
    func reachDevice(named name: String = Device.name, round: Int = 1) async -> CBPeripheral? {
        await perform { manager, recorder in
            guard let peripheral = manager.retrievePeripherals(withIdentifiers: [Device.identifier]).first else {
                return
            }
            recorder.peripherals.append(peripheral)
            manager.connect(peripheral, options: [CBConnectPeripheralOptionRequiresANCS: true])
        }
        await wait(for: "connected", count: round)
        await discoverServices()
        await discoverCharacteristics(upTo: Device.own)
        await waitForName(name)
        _ = take()
        return peripherals.first
    }
}
