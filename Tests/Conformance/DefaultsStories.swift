import BluetoothSockets
import TestSupport
import Testing

import struct BluetoothManagement.SystemParameter

extension Conformance {
    /// The defaults of an adapter (Set Default System Configuration), observed in the kernel's HCI commands.
    @Suite struct DefaultsStories {
        /// The parameters of the first command with one of these opcodes, which the kernel sends to an adapter.
        private static func command(
            _ opcodes: [UInt16], to adapter: KernelAdapter, _ monitor: MonitorUser
        ) async throws -> (opcode: UInt16, parameters: ArraySlice<UInt8>) {
            let opcode = { @Sendable (packet: MonitorUser.Packet) -> UInt16? in
                guard packet.kind == .command, packet.adapter == adapter.index, packet.payload.count > 3 else {
                    return nil
                }
                let opcode = UInt16(packet.payload[0]) | UInt16(packet.payload[1]) << 8
                return opcodes.contains(opcode) ? opcode : nil
            }
            let packets = try await monitor.packets(of: adapter) { opcode($0) != nil }
            let packet = try #require(packets.first { opcode($0) != nil })
            return (try #require(opcode(packet)), packet.payload.dropFirst(3))
        }

        @Test func aNewAdapterHasTheKernels() async throws {
            try await Fixture.run { fixture in
                let list = try await fixture.management.succeed(.readDefaultSystemConfiguration, on: fixture.central)
                // Number, size and value: the scan for connects, the connection parameters, the time limit.
                for parameter in [
                    "1500 02 6000", "1600 02 6000", "1700 02 1800", "1800 02 2800", "1900 02 0000", "1A00 02 2A00",
                    "1B00 02 204E",
                ] {
                    let wanted = hex(parameter)
                    let isThere = list.indices.contains { list[$0...].starts(with: wanted) }
                    #expect(isThere, "\(parameter)")
                }
            }
        }

        @Test func theyHoldForAdvertising() async throws {
            try await Fixture.run { fixture in
                try await fixture.setDefaults(
                    [
                        SystemParameter(.advertisingIntervalMinimum, 0x0120),
                        SystemParameter(.advertisingIntervalMaximum, 0x0140),
                    ], on: fixture.peripheral)
                let monitor = try await fixture.openMonitor()
                try await fixture.advertise()
                // LE Set Advertising Parameters, and that of extended advertising after its handle and properties.
                let sent = try await Self.command([0x2006, 0x2036], to: fixture.peripheral, monitor)
                #expect(
                    sent.parameters.dropFirst(sent.opcode == 0x2006 ? 0 : 3).starts(
                        with: hex(sent.opcode == 0x2006 ? "2001 4001" : "200100 400100")))
            }
        }

        @Test func theyHoldForConnecting() async throws {
            try await Fixture.run { fixture in
                // A device that was connected keeps its entry, with parameters of its own, until it is removed.
                let device = fixture.peripheral.address.managementBytes
                _ = try await fixture.management.succeed(.addDevice, on: fixture.central, device + [2])
                _ = try await fixture.management.succeed(.removeDevice, on: fixture.central, device)
                try await fixture.setDefaults(
                    [
                        SystemParameter(.connectScanInterval, 0x0080), SystemParameter(.connectScanWindow, 0x0040),
                        SystemParameter(.connectionIntervalMinimum, 0x0020),
                        SystemParameter(.connectionIntervalMaximum, 0x0030), SystemParameter(.latency, 2),
                        SystemParameter(.supervisionTimeout, 0x0190),
                    ], on: fixture.central)
                let monitor = try await fixture.openMonitor()
                _ = try await fixture.link()
                // The scan for the device: LE Set Scan Parameters, and that of extended scanning after address and policy.
                let scan = try await Self.command([0x200B, 0x2041], to: fixture.central, monitor)
                #expect(scan.parameters.dropFirst(scan.opcode == 0x200B ? 1 : 4).starts(with: hex("8000 4000")))
                // LE Create Connection: the peer and the own address are in between.
                let creation = try await Self.command([0x200D, 0x2043], to: fixture.central, monitor)
                let fields = creation.parameters.dropFirst(creation.opcode == 0x200D ? 0 : 10)
                #expect(fields.starts(with: hex("8000 4000")))
                #expect(fields.dropFirst(creation.opcode == 0x200D ? 13 : 4).starts(with: hex("2000 3000 0200 9001")))
            }
        }
    }
}
