import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Several callers of one program that connect to one device.
@Suite struct SharedConnectionTests {
    @Test func callersGetTheSameConnectionWhichEndsWithTheLast() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            var first: Connection? = try await adapter.connect(to: peripheral.address)
            var second: Connection? = try await adapter.connect(to: peripheral.address)
            #expect(first === second)
            first = nil
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(await second?.isConnected == true)
            second = nil
            try await fixture.settle { peripheral.links.isEmpty }
            let again = try await adapter.connect(to: peripheral.address)
            await again.disconnect()
        }
    }

    /// At each moment of the first connect.
    @Test func aConnectThatIsUnderWayIsJoined() async throws {
        for delay in stride(from: 0, through: 240, by: 15) {
            try await Fixture.withPeripheral { fixture, adapter, peripheral in
                let first = fixture.begin { try await adapter.connect(to: peripheral.address) }
                try await fixture.radio.sleep(for: .milliseconds(delay))
                let second = try await adapter.connect(to: peripheral.address)
                #expect(try await first.value === second, "after \(delay) ms")
                #expect(await second.maximumTransmissionUnit > 23)
                #expect(peripheral.links.count == 1)
                await second.disconnect()
            }
        }
    }

    @Test func theEndOfOneAttemptLeavesItToTheOther() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            peripheral.setHidden(true)
            let first = fixture.begin { try await adapter.connect(to: peripheral.address) }
            try await fixture.radio.sleep(for: .seconds(1))
            let second = fixture.begin { try await adapter.connect(to: peripheral.address) }
            // One with a shorter limit ends at it.
            let time = await fixture.duration {
                let options = ConnectionOptions(timeout: .seconds(3))
                let error = await failure { _ = try await adapter.connect(to: peripheral.address, options: options) }
                #expect(error?.code == .timedOut)
                #expect(error?.remedy == BluetoothError.outOfReachRemedy)
            }
            #expect(time == .seconds(3))
            first.cancel()
            let failed = await failure { _ = try await first.value }
            #expect(failed?.code == .cancelled)
            peripheral.setHidden(false)
            let connection = try await second.value
            await connection.disconnect()
        }
    }

    @Test func theOptionsAreRaised() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let first = try await adapter.connect(to: peripheral.address, options: ConnectionOptions(use: .lowPower))
            #expect(await first.parameters?.interval == .milliseconds(100))
            let options = ConnectionOptions(security: SecurityOptions(.medium), use: .throughput)
            let second = try await adapter.connect(to: peripheral.address, options: options)
            #expect(first === second)
            try await fixture.settle { await first.parameters?.interval == .milliseconds(15) }
            #expect(try await first.security().level == .medium)
            // Less is no change.
            _ = try await adapter.connect(to: peripheral.address, options: ConnectionOptions(use: .lowPower))
            try await fixture.radio.sleep(for: .seconds(2))
            #expect(await first.parameters?.interval == .milliseconds(15))
            try await fixture.settle { await first.dataLength?.transmitOctets == 251 }
            await second.disconnect()
        }
    }

    /// A caller that is cancelled, or whose security is not reached, ends no link of another.
    @Test func aCallThatFailsLeavesTheLink() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let first = try await adapter.connect(to: peripheral.address)
            let second = fixture.begin {
                try await adapter.connect(to: peripheral.address, options: ConnectionOptions(use: .throughput))
            }
            try await fixture.radio.sleep(for: .milliseconds(50))
            second.cancel()
            _ = await failure { _ = try await second.value }
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(await first.isConnected)
            await first.disconnect()
        }
    }

    @Test func aCallThatFailsAfterTheOthersHaveLeftEndsTheLink() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let kept = adapter.keepConnected(to: peripheral.address)
            let first = try await kept.connected()
            let second = fixture.begin {
                let options = ConnectionOptions(security: SecurityOptions(.medium))
                return try await adapter.connect(to: peripheral.address, options: options)
            }
            try await fixture.radio.sleep(for: .milliseconds(50))
            await kept.disconnect()
            #expect(await first.isConnected)
            second.cancel()
            _ = await failure { _ = try await second.value }
            try await fixture.settle { await !first.isConnected }
        }
    }

    @Test func keptConnectionsAndConnectsShareTheLink() async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let one = adapter.keepConnected(to: peripheral.address)
            var two: KeptConnection? = adapter.keepConnected(to: peripheral.address)
            let plain = try await adapter.connect(to: peripheral.address)
            #expect(try await one.connected() === plain)
            #expect(try await two?.connected() === plain)
            try await adapter.withConnection(to: peripheral.address) { #expect($0 === plain) }
            two = nil
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(await plain.isConnected)
            // It ends for all, and the kept connection makes the next.
            await plain.disconnect()
            let next = try await one.connected()
            #expect(next !== plain)
            await one.disconnect()
            #expect(await !next.isConnected)
        }
    }

    /// The other's connection stays as long as its program holds it.
    @Test(arguments: [false, true]) func aKeptConnectionThatEndsLeavesTheLinkToTheOther(
        _ closesAdapter: Bool
    ) async throws {
        try await Fixture.withPeripheral { fixture, adapter, peripheral in
            let kept = adapter.keepConnected(to: peripheral.address)
            _ = try await kept.connected()
            var plain: Connection? = try await adapter.connect(to: peripheral.address)
            var events = await kept.events().makeAsyncIterator()
            _ = try await events.next()
            if closesAdapter { await adapter.close() } else { await kept.disconnect() }
            #expect(await failure { _ = try await events.next() }?.code == .cancelled)
            #expect(await failure { _ = try await kept.connected(timeout: nil) }?.code == .cancelled)
            #expect(await kept.connection == nil)
            try await fixture.radio.sleep(for: .seconds(5))
            #expect(await plain?.isConnected == true)
            plain = nil
            try await fixture.settle { peripheral.links.isEmpty }
        }
    }

    /// A central's link to this program is one to it as well.
    @Test func anIncomingLinkIsShared() async throws {
        try await Fixture.run { fixture in
            let (here, there) = (
                try await Adapter.open(on: fixture.kernel), try await Adapter.open(on: fixture.radio.makeKernel())
            )
            let set = try await here.advertise(AdvertisementContent(localName: "here"))
            let central = try await there.connect { $0.localName == "here" }
            let connection = try await here.connect(to: there.information.address)
            #expect(connection.role == .peripheral)
            #expect(await connection.isConnected)
            await central.disconnect()
            await set.close()
        }
    }
}
