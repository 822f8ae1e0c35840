import BluetoothLE
import Capture
import BluetoothSystem
import SimulatedKernel
import Testing

/// README.md, Docs/Guide/Central.md and Docs/Guide/Capture.md
@Suite struct OtherStories {
    @Test func theFirstSnippet() async throws {
        try await World.run { world in
            try await ReadmePage.swiftBluetoothLe()
            let name: BluetoothUUID = 0x2A00
            #expect(world.lines.count == 2)
            #expect(world.lines.first == "\(BluetoothUUID(0x1800)) \([name])")
        }
    }

    @Test func aUART() async throws {
        try await World.withAdapter { world, adapter in
            try await ReadmePage.aUART(adapter)
            #expect(world.lines == ["[1, 64]"])
            #expect(world.linble.statistics.bytesFromHosts == 2)
        }
    }

    @Test func aTestWithoutHardware() async throws {
        try await ReadmePage.aTestWithoutHardware()
    }

    @Test func theContextOfAllOthers() async throws {
        try await World.run { world in
            try await CentralPage.theSnippets()
            #expect(world.lines == ["hci0 is connected to \(world.sensor.address)"])
        }
    }

    @Test func recordingPackets() async throws {
        try await World.run([SimulatedController()]) { world in
            let path = "\(world.folder)/session.btsnoop"
            defer { try? SystemFiles.remove(path) }
            try await CapturePage.recordingPackets()
            let bytes = try #require(try SystemFiles.read(path, limit: 1 << 20))
            var reader = try BTSnoopReader(bytes.span.bytes)
            var kinds: Set<CapturedPacketKind> = []
            while let record = try reader.next() { kinds.insert(record.packet.kind) }
            #expect(kinds.isSuperset(of: [.newIndex, .controlCommand, .controlEvent]))
        }
    }
}
