import BluetoothLE
import BluetoothCapture
import BluetoothSystem
import BluetoothSimulation
import Testing

/// README.md, Docs/Guide/Central.md and Docs/Guide/Capture.md
@Suite struct OtherStories {
    @Test func theFirstSnippet() async throws {
        try await Fixture.run { fixture in
            try await ReadmePage.aFirstProgram()
            let name: BluetoothUUID = 0x2A00
            #expect(fixture.lines.count == 2)
            #expect(fixture.lines.first == "\(BluetoothUUID(0x1800)) \([name])")
        }
    }

    @Test func theContextOfAllOthers() async throws {
        try await Fixture.run { fixture in
            try await CentralPage.theSnippets()
            #expect(fixture.lines == ["hci0 is connected to \(fixture.sensor.address)"])
        }
    }

    @Test func aTimeLimit() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await CentralPage.timeLimitsAndTheEventLoop(adapter, fixture.sensor.address)
            #expect(fixture.lines == [Sensor.name])
        }
    }

    @Test func aTaskOnTheLoop() async throws {
        try await Fixture.withConnection { fixture, adapter, connection in
            try await CentralPage.timeLimitsAndTheEventLoop2(adapter, connection)
            #expect(fixture.lines == ["1000"])
        }
    }

    @Test func capturingPackets() async throws {
        try await Fixture.run([SimulatedController()]) { fixture in
            let path = "\(fixture.folder)/session.btsnoop"
            defer { try? SystemFiles.remove(path) }
            try await CapturePage.capturingPackets()
            let bytes = try #require(try SystemFiles.read(path, limit: 1 << 20))
            var (reader, kinds) = (CaptureReader(), Set<CaptureRecord.Kind>())
            reader.append(bytes)
            try reader.read { kinds.insert($0.kind) }
            try reader.finish()
            #expect(kinds.isSuperset(of: [.packet(.newIndex), .packet(.controlCommand), .packet(.controlEvent)]))
        }
    }
}
