import BluetoothGateway
import BluetoothLE
import BluetoothSimulation
import LINBLE
import LINBLESimulation
import TestSupport
import Testing

/// A UART of several adapters.
@Suite(.timeLimit(.minutes(2))) struct GroupUARTTests {
    /// Runs a test with a LINBLE and a group of two adapters, each with room for so many links.
    private static func run(
        links: Int? = nil,
        _ story:
            @escaping @Sendable (SimulatedRadio, SimulatedKernel, SimulatedLINBLE, AdapterGroup) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let linble = SimulatedLINBLE(on: radio)
        var controller = SimulatedController()
        controller.maximumLinks = links
        let kernel = radio.makeKernel(adapters: [controller, controller])
        try await radio.run(limit: .seconds(86_400)) {
            let group = try await AdapterGroup([
                Adapter.open(.index(0), power: .powerOn, on: kernel),
                Adapter.open(.index(1), power: .powerOn, on: kernel),
            ])
            try await story(radio, kernel, linble, group)
        }
    }

    @Test func aUARTOfAGroupIsOpened() async throws {
        try await Self.run { radio, kernel, linble, group in
            let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: group)
            try await uart.send([7])
            #expect(try await uart.read(timeout: .seconds(10)) == [7])
            await uart.disconnect()
            await group.close()
            let error = await failure { _ = try await UARTConnection.open(.address(linble.address), on: group) }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func aKeptUARTWaitsForRoomAndEndsWithItsGroup() async throws {
        try await Self.run(links: 1) { radio, kernel, linble, group in
            var held: [Connection] = []
            for adapter in await group.adapters {
                let other = SimulatedPeripheral(on: radio, gatt: try SimulatedGATTServer([]))
                held.append(try await adapter.connect(to: other.address))
            }
            let uart = UARTConnection.keep(.address(linble.address), on: group)
            var events = await uart.events().makeAsyncIterator()
            while let event = try await events.next() {
                guard let reason = event.waitingForAdapter else { continue }
                #expect(reason.code == .linkLimitReached)
                break
            }
            try await radio.sleep(for: .seconds(1000))
            await held[1].disconnect()
            try await radio.settle { await uart.connection != nil }
            #expect(kernel.links(adapter: 1) == [linble.address])
            await group.close()
            let error = await failure { while try await uart.read() != nil {} }
            #expect(error?.code == .cancelled)
            await held[0].disconnect()
        }
    }
}
