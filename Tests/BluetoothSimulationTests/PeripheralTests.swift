import BluetoothATT
import BluetoothGATT
import BluetoothSimulation
import Testing

struct PeripheralTests {
    /// A battery service whose level is stored, a dynamic name, and a writable characteristic.
    private func makeServer() throws -> SimulatedGATTServer {
        try SimulatedGATTServer([
            GATTService(
                0x180F,
                characteristics: [
                    GATTCharacteristic(0x2A19, properties: [.read, .notify, .indicate], value: .stored([77])),
                    GATTCharacteristic(0x2A00, properties: [.read]),
                    GATTCharacteristic(0x2A3D, properties: [.write, .writeWithoutResponse]),
                ])
        ])
    }

    private func hex(_ handle: AttributeHandle) -> [UInt8] {
        [UInt8(truncatingIfNeeded: handle.rawValue), UInt8(truncatingIfNeeded: handle.rawValue >> 8)]
    }

    /// Runs `body` on a link on which the level is subscribed to.
    private func subscribed(
        to configuration: ClientCharacteristicConfiguration,
        _ body:
            @escaping @Sendable (
                SimulatedRadio, SimulatedGATTServer, SimulatedPeripheral, AttributeHandle, Channel
            ) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let server = try makeServer()
        let peripheral = SimulatedPeripheral(on: radio, gatt: server)
        let level = try #require(server.handle(of: 0x2A19, in: 0x180F))
        try await radio.run {
            let channel = try await kernel.link(to: peripheral.address)
            channel.send(
                [0x12] + hex(AttributeHandle(rawValue: level.rawValue + 1)) + [UInt8(configuration.rawValue), 0])
            #expect(await channel.nextPacket() == [0x13])
            try await body(radio, server, peripheral, level, channel)
        }
    }

    @Test func itAnswersLate() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let server = try makeServer()
        server.onRead { _, _ in .value([7], after: .seconds(29)) }
        let peripheral = SimulatedPeripheral(on: radio, gatt: server)
        let name = try #require(server.handle(of: 0x2A00, in: 0x180F))
        try await radio.run {
            let channel = try await kernel.link(to: peripheral.address)
            let start = radio.now
            channel.send([0x0A] + hex(name))
            #expect(await channel.nextPacket() == [0x0B, 7])
            let time = start.duration(to: radio.now)
            #expect(time >= .seconds(29) && time < .milliseconds(29_100))
            // A link that ends meanwhile has no answer.
            channel.send([0x0A] + hex(name))
            try await radio.sleep(for: .seconds(10))
            peripheral.disconnect()
            _ = await channel.end()
            try await radio.sleep(for: .seconds(30))
        }
    }

    @Test func notificationsAreHeldBackByTheLinkAndNoneIsLost() async throws {
        try await subscribed(to: .notification) { radio, server, peripheral, level, channel in
            peripheral.setSending(false)
            var count = 0
            while server.notifyAtOnce([UInt8(truncatingIfNeeded: count)], of: level) == 1 { count += 1 }
            #expect(count == 12)
            peripheral.setSending(true)
            async let sending: Void = {
                for value in 12..<100 { await server.notify([UInt8(truncatingIfNeeded: value)], of: level) }
            }()
            for value in 0..<100 {
                #expect(await channel.nextPacket() == [0x1B] + hex(level) + [UInt8(truncatingIfNeeded: value)])
            }
            await sending
        }
    }

    @Test func indicationsWaitForTheirConfirmation() async throws {
        try await subscribed(to: .indication) { radio, server, peripheral, level, channel in
            async let confirmed = server.indicate([1], of: level)
            #expect(await channel.nextPacket() == [0x1D] + hex(level) + [1])
            channel.send([0x1E])
            #expect(await confirmed == 1)
            async let lost = server.indicate([2], of: level)
            #expect(await channel.nextPacket() == [0x1D] + hex(level) + [2])
            channel.socket.close()
            #expect(await lost == 0)
        }
    }

    @Test func aMutePeripheralAnswersNothing() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let peripheral = SimulatedPeripheral(on: radio, gatt: try makeServer())
        peripheral.setMute(true)
        try await radio.run {
            let channel = try await kernel.link(to: peripheral.address)
            channel.send([0x02, 0x40, 0x00])
            try await radio.sleep(for: .seconds(40))
            #expect(channel.tap.pending.isEmpty)
        }
    }

    @Test func whatAReaderDoesNotTakeIsLostAndCounted() async throws {
        try await subscribed(to: .notification) { radio, server, peripheral, level, channel in
            channel.socket.setReading(false)
            for _ in 0..<333 { await server.notify([1], of: level) }
            try await radio.sleep(for: .seconds(5))
            var readable = 0
            while channel.receive() != nil { readable += 1 }
            #expect(readable == 278)
            #expect(radio.statistics.receiveOverflows == 55)
        }
    }
}
