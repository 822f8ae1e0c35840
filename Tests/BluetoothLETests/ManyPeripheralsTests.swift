import BluetoothSimulation
import Testing

import BluetoothLE

/// Many devices at the same time on one adapter.
@Suite(.timeLimit(.minutes(4))) struct ManyPeripheralsTests {
    private static let value: BluetoothUUID = 0xFFF1

    /// A device that notifies a counter at a given rate.
    private struct Device: Sendable {
        let server: SimulatedGATTServer
        let peripheral: SimulatedPeripheral
        let handle: AttributeHandle

        init(on radio: SimulatedRadio) throws {
            let server = try SimulatedGATTServer([
                GATTService(
                    0xFFF0,
                    characteristics: [GATTCharacteristic(value, properties: .notify, value: .stored([0]))])
            ])
            self.server = server
            peripheral = SimulatedPeripheral(on: radio, gatt: server)
            handle = try #require(server.handle(of: value, in: 0xFFF0))
        }

        /// Notifies 0, 1, 2 … `count` − 1, one per `period`.
        func notify(_ count: UInt32, every period: Duration, on radio: SimulatedRadio) async throws {
            let start = radio.now
            for number in 0..<count {
                let due = start.advanced(by: period * Int(number))
                if due > radio.now { try await radio.sleep(for: radio.now.duration(to: due)) }
                await server.notify(number.littleEndianBytes, of: handle)
            }
        }
    }

    /// Receives `count` values, which must be 0, 1, 2 …; returns their number.
    private static func take(
        _ count: UInt32, from values: BoundedStream<[UInt8]>, of peer: BluetoothAddress
    ) async throws -> UInt32 {
        var expected: UInt32 = 0
        for try await value in values {
            guard value == expected.littleEndianBytes else {
                Issue.record("\(value) instead of \(expected) from \(peer)")
                break
            }
            expected += 1
            if expected == count { break }
        }
        return expected
    }

    /// The controller's events for as many attempts fit into the socket.
    @Test func nothingIsMissedAtSimultaneousConnects() async throws {
        try await Fixture.run { fixture in
            let radio = fixture.radio
            radio.conditions.failsOnOverflow = true
            let adapter = try await Adapter.open(on: fixture.kernel)
            let band = try (0..<24).map { _ in try Device(on: radio) }
            let connects = band.map { device in
                fixture.begin { try await adapter.connect(to: device.peripheral.address) }
            }
            for connect in connects { await (try await connect.value).disconnect() }
            #expect(radio.statistics.eventOverflows == 0)
            await adapter.close()
        }
    }

    /// 64 devices, each notifying at 1 kHz for 10 s of the radio's time: nothing is lost or reordered, and at no time
    /// more than 128 values wait for a consumer, or the stream would fail.
    @Test func nothingIsLostAtAKilohertzFromEach() async throws {
        let (devices, count) = (64, UInt32(10_000))
        try await Fixture.run { fixture in
            let radio = fixture.radio
            // The shortest connection interval, 7.5 ms, carries 8 packets of each link.
            radio.conditions.packetsPerConnectionEvent = 12
            radio.conditions.failsOnOverflow = true
            let adapter = try await Adapter.open(on: fixture.kernel)
            let band = try (0..<devices).map { _ in try Device(on: radio) }
            try await withThrowingTaskGroup(of: UInt32.self) { group in
                for device in band {
                    let connection = try await adapter.connect(to: device.peripheral.address)
                    device.peripheral.requestConnectionParameters(
                        .init(intervalMinimum: 6, intervalMaximum: 6, latency: 0, supervisionTimeout: 100))
                    let characteristic = try #require(
                        try await connection.discover().first { $0.uuid == 0xFFF0 }?.characteristic(Self.value))
                    let values = try await connection.subscribe(to: characteristic, bufferCapacity: 128)
                    group.addTask(executorPreference: radio.loop) {
                        try await Self.take(count, from: values, of: connection.peer)
                    }
                }
                try await radio.sleep(for: .seconds(1))
                let start = radio.now
                for device in band {
                    group.addTask(executorPreference: radio.loop) {
                        try await device.notify(count, every: .milliseconds(1), on: radio)
                        return 0
                    }
                }
                let received = try await group.reduce(0) { $0 + Int($1) }
                #expect(received == devices * Int(count))
                // All kept pace: the last value came within half a second of being due.
                let taken = start.duration(to: radio.now)
                #expect(taken < .milliseconds(10_500), "it took \(taken)")
            }
            #expect(radio.statistics.receiveOverflows == 0)
            await adapter.close()
        }
    }
}

extension UInt32 {
    fileprivate var littleEndianBytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}
