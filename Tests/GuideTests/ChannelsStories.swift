import BluetoothManagement
import TestSupport
import Testing

import BluetoothLE

/// Docs/Guide/Central/Channels.md
@Suite struct ChannelsStories {
    @Test func openingOne() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            try await ChannelsPage.openingOne(connection)
            #expect(fixture.lines == ["5 bytes"])
        }
    }

    @Test func aServiceThatIsNotThere() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            fixture.sensor.peripheral.setService(0x0085, receiveMTU: nil)
            #expect(await failureCode { try await ChannelsPage.openingOne(connection) } == .connectionFailed)
        }
    }

    @Test func withoutAttributes() async throws {
        try await Fixture.withConnection { fixture, adapter, connection in
            let reading = fixture.begin { try await ChannelsPage.openingOne2(adapter, connection) }
            try await fixture.radio.sleep(for: .seconds(1))
            for link in fixture.sensor.peripheral.links { link.send([1, 2, 3], on: .dynamic(psm: 0x0085)) }
            try await fixture.settle(printed: 1)
            #expect(fixture.lines == ["3 bytes"])
            // The peer closes it, and the loop ends.
            fixture.sensor.peripheral.closeChannels(0x0085)
            try await reading.value
        }
    }

    @Test func aLinkThatIsLostIsNoEnd() async throws {
        try await Fixture.withConnection { fixture, adapter, connection in
            let reading = fixture.begin { try await ChannelsPage.openingOne2(adapter, connection) }
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.sensor.peripheral.breakLinks()
            #expect(await failureCode { try await reading.value } == .disconnected)
        }
    }

    @Test func writing() async throws {
        try await Fixture.withConnection { fixture, adapter, connection in
            _ = try await connection.requestParameters(.lowLatency)
            let packets = fixture.radio.statistics.packetsDelivered
            try await ChannelsPage.writing(adapter, connection)
            // In SDUs of the device's MTU of 512 bytes.
            #expect(fixture.radio.statistics.packetsDelivered - packets >= 2048)
        }
    }

    @Test func aPeerThatDoesNotRead() async throws {
        try await Fixture.withConnection { fixture, adapter, connection in
            fixture.sensor.peripheral.setGrantingCredits(false)
            let time = await fixture.duration {
                #expect(await failureCode { try await ChannelsPage.writing(adapter, connection) } == .timedOut)
            }
            #expect(time >= .seconds(120) && time < .seconds(121))
            #expect(await connection.isConnected)
        }
    }

    @Test func offeringAService() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let (other, here) = try await Self.neighbour(fixture, adapter)
            let serving = fixture.begin { try await ChannelsPage.offeringAService(adapter) }
            try await fixture.radio.sleep(for: .seconds(1))
            let channels = [
                try await other.openChannel(to: here, psm: 0x0085), try await other.openChannel(to: here, psm: 0x0085),
            ]
            for (number, channel) in channels.enumerated() { try await channel.write([1, UInt8(number)]) }
            for (number, channel) in channels.enumerated() {
                #expect(try await channel.read() == [1, UInt8(number)])
            }
            // The end of one channel does not end the other.
            await channels[0].close()
            try await channels[1].write([3])
            #expect(try await channels[1].read() == [3])
            // The end of the service does.
            #expect(await serving.ended() == .cancelled)
            #expect(try await channels[1].read() == nil)
            #expect(await failureCode { _ = try await other.openChannel(to: here, psm: 0x0085) } == .connectionFailed)
            await other.close()
        }
    }

    @Test func moreBearers() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            let user = try await PairingUser(fixture.kernel)
            try await ChannelsPage.attributesOverMoreBearers(connection)
            #expect(fixture.lines == ["3 more, 4 in all"])
            #expect(try await connection.security().level >= .medium)
            withExtendedLifetime(user) {}
        }
    }

    /// Another machine in range, and the address of this one, which advertises.
    private static func neighbour(
        _ fixture: Fixture, _ adapter: Adapter
    ) async throws -> (Adapter, BluetoothAddress) {
        let other = try await Adapter.open(on: fixture.radio.makeKernel())
        let management = ManagementCaller(on: fixture.kernel)
        _ = try await management.send(
            ManagementAddAdvertising(instance: 1, flags: [.connectable, .generalDiscoverable]), to: 0)
        await management.close(.cancelled(.init("advertise")))
        return (other, adapter.information.address)
    }
}
