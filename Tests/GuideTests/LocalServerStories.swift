import BluetoothLE
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

/// A device that acts as a client of its central: bytes out, bytes in.
private final class Client: SimulatedLinkHandler {
    private let state = Mutex<[String]>([])

    /// The received PDUs, except for the central's MTU exchange.
    var inbound: [String] { state.withLock { $0 } }

    func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        let bytes = [UInt8](packet)
        if bytes.first == 0x02 { return _ = link.send([0x03, 0x17, 0x00]) }
        state.withLock { $0.append(bytes.hexadecimal) }
    }
}

/// Docs/Guide/Central/LocalServer.md
@Suite struct LocalServerStories {
    private static func run(
        _ story: @escaping @Sendable (Fixture, Adapter, Connection, SimulatedPeripheral, Client) async throws -> Void
    ) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let client = Client()
            let peripheral = SimulatedPeripheral(on: fixture.radio, handler: { _ in client })
            let connection = try await adapter.connect(
                to: peripheral.address, options: ConnectionOptions(maximumTransmissionUnit: 23))
            try await story(fixture, adapter, connection, peripheral, client)
            await connection.disconnect()
        }
    }

    /// Handle 0x0012: after the Generic Access and the Generic Attribute service.
    @Test func publishing() async throws {
        try await Self.run { fixture, adapter, _, peripheral, client in
            try await LocalServerPage.servingAttributesAsACentral(adapter)
            #expect(fixture.lines == ["at \(AttributeHandleRange(start: 0x10, end: 0x13))"])
            peripheral.links.first?.send(hex("0A 1200"))
            try await fixture.settle { !client.inbound.isEmpty }
            #expect(client.inbound == ["0BE80701010C0000010000"])
            #expect(fixture.lines.last == "\(peripheral.address) reads \(BluetoothUUID(0x2A2B))")
        }
    }

    @Test func sendingValues() async throws {
        try await Self.run { fixture, adapter, connection, peripheral, client in
            let sending = fixture.begin { try await LocalServerPage.sendingValues(adapter, connection) }
            try await fixture.radio.sleep(for: .seconds(1))
            #expect(client.inbound.isEmpty)
            peripheral.links.first?.send(hex("12 1300 0100"))
            try await fixture.settle { client.inbound.count == 2 }
            #expect(client.inbound == ["13", "1B1200010203"])
            peripheral.disconnect()
            #expect(await failureCode { try await sending.value } == .disconnected)
        }
    }

    @Test func valuesAreSentOnlyToSubscribers() async throws {
        try await Self.run { _, adapter, connection, _, _ in
            let sample = LocalCharacteristic(0xFFF1, properties: [.notify, .indicate], value: [0])
            let published = try await adapter.publish { LocalService(0xFFF0) { sample } }
            let value = published[sample]
            #expect(await failureCode { try await value.notify([1], to: connection) } == .notSubscribed)
            #expect(await failureCode { try await value.indicate([1], to: connection) } == .notSubscribed)
        }
    }
}
