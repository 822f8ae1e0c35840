import BluetoothSimulation
import Testing

import BluetoothLE

@Suite struct DisconnectingTests {
    /// Runs `body` with a peripheral and a connection to it.
    private static func run(
        _ body: @escaping @Sendable (Fixture, Adapter, SimulatedPeripheral, Connection) async throws -> Void
    ) async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            peripheral.setService(0x85, receiveMTU: 64)
            try await body(fixture, adapter, peripheral, try await adapter.connect(to: peripheral.address))
        }
    }

    @Test(arguments: [true, false]) func theLinkIsDownAfterwards(_ isPrivileged: Bool) async throws {
        try await Self.run { fixture, _, _, connection in
            if !isPrivileged { (fixture.kernel.hasNetRaw, fixture.kernel.hasNetAdmin) = (false, false) }
            let time = await fixture.duration { await connection.disconnect() }
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
            #expect(time > .milliseconds(1900) && time < .milliseconds(2600), "\(time)")
            let again = await fixture.duration { await connection.disconnect() }
            #expect(again < .milliseconds(10))
        }
    }

    @Test func theAdapterNeedNotBeRetained() async throws {
        try await Fixture.run { fixture in
            let peripheral = try fixture.makePeripheral()
            let connection = try await Adapter.open(on: fixture.kernel).connect(to: peripheral.address)
            let time = await fixture.duration { await connection.disconnect(timeout: .seconds(60)) }
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
            #expect(time < .milliseconds(2600), "\(time)")
        }
    }

    @Test func theProgramsSideEndsAtOnce() async throws {
        try await Self.run { fixture, _, _, connection in
            let ending = fixture.begin { await connection.disconnect() }
            let time = await fixture.duration {
                #expect(await connection.disconnected().disconnectReason == .local)
            }
            #expect(time < .milliseconds(10))
            #expect(!fixture.kernel.links(adapter: 0).isEmpty)
            try await ending.value
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test(arguments: [Duration.zero, .milliseconds(500)]) func itWaitsNoLongerThanThat(_ limit: Duration) async throws {
        try await Self.run { fixture, _, _, connection in
            let time = await fixture.duration { await connection.disconnect(timeout: limit) }
            #expect(time >= limit && time < limit + .milliseconds(10), "\(time)")
            #expect(!fixture.kernel.links(adapter: 0).isEmpty)
            try await fixture.settle { fixture.kernel.links(adapter: 0).isEmpty }
        }
    }

    @Test func aCancelledTaskDoesNotWait() async throws {
        try await Self.run { fixture, _, _, connection in
            let ending = fixture.begin { await connection.disconnect() }
            try await fixture.radio.sleep(for: .milliseconds(100))
            ending.cancel()
            let time = try await fixture.duration { try await ending.value }
            #expect(time < .milliseconds(10))
        }
    }

    @Test func anAdapterThatGoesEndsTheWait() async throws {
        try await Self.run { fixture, _, _, connection in
            let ending = fixture.begin { await connection.disconnect() }
            try await fixture.radio.sleep(for: .milliseconds(100))
            fixture.kernel.setPowered(false, adapter: 0)
            let time = try await fixture.duration { try await ending.value }
            #expect(time < .milliseconds(100), "\(time)")
        }
    }

    @Test func aClosedAdapterEndsTheWait() async throws {
        try await Self.run { fixture, adapter, _, connection in
            let ending = fixture.begin { await connection.disconnect() }
            try await fixture.radio.sleep(for: .milliseconds(100))
            await adapter.close()
            let time = try await fixture.duration { try await ending.value }
            #expect(time < .milliseconds(10), "\(time)")
        }
    }

    @Test func aConnectMeanwhileUsesTheLinkAgain() async throws {
        try await Self.run { fixture, adapter, peripheral, connection in
            let ending = fixture.begin { await connection.disconnect() }
            try await fixture.radio.sleep(for: .milliseconds(100))
            let again = try await adapter.connect(to: peripheral.address)
            let time = try await fixture.duration { try await ending.value }
            #expect(time < .milliseconds(10), "\(time)")
            #expect(await again.isConnected)
            await again.disconnect()
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func aChannelKeepsTheLink() async throws {
        try await Self.run { fixture, _, _, connection in
            let channel = try await connection.openChannel(psm: 0x85)
            let time = await fixture.duration { await connection.disconnect() }
            #expect(time < .milliseconds(10), "\(time)")
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(!fixture.kernel.links(adapter: 0).isEmpty)
            #expect(await channel.isOpen)
            await channel.close()
        }
    }

    @Test func aLinkThatThePeerEndedIsNotWaitedFor() async throws {
        try await Self.run { fixture, _, peripheral, connection in
            peripheral.disconnect()
            _ = await connection.disconnected()
            let time = await fixture.duration { await connection.disconnect() }
            #expect(time < .milliseconds(10), "\(time)")
        }
    }

    @Test func thePeersEndMeanwhileEndsTheWait() async throws {
        try await Self.run { fixture, _, peripheral, connection in
            let ending = fixture.begin { await connection.disconnect() }
            try await fixture.radio.sleep(for: .milliseconds(500))
            peripheral.disconnect()
            let time = try await fixture.duration { try await ending.value }
            #expect(time < .milliseconds(500), "\(time)")
        }
    }

    @Test func aConnectionOfAClosureIsDownAfterwards() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            for _ in 0..<3 {
                try await adapter.withConnection(to: peripheral.address) { #expect(await $0.isConnected) }
                #expect(fixture.kernel.links(adapter: 0).isEmpty)
            }
        }
    }
}
