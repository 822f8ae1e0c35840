import BluetoothCapture
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSystem
import Glibc
import Synchronization
import TestSupport
import Testing

import BluetoothLE

/// A temporary file name; the file is removed with the object.
final class TemporaryFile: Sendable {
    let path: String

    init(_ name: String = "trace") {
        path = "/tmp/bluetooth-\(name)-\(getpid())-\(UInt64.random(in: 0 ... .max)).btsnoop"
    }

    deinit {
        unlink(path)
    }

    var bytes: [UInt8] { (try? SystemFiles.read(path, limit: 1 << 24)) ?? [] }

    /// The kind, adapter and bytes of every packet of the file.
    func packets() throws -> [(kind: CapturedPacketKind, adapter: UInt16, payload: [UInt8])] {
        var reader = CaptureReader()
        var packets: [(CapturedPacketKind, UInt16, [UInt8])] = []
        reader.append(bytes)
        try reader.read { record in
            if case .packet(let kind) = record.kind { packets.append((kind, record.adapter, record.payload)) }
        }
        try reader.finish()
        return packets
    }
}

@Suite struct TraceTests {
    @Test(
        arguments: [
            ("a.btsnoop", "a.btsnoop"), ("%p-%t", "42-7"), ("%%p%p%%%t%", "%p42%7%"), ("%x%%%", "%x%%"), ("", ""),
        ])
    func theEnvironmentNamesAFileForAProcessAndATime(_ name: String, _ file: String) {
        #expect(EnvironmentTrace.expanded(name, process: 42, seconds: 7) == file)
    }

