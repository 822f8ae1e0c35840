import BluetoothGATT
import BluetoothLoop
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

import BluetoothLE

@Suite struct DiscoveryTests {
    private static let long: BluetoothUUID = "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"

    private static func makeServer() throws -> SimulatedGATTServer {
        try SimulatedGATTServer([
            GATTService(
                0x1812, includedServices: [0x180F, .uuid(long)],
                characteristics: [
                    GATTCharacteristic(0x2A4D, properties: [.read, .notify], value: .stored([1])),
                    GATTCharacteristic(0x2A4D, properties: [.read, .notify], value: .stored([2])),
                    GATTCharacteristic(0x2A4A, properties: .read, value: .stored([3])),
                ]),
            GATTService(0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: .read, value: .stored([9]))]),
            GATTService(
                long, isPrimary: false,
                characteristics: [GATTCharacteristic(0x2A00, properties: .read, value: .stored([7]))]),
            GATTService(0x1234, isPrimary: false),
        ])
    }

    /// Runs `body` on a link to a peripheral with the given server.
    private static func connected(
        mtu: Int = 517, _ body: @escaping @Sendable (Connection) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: try makeServer())
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await adapter.withConnection(
                to: peripheral.address, options: ConnectionOptions(maximumTransmissionUnit: mtu)
            ) { connection in
                try await body(connection)
            }
        }
    }

    @Test("included services are part of the tree", arguments: [23, 247])
    func tree(mtu: Int) async throws {
        try await Self.connected(mtu: mtu) { connection in
            let services = try await connection.discover()
            #expect(services.map(\.uuid) == [0x1812, 0x180F, Self.long])
            #expect(services.map(\.isPrimary) == [true, true, false])
            let device = try #require(services.service(0x1812))
            #expect(device.includedServices.map(\.uuid) == [0x180F, Self.long])
            let secondary = try #require(services.service(device.includedServices[1]))
            let characteristic = try #require(secondary.characteristic(0x2A00))
            #expect(try await connection.read(characteristic) == [7])
        }
    }

    @Test("inconsistencies are reported, and the rest is usable, also from the cache and its file")
    func problems() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in AnsweringHandler(malformedSensor) }
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await adapter.withConnection(to: peripheral.address) { connection in
                let database = try await connection.discover()
                #expect(database.map(\.uuid) == [.genericAccess, 0x180D])
                #expect(
                    database.problems == [
                        DatabaseProblem(
                            .invalidValueHandle, .characteristic, at: 5,
                            declared: AttributeHandleRange(start: 0, end: 0), uuid: 0x2A37)
                    ])
                let location = try #require(database.characteristic(0x2A38, in: 0x180D))
                #expect(try await connection.read(location) == [2])
                #expect(try await connection.discover() == database)
                let step = try await connection.discoverCharacteristics(of: try #require(database.service(0x180D)))
                #expect(step.map(\.uuid) == [0x2A38])
            }
        }
    }

    @Test("discovery of an endless server stops with a part of the database")
    func limit() async throws {
        try await Fixture.run { fixture in
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in EndlessServer(on: fixture.radio.loop) }
            let adapter = try await Adapter.open(on: fixture.kernel)
            try await adapter.withConnection(to: peripheral.address) { connection in
                let database = try await connection.discover()
                #expect(database.problems.map(\.reason) == [.tooManyRequests])
                #expect(database.count == DatabaseDiscovery.requestLimit)
                #expect(await connection.isConnected)
            }
        }
    }

    @Test("discovery of a slow server times out after five minutes")
    func timeLimit() async throws {
        try await Fixture.run { fixture in
            let loop = fixture.radio.loop
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in
                EndlessServer(pause: .seconds(29), on: loop)
            }
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let taken = await fixture.duration {
                let error = await failure { _ = try await connection.discover() }
                #expect(error?.code == .timedOut)
            }
            #expect(taken == .seconds(300))
            #expect(await connection.isConnected)
            await connection.disconnect()
        }
    }

    /// The server answers each request in time, and never ends.
    @Test("a single step with a slow server times out after five minutes, unless it has a limit of its own")
    func timeLimitOfSteps() async throws {
        try await Fixture.run(limit: .seconds(3600)) { fixture in
            let loop = fixture.radio.loop
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in
                EndlessServer(pause: .milliseconds(29_900), on: loop)
            }
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let steps: [@Sendable () async throws -> Void] = [
                { _ = try await connection.discoverServices() },
                { _ = try await connection.readValues(of: 0x2A19) },
                { _ = try await connection.read(AttributeHandle(0x0003)) },
            ]
            for step in steps {
                // The request of the step before is still outstanding.
                try await fixture.radio.sleep(for: .seconds(30))
                let taken = await fixture.duration {
                    let error = await failure { try await step() }
                    #expect(error?.code == .timedOut)
                    #expect(error?.message.contains("300 s in total") == true, "\(error?.message ?? "")")
                }
                #expect(taken == .seconds(300))
                #expect(await connection.isConnected)
            }
            try await fixture.radio.sleep(for: .seconds(30))
            let own = await fixture.duration {
                let error = await failure { _ = try await connection.discoverServices(timeout: .seconds(400)) }
                #expect(error?.code == .timedOut)
            }
            #expect(own == .seconds(400))
            await connection.disconnect()
        }
    }

    /// A server with a service and a battery level at every handle, one per response, and endless values.
    private final class EndlessServer: SimulatedLinkHandler {
        private let pause: Duration?
        private let loop: EventLoop
        private let timer = Mutex<LoopTimer?>(nil)

        init(pause: Duration? = nil, on loop: EventLoop) {
            self.pause = pause
            self.loop = loop
        }

        func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
            let request = [UInt8](packet)
            guard let opcode = request.first else { return }
            let answer: [UInt8]
            switch opcode {
            case 0x10 where request.count > 3: answer = [0x11, 0x06] + request[1...2] + request[1...2] + [0x00, 0x18]
            case 0x08 where request.suffix(2) == [0x19, 0x2A]: answer = [0x09, 0x03] + request[1...2] + [97]
            case 0x0A, 0x0C: answer = [opcode + 1] + [UInt8](repeating: 7, count: 22)
            default: return _ = link.send([0x01, opcode, 0, 0, 0x06])
            }
            guard let pause else { return _ = link.send(answer) }
            let later = loop.makeTimer { link.send(answer) }
            later.set(after: pause)
            timer.withLock { $0 = later }
        }
    }

    @Test("each step of discovery can be performed alone")
    func steps() async throws {
        try await Self.connected { connection in
            let services = try await connection.discoverServices(0x1812)
            let device = try #require(services.first)
            let included = try await connection.discoverIncludedServices(of: device)
            #expect(included.map(\.uuid) == [0x180F, Self.long])
            let inside = try await connection.discoverCharacteristics(of: included[1])
            #expect(inside.map(\.uuid) == [0x2A00])
            let reports = try await connection.discoverCharacteristics(0x2A4D, of: device)
            #expect(reports.count == 2)
            #expect(try await connection.read(reports[1]) == [2])
        }
    }
}
