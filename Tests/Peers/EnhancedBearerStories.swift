import BluetoothLE
import Testing

extension Peers.Pairing {
    /// Bumble's central opens enhanced bearers to this machine's server (Enhanced ATT: Core Vol 3 Part G §5.3).
    @Suite struct EnhancedBearers {
        private static let service = LocalService(
            0xFFF0, characteristics: [LocalCharacteristic(0xFFF1, properties: [.read, .write], value: [7, 8])])

        @Test func requestsGoByAllOfThemAtOnce() async throws {
            try await Fixture.run { fixture in
                try await fixture.adapter.removeForeignAdvertising()
                let published = try await fixture.adapter.publish([Self.service])
                let value = try #require(published.handle(of: 0xFFF1))
                try await fixture.adapter.setPairingAgent(JustWorksPairingAgent())
                let incoming = try await fixture.adapter.incomingConnections(
                    IncomingConnectionOptions(enhancedBearers: 3))
                let set = try await fixture.adapter.advertise(AdvertisementContent(localName: "machine"))
                let address = fixture.adapter.information.address
                let kind = address.kind == .public ? "public" : "random"
                try await fixture.ask("call caller-bearers connect \(address.digits) \(kind)")
                try await fixture.wait(for: "a central") { !incoming.connections.isEmpty }
                let connection = try #require(incoming.connections.first)
                try await fixture.ask("call caller-bearers find")
                // Server Supported Features reports support; without encryption there is none.
                #expect(try await fixture.ask("call caller-bearers read 2B3A") == "01")
                await #expect(throws: FixtureError.self) { _ = try await fixture.ask("call caller-bearers bearers 1") }
                try await fixture.ask("call caller-bearers pair")
                #expect(try await fixture.ask("call caller-bearers bearers 3") == "3")
                // The central has the kernel's answer before this program has the channel.
                try await fixture.wait(for: "four bearers") { await connection.bearerCount == 4 }
                let read = try await fixture.ask("call caller-bearers readall FFF1")
                #expect(read == "0708,0708,0708")
                try await fixture.ask("call caller-bearers writeby 2 FFF1 010203")
                #expect(published.value(of: value) == [1, 2, 3])
                #expect(try await fixture.ask("call caller-bearers readall FFF1") == "010203,010203,010203")
                #expect(try await fixture.ask("call caller-bearers read FFF1") == "010203")
                await set.close()
                incoming.close()
                await connection.disconnect()
            }
        }
    }
}
