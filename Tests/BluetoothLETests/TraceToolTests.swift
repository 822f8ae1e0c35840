import Glibc
import BluetoothSimulation
import Testing

import BluetoothLE

/// The output and the exit status of an installed program.
private func run(_ command: String) -> (output: String, status: Int32) {
    guard let stream = popen("\(command) 2>/dev/null", "r") else { return ("", -1) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { bytes += buffer.prefix(count) }
    return (String(decoding: bytes, as: UTF8.self), pclose(stream))
}

private let hasTools = run("command -v btmon && command -v tshark").status == 0

/// The readers of captures on a trace of this library. Tests/run installs them (bluez, tshark).
@Suite(.enabled(if: hasTools, "btmon and tshark are not installed: bash Tests/install bluez tshark"))
struct TraceToolTests {
    private static let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)

    /// A trace of reading a value and receiving a notification.
    ///
    /// - Parameter discovers: whether all attributes are discovered first. btmon 5.66 crashes on every Read By Type
    ///   Request for characteristic declarations, even in its own captures.
    private func record(_ source: PacketTrace.Source, discovers: Bool) async throws -> TemporaryFile {
        let file = TemporaryFile(source.rawValue)
        try await Fixture.run { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    0xFFF0,
                    characteristics: [
                        GATTCharacteristic(0xFFF1, properties: .read, value: .stored([0x68, 0x69])),
                        GATTCharacteristic(0xFFF3, properties: .notify, value: .stored([0])),
                    ])
            ])
            let read = try #require(server.handle(of: 0xFFF1, in: 0xFFF0))
            let notified = try #require(server.handle(of: 0xFFF3, in: 0xFFF0))
            _ = SimulatedPeripheral(on: fixture.radio, address: Self.peer, gatt: server)
            let trace = try await PacketTrace.open(file.path, source: source, on: fixture.kernel)
            let adapter = try await Adapter.open(configuration: .init(trace: trace), on: fixture.kernel)
            let connection = try await adapter.connect(to: Self.peer)
            _ = discovers ? try await connection.discover().services : try await connection.discoverServices()
            _ = try await connection.read(read)
            // The configuration's handle follows the value's.
            try await connection.write([1, 0], to: AttributeHandle(rawValue: notified.rawValue + 1))
            _ = await server.notify([1, 2], of: notified)
            try await fixture.radio.sleep(for: .seconds(1))
            await connection.disconnect()
            try await fixture.radio.sleep(for: .seconds(3))
            await adapter.close()
            await trace.close()
        }
        return file
    }

    @Test(arguments: [PacketTrace.Source.monitor, .synthesised])
    func btmonReadsIt(source: PacketTrace.Source) async throws {
        let file = try await record(source, discovers: false)
        let (output, status) = run("btmon -r \(file.path)")
        #expect(status == 0)
        for text in [
            "LE Enhanced Connection Complete", "Peer address: C0:98:E5:12:34:56", "ATT: Exchange MTU Request",
            "ATT: Read Request", "Value: 6869", "ATT: Handle Value Notification", "Disconnect Complete", "MGMT Command",
        ] {
            #expect(output.contains(text), "\(text)")
        }
    }

    @Test(arguments: [PacketTrace.Source.monitor, .synthesised])
    func tsharkReadsIt(source: PacketTrace.Source) async throws {
        let file = try await record(source, discovers: true)
        let fields = "-T fields -e btatt.opcode -e bthci_acl.src.bd_addr -e bthci_acl.dst.bd_addr -e btatt.value"
        let (output, status) = run("tshark -r \(file.path) -Y btatt \(fields)")
        #expect(status == 0)
        let rows = output.split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
        let peer = "c0:98:e5:12:34:56"
        // A Read Request to the peer; from the peer a Read Response and a notification, with their values.
        #expect(rows.contains { $0[0] == "0x0a" && $0[2] == peer })
        #expect(rows.contains { $0[0] == "0x0b" && $0[1] == peer && $0[3] == "6869" })
        #expect(rows.contains { $0[0] == "0x1b" && $0[1] == peer && $0[3] == "0102" })
        let (bad, _) = run("tshark -r \(file.path) -Y _ws.malformed")
        #expect(bad.isEmpty, "\(bad)")
    }
}