    @Test(arguments: [PacketTrace.Source.monitor, .synthesised])
    func aConnectionIsRecorded(source: PacketTrace.Source) async throws {
        let file = TemporaryFile()
        try await Fixture.run { fixture in
            let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)
            _ = SimulatedPeripheral(on: fixture.radio, address: peer, gatt: try SimulatedGATTServer([]))
            let trace = try await PacketTrace.open(file.path, source: source, on: fixture.kernel)
            #expect(trace.source == source)
            let adapter = try await Adapter.open(configuration: .init(trace: trace), on: fixture.kernel)
            let connection = try await adapter.connect(to: peer)
            await connection.disconnect()
            try await fixture.radio.sleep(for: .seconds(3))
            await adapter.close()
            await trace.close()
        }
        let packets = try file.packets()
        #expect(packets.contains { $0.kind == .newIndex })
        #expect(packets.contains { $0.kind == .controlCommand })
        #expect(packets.contains { $0.kind == .controlEvent })
        // LE Enhanced Connection Complete with the peer's address, the MTU both ways, Disconnection Complete.
        let complete = try #require(
            packets.firstIndex { $0.kind == .event && $0.payload.starts(with: hex("3E1F0A00")) })
        #expect(packets[complete].payload[7..<14] == hex("01 563412E598C0")[...])
        let request = try #require(packets.firstIndex { $0.kind == .aclSent && $0.payload.dropFirst(8).first == 2 })
        let response = try #require(
            packets.firstIndex { $0.kind == .aclReceived && $0.payload.dropFirst(8).first == 3 })
        let end = try #require(packets.firstIndex { $0.kind == .event && $0.payload.first == 5 })
        #expect(complete < request && request < response && response < end)
        #expect(packets[end].payload.prefix(5) == hex("05 04 00")[...] + packets[complete].payload[4..<6])
    }

    /// A program whose file has capabilities (`AT_SECURE`) does not show its user what other programs read and write.
    @Test(arguments: [false, true]) func otherProgramsAreRecordedForThoseWhoMayReadThem(isSecure: Bool) async throws {
        let file = TemporaryFile()
        let secret = Array("ROOTSECRET".utf8)
        try await Fixture.run { fixture in
            fixture.kernel.isSecureExecution = isSecure
            let server = try SimulatedGATTServer([
                GATTService(
                    0xFFF0,
                    characteristics: [GATTCharacteristic(0xFFF1, properties: [.read, .write], value: .stored(secret))])
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let trace = try await PacketTrace.open(file.path, on: fixture.kernel)
            #expect(trace.source == (isSecure ? .synthesised : .monitor))
            let own = try await Adapter.open(configuration: .init(trace: trace), on: fixture.kernel)
            let other = try await Adapter.open(on: fixture.kernel)
            let connection = try await other.connect(to: peripheral.address)
            #expect(try await connection.read(0xFFF1, in: 0xFFF0) == secret)
            try await connection.write(secret, to: 0xFFF1, in: 0xFFF0)
            await connection.disconnect()
            for adapter in [own, other] { await adapter.close() }
            await trace.close()
        }
        let payloads = try file.packets().map(\.payload)
        #expect(!payloads.isEmpty)
        #expect(payloads.contains { $0.contains(secret) } == !isSecure)
    }

    @Test func theMonitorIsRefusedToAProgramWithFileCapabilities() async throws {
        let file = TemporaryFile()
        try await Fixture.run { fixture in
            fixture.kernel.isSecureExecution = true
            let error = await failure {
                _ = try await PacketTrace.open(file.path, source: .monitor, on: fixture.kernel)
            }
            #expect(error?.code == .notPermitted)
            #expect(error?.remedy?.contains("root") == true && error?.remedy?.contains("setcap") == false)
        }
        #expect(file.bytes.isEmpty)
    }

    @Test func anExistingFileIsReplacedOnlyOnRequest() async throws {
        let file = TemporaryFile()
        try await Fixture.run { fixture in
            let first = try await PacketTrace.open(file.path, on: fixture.kernel)
            first.note("first")
            await first.close()
            let before = file.bytes
            do throws(BluetoothError) {
                _ = try await PacketTrace.open(file.path, on: fixture.kernel)
                Issue.record("the file was opened")
            } catch {
                #expect(error.code == .failed)
                #expect(
                    "\(error)" == """
                        record packets: \(file.path) exists already. [open: EEXIST]
                        Choose another name, or replace the file.
                        """)
            }
            #expect(file.bytes == before)
            let second = try await PacketTrace.open(file.path, replacingExisting: true, on: fixture.kernel)
            await second.close()
            #expect(!file.bytes.isEmpty && file.bytes.count < before.count)
        }
    }

    @Test func aWriteThatFailsLaterIsReportedOnce() async throws {
        try await Fixture.run { fixture in
            let failures = Mutex<[BluetoothError]>([])
            let trace = try await PacketTrace.open("/dev/full", on: fixture.kernel) { error in
                failures.withLock { $0.append(error) }
            }
            await trace.close()
            let failure = try #require(trace.failure)
            #expect(failures.withLock { $0 } == [failure])
            #expect(failure.cause == .kernel(KernelError("write", .noSpace)))
        }
    }

    @Test func theEndOfALinkWhoseConnectionWasDroppedIsRecorded() async throws {
        let file = TemporaryFile()
        try await Fixture.run { fixture in
            let peripheral = try fixture.makePeripheral()
            let trace = try await PacketTrace.open(file.path, source: .synthesised, on: fixture.kernel)
            let adapter = try await Adapter.open(configuration: .init(trace: trace), on: fixture.kernel)
            for _ in 0..<2 {
                _ = try await adapter.connect(to: peripheral.address)
                try await fixture.radio.sleep(for: .seconds(3))
            }
            await adapter.close()
            await trace.close()
        }
        let events = try file.packets().filter { $0.kind == .event }.map(\.payload)
        let beginnings = events.filter { $0.starts(with: hex("3E1F0A00")) }
        let ends = events.filter { $0.starts(with: hex("0504")) }
        #expect(beginnings.count == 2)
        #expect(ends.map { $0[3..<5] } == beginnings.map { $0[4..<6] })
    }
}
