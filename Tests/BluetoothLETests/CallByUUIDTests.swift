import BluetoothGATT
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// What calls by UUID cost on the air, and that they trust nothing which the device has not shown on the link.
@Suite struct CallByUUIDTests {
    private static func uuid(_ service: Int, _ characteristic: Int) throws -> BluetoothUUID {
        try #require(BluetoothUUID("10000000-\(1000 + service)-\(1000 + characteristic)-0000-00000000ABCD"))
    }

    /// Ten services of five characteristics, with UUIDs of 128 bits; more services in front of them.
    private static func services(_ count: Int = 10, before: [GATTService] = []) throws -> [GATTService] {
        try before
            + (0..<count).map { service in
                GATTService(
                    try uuid(service, 0),
                    characteristics: try (1...5).map { characteristic in
                        GATTCharacteristic(
                            try uuid(service, characteristic), properties: [.read, .write, .notify],
                            value: .stored([UInt8(truncatingIfNeeded: service), UInt8(characteristic)]))
                    })
            }
    }

    /// A device and an adapter whose packets are counted.
    private struct DeviceFixture: Sendable {
        let base: Fixture
        let kernel: FaultingKernel
        let adapter: Adapter
        let server: SimulatedGATTServer
        let peripheral: SimulatedPeripheral

        /// Replaces the device by one with new firmware, which has one service more in front.
        func withNewFirmware() throws -> (SimulatedGATTServer, SimulatedPeripheral) {
            let front = GATTService(
                0xFFE0,
                characteristics: [GATTCharacteristic(0xFFE1, properties: [.read, .write], value: .stored([8]))])
            let server = try SimulatedGATTServer(try CallByUUIDTests.services(2, before: [front]))
            let renewed = SimulatedPeripheral(on: base.radio, address: peripheral.address, gatt: server)
            peripheral.remove()
            return (server, renewed)
        }

        /// Runs `body` on a new link; returns the packets and the time of the MTU exchange and of `body`.
        func cost(
            _ body: (Connection) async throws -> Void
        ) async throws -> (packets: Int, time: Duration) {
            kernel.arm(at: nil) {}
            let connection = try await adapter.connect(to: peripheral.address)
            // The exchange takes two connection events.
            let exchange = Duration.milliseconds(30 * kernel.count)
            let time = try await base.duration { try await body(connection) }
            let packets = kernel.count
            await connection.disconnect()
            return (packets, exchange + time)
        }

        /// Subscribes, and waits for the value that the device sends at once.
        func firstValue(of uuid: BluetoothUUID, in service: BluetoothUUID, _ connection: Connection) async throws {
            let handle = try #require(server.handle(of: uuid, in: service))
            server.onSubscription { [server] changed, configuration, _ in
                if changed == handle, configuration == .notification { _ = server.notifyAtOnce([9], of: handle) }
            }
            var values = try await connection.subscribe(to: uuid, in: service).makeAsyncIterator()
            #expect(try await values.next() == [9])
        }
    }

