import BluetoothSimulation
import Glibc
import TestSupport
import Testing

import BluetoothLE

/// Recorded dialogues with the devices of Examples/Small and with Bumble, replayed by the peer of this client or server.
///
/// `Tests/Vectors/dialogues/record` records them.
@Suite struct ReplayTests {
    private static let folder = #filePath.replacing(
        "/BluetoothLETests/Replay/ReplayTests.swift", with: "/Vectors/dialogues")
    /// While recording, the socket of the other stack's server.
    private static let recorder = getenv("BLUETOOTH_RECORD_DIALOGUES").map { atoi($0) }

    /// Where Bumble 0.0.236 deviates from the specification: a request, and the response to expect in place of its own.
    private static let corrections = [
        "10FFFF01000028": "0110FFFF01",  // Read By Group Type of handles in the wrong order, or from 0: Invalid Handle.
        "10000001000028": "0110000001",
        "0A1C00": "010A1C0002",  // It reads what may only be written.
    ]

    /// Puts the device of a world file with this name on the air, and returns its address.
    private static func putDevice(_ name: String, on radio: SimulatedRadio) throws -> BluetoothAddress {
        let world = try SimulationFile(contentsOf: "\(folder)/../../../Examples/Small/world.json")
        world.put(on: radio)
        return try #require(world.devices.first { $0.name == name }?.address)
    }

    /// Discovers everything, reads, writes back, and subscribes.
    private static func visit(_ address: BluetoothAddress, _ adapter: Adapter, _ radio: SimulatedRadio) async throws {
        let connection = try await adapter.connect(to: address)
        for service in try await connection.discover().services {
            for characteristic in service.characteristics {
                let properties = characteristic.properties
                let value = properties.contains(.read) ? try? await connection.read(characteristic) : nil
                for descriptor in characteristic.descriptors { _ = try? await connection.read(descriptor.handle) }
                if properties.contains(.write) { try? await connection.write(value ?? [1], to: characteristic) }
                guard !properties.isDisjoint(with: [.notify, .indicate]), characteristic.uuid != .serviceChanged
                else { continue }
                let values = try await connection.subscribe(to: characteristic)
                try await radio.sleep(for: .seconds(2))
                withExtendedLifetime(values) {}
            }
        }
        await connection.disconnect()
    }

    @Test(arguments: ["Pulse-Z1", "Thermo", "Lamp", "LINBLE-Z1", "bumble-server"])
    func theClientSendsWhatWasRecorded(_ name: String) async throws {
        let file = "\(Self.folder)/\(name).btsnoop"
        let peer = RecordedPeer(Self.recorder == nil ? try RecordedPDU.all(in: file) : [], isClient: false)
        try await Fixture.run { fixture in
            var address: BluetoothAddress?
            var trace: PacketTrace?
            if let recorder = Self.recorder {
                trace = try await PacketTrace.open(
                    file, replacingExisting: true, source: .synthesised, on: fixture.kernel)
                if name != "bumble-server" { address = try Self.putDevice(name, on: fixture.radio) }
                address =
                    address
                    ?? SimulatedPeripheral(on: fixture.radio, handler: { _ in RemoteServer(socket: recorder) }).address
            }
            let device = address ?? SimulatedPeripheral(on: fixture.radio, handler: { _ in peer }).address
            let adapter = try await Adapter.open(configuration: .init(trace: trace), on: fixture.kernel)
            try await Self.visit(device, adapter, fixture.radio)
            await adapter.close()
            await trace?.close()
        }
        #expect(peer.problems == [])
    }

    @Test func theServerSendsWhatBumblesSent() async throws {
        var recorded = try RecordedPDU.all(in: "\(Self.folder)/bumble-client.btsnoop")
        for (request, response) in Self.corrections {
            let index = try #require(recorded.firstIndex { $0.bytes == hex(request) })
            recorded[index + 1].bytes = hex(response)
        }
        let dialogue = recorded
        try await Fixture.run { fixture in
            let world = try SimulationFile(contentsOf: "\(Self.folder)/served.json")
            let adapter = try await Adapter.open(on: fixture.kernel)
            let published = try await adapter.publish(Array(world.devices[0].gattServices.dropFirst(2)))
            let peer = RecordedPeer(dialogue, isClient: true) { pdu in
                let handle = AttributeHandle(UInt16(pdu[1]) | UInt16(pdu[2]) << 8)
                _ = fixture.begin {
                    _ =
                        pdu[0] == 0x1B
                        ? try await published.notify(Array(pdu[3...]), of: handle)
                        : try await published.indicate(Array(pdu[3...]), of: handle)
                }
            }
            let device = SimulatedPeripheral(on: fixture.radio, handler: { _ in peer })
            let connection = try await adapter.connect(to: device.address)
            try await fixture.settle { peer.hasEnded }
            #expect(peer.problems == [])
            await connection.disconnect()
        }
    }
}