    private static func run(
        _ services: [GATTService], _ body: @escaping @Sendable (DeviceFixture) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let server = try SimulatedGATTServer(services)
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            try await body(
                DeviceFixture(base: fixture, kernel: kernel, adapter: adapter, server: server, peripheral: peripheral))
            await adapter.close()
        }
    }

    // MARK: Cost

    /// Of the whole database: 19 packets and 570 ms.
    @Test("the first value is read with 8 packets in 240 ms, and notified with 11 in 330 ms", arguments: [false, true])
    func firstValue(isKnown: Bool) async throws {
        try await Self.run(try Self.services()) { fixture in
            let (uuid, service) = (try Self.uuid(6, 3), try Self.uuid(6, 0))
            if isKnown { _ = try await fixture.cost { _ = try await $0.discover() } }
            let read = try await fixture.cost { connection in
                let value = try await connection.read(uuid, in: service)
                #expect(value == [6, 3])
            }
            #expect(read.packets <= 8 && read.time <= .milliseconds(240), "\(read)")
            let notified = try await fixture.cost { try await fixture.firstValue(of: uuid, in: service, $0) }
            #expect(notified.packets <= 11 && notified.time <= .milliseconds(330), "\(notified)")
            let written = try await fixture.cost { try await $0.write([1], to: uuid, in: service) }
            #expect(written.packets <= 8 && written.time <= .milliseconds(240), "\(written)")
        }
    }

    @Test func aSecondCallCostsItsRequest() async throws {
        try await Self.run(try Self.services()) { fixture in
            let (uuid, service) = (try Self.uuid(6, 3), try Self.uuid(6, 0))
            _ = try await fixture.cost { connection in
                _ = try await connection.read(uuid, in: service)
                let before = fixture.kernel.count
                _ = try await connection.read(uuid, in: service)
                try await connection.write([2], to: uuid, in: service)
                #expect(fixture.kernel.count == before + 4)
                // What a discovery has found needs no search either, and what it has not is not searched for.
                _ = try await connection.discover()
                let discovered = fixture.kernel.count
                _ = try await connection.read(try Self.uuid(2, 1), in: try Self.uuid(2, 0))
                let missing = await failureCode { _ = try await connection.read(0x2A19, in: service) }
                #expect(missing == .notFound)
                #expect(fixture.kernel.count == discovered + 2)
            }
        }
    }

    /// A search through all services would take 400 times as long.
    @Test func aLookUpDoesNotGrowWithTheDatabase() throws {
        func cost(of count: UInt32) throws -> Duration {
            let services = (0..<count).map { number in
                let start = AttributeHandle(UInt16(number * 3 + 1))
                return RemoteService(
                    uuid: BluetoothUUID(0x1_0000 + number), handles: AttributeHandleRange(start: start, end: start),
                    characteristics: [
                        RemoteCharacteristic(
                            uuid: 0xFFF1, properties: .read, declarationHandle: start, valueHandle: start,
                            endHandle: start)
                    ])
            }
            var shown = ShownAttributes()
            let durations = (0..<5).map { _ in
                ContinuousClock().measure {
                    for _ in 0..<1000 {
                        let found = shown.characteristic(0xFFF1, in: BluetoothUUID(0x1_0000 + count - 1), of: services)
                        #expect(found?.valueHandle == services.last?.handles.start)
                    }
                }
            }
            return try #require(durations.min())
        }
        #expect(try cost(of: 4000) < cost(of: 10) * 20)
    }

    @Test func aSecondaryServiceIsFound() async throws {
        let secondary = GATTService(
            0xFFE0, isPrimary: false,
            characteristics: [GATTCharacteristic(0xFFE1, properties: .read, value: .stored([4]))])
        try await Self.run([secondary, GATTService(0xFFF0, includedServices: [0xFFE0])]) { fixture in
            _ = try await fixture.cost { connection in
                let value = try await connection.read(0xFFE1, in: 0xFFE0)
                #expect(value == [4])
            }
        }
    }

    // MARK: Known from an earlier link

    /// A database without Service Changed cannot change (Core Vol 3 Part G §2.5.2).
    @Test func aDatabaseWithoutServiceChangedIsKept() async throws {
        try await Self.run(try Self.services()) { fixture in
            let (uuid, service) = (try Self.uuid(6, 3), try Self.uuid(6, 0))
            let first = Mutex<RemoteDatabase?>(nil)
            _ = try await fixture.cost { connection in
                let database = try await connection.discover()
                first.withLock { $0 = database }
            }
            let again = try await fixture.cost { connection in
                let database = try await connection.discover()
                #expect(database == first.withLock { $0 })
            }
            #expect(again.packets == 2, "the exchange of the MTU")
            // A known handle is confirmed before its first write, and once.
            let written = try await fixture.cost { connection in
                let found = try #require(try await connection.discover().characteristic(uuid, in: service))
                for value in 0..<3 { try await connection.write([UInt8(value)], to: found) }
                try await connection.write([3], to: found.valueHandle)
                try await connection.writeCommand([4], to: found)
            }
            #expect(written.packets == 2 + 2 + 8 + 1)
        }
    }

    /// The ways to write to a characteristic that another has taken the place of.
    enum Write: CaseIterable, Sendable { case request, command, handle, reliable, subscription }

    @Test("a changed device gets no write that was meant for another attribute", arguments: Write.allCases)
    func changed(_ write: Write) async throws {
        let before = try Self.services(2)
        try await Self.run(before) { fixture in
            _ = try await fixture.cost { _ = try await $0.discover() }
            let (server, peripheral) = try fixture.withNewFirmware()
            let connection = try await fixture.adapter.connect(to: peripheral.address)
            let (uuid, service) = (try Self.uuid(1, 2), try Self.uuid(1, 0))
            let old = try #require(try await connection.discover().characteristic(uuid, in: service))
            let error = await failure {
                switch write {
                case .request: try await connection.write([7], to: old)
                case .command: try await connection.writeCommand([7], to: old)
                case .handle: try await connection.write([7], to: old.valueHandle)
                case .reliable: try await connection.writeReliably([AttributeWrite([7], to: old)])
                case .subscription: _ = try await connection.subscribe(to: old)
                }
            }
            #expect(error?.code == .attributesChanged)
            for service in 0..<2 {
                for characteristic in 1...5 {
                    let handle = try #require(
                        server.handle(of: try Self.uuid(service, characteristic), in: try Self.uuid(service, 0)))
                    #expect(server.value(of: handle) == [UInt8(service), UInt8(characteristic)])
                    #expect(server.subscribers(of: handle).isEmpty)
                }
            }
            let now = try #require(try await connection.discover().characteristic(uuid, in: service))
            #expect(now.valueHandle != old.valueHandle)
            try await connection.write([7], to: now)
            await connection.disconnect()
        }
    }

    @Test func aChangedDeviceIsSearchedByName() async throws {
        try await Self.run(try Self.services(2)) { fixture in
            _ = try await fixture.cost { _ = try await $0.discover() }
            let (server, peripheral) = try fixture.withNewFirmware()
            let (uuid, service) = (try Self.uuid(1, 2), try Self.uuid(1, 0))
            let handle = try #require(server.handle(of: uuid, in: service))
            var connection = try await fixture.adapter.connect(to: peripheral.address)
            // It is not in the known database, and what is in it has moved.
            #expect(try await connection.read(0xFFE1, in: 0xFFE0) == [8])
            #expect(try await connection.read(uuid, in: service) == [1, 2])
            await connection.disconnect()
            connection = try await fixture.adapter.connect(to: peripheral.address)
            try await connection.write([5], to: uuid, in: service, type: .withoutResponse)
            try await fixture.base.settle { server.value(of: handle) == [5] }
            await connection.disconnect()
        }
    }
}
