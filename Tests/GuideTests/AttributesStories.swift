import BluetoothLE
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Central/Attributes.md
@Suite struct AttributesStories {
    /// The output of a snippet with a connection to the sensor.
    private static func lines(
        of snippet: @escaping @Sendable (Connection) async throws -> Void,
        _ check: @escaping @Sendable ([String], Fixture) async throws -> Void
    ) async throws {
        try await Fixture.withConnection { fixture, _, connection in
            try await snippet(connection)
            try await check(fixture.lines, fixture)
        }
    }

    @Test func byUUID() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            let using = fixture.begin { try await AttributesPage.byUUID(connection) }
            try await fixture.sensor.notify([0, 72], of: 0x2A37, in: 0x180D, fixture)
            try await using.value
            #expect(fixture.lines == ["97 %", "[0, 72]"])
            #expect(fixture.sensor.writes.map(\.value) == [[1]])
        }
    }

    // MARK: Discovering

    @Test func discover() async throws {
        try await Self.lines(of: AttributesPage.discover) { lines, _ in
            let properties: CharacteristicProperties = [.read, .notify]
            #expect(lines == ["\(properties) \([BluetoothUUID.clientCharacteristicConfiguration])"])
        }
    }

    @Test func severalOfAKind() async throws {
        try await Self.lines(of: AttributesPage.discover2) { lines, fixture in
            let service: BluetoothUUID = 0x1812
            #expect(lines.count == 2)
            #expect(lines.allSatisfy { $0.hasSuffix(" \(service)") })
            #expect(Set(lines).count == 2)
            #expect(lines.first == "\(fixture.sensor.handle(of: 0x2A4D, in: 0x1812)) \(service)")
        }
    }

    @Test func includedServices() async throws {
        try await Self.lines(of: AttributesPage.discover3) { lines, _ in
            let (rate, battery): (BluetoothUUID, BluetoothUUID) = (0x180D, 0x180F)
            #expect(lines == ["\(rate) includes \(battery) 1"])
        }
    }

    @Test func problems() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let device = SimulatedPeripheral(on: fixture.radio) { _ in AnsweringHandler(malformedSensor) }
            try await adapter.withConnection(to: device.address) { connection in
                try await AttributesPage.discover4(connection)
            }
            let problem = "characteristic 2A37 at 0x0005: its value handle 0x0000 does not follow the declaration"
            #expect(fixture.lines == [problem])
        }
    }

    @Test func stepByStep() async throws {
        try await Self.lines(of: AttributesPage.discover5) { lines, _ in #expect(lines == ["1 1"]) }
    }

    // MARK: Reading

    @Test func read() async throws {
        try await Self.lines(of: AttributesPage.read) { lines, _ in #expect(lines == [Sensor.name]) }
    }

    @Test func byType() async throws {
        try await Self.lines(of: AttributesPage.read2) { lines, _ in
            #expect(lines == ["\(AttributeHandle(3)) \(Array(Sensor.name.utf8))"])
        }
    }

    @Test func severalValues() async throws {
        try await Self.lines(of: AttributesPage.read3) { lines, _ in
            let (level, location): (BluetoothUUID, BluetoothUUID) = (0x2A19, 0x2A38)
            #expect(lines.count == 1)
            #expect(lines.first?.contains("\(level): [97]") == true)
            #expect(lines.first?.contains("\(location): [2]") == true)
        }
    }

    // MARK: Writing

    @Test func write() async throws {
        try await Self.lines(of: AttributesPage.write) { _, fixture in
            #expect(fixture.sensor.writes.map(\.value) == [[1]])
            #expect(fixture.sensor.writes.map(\.handle) == [fixture.sensor.handle(of: 0x2A39, in: 0x180D)])
        }
    }

    @Test func withoutAnAnswer() async throws {
        try await Self.lines(of: AttributesPage.writeWithoutResponse) { _, fixture in
            try await fixture.settle { fixture.sensor.server.value(of: 0x0012)?.count == 512 }
        }
    }

    @Test func allAtOnce() async throws {
        try await Self.lines(of: AttributesPage.reliableWrites) { _, fixture in
            let server = fixture.sensor.server
            #expect(server.value(of: fixture.sensor.handle(of: 0xFFF1, in: 0xFFF0)) == [10])
            #expect(server.value(of: fixture.sensor.handle(of: 0xFFF2, in: 0xFFF0)) == [1, 2, 3, 4, 0xFF, 6])
        }
    }

    // MARK: Subscribing

    @Test func subscribe() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            let rate = fixture.sensor.handle(of: 0x2A37, in: 0x180D)
            let reading = fixture.begin { try await AttributesPage.subscribe(connection) }
            for value: [UInt8] in [[1, 72], [1, 73], [0, 74]] {
                try await fixture.sensor.notify(value, of: 0x2A37, in: 0x180D, fixture)
            }
            try await reading.value
            #expect(fixture.lines == ["[1, 72]", "[1, 73]", "[0, 74]"])
            // The last one to leave resets the CCCD.
            try await fixture.settle { fixture.sensor.server.subscribers(of: rate).isEmpty }
        }
    }

    @Test func receivedValuesPrecedeTheEndOfTheLink() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            let reading = fixture.begin { try await AttributesPage.subscribe(connection) }
            try await fixture.sensor.notify([1, 72], of: 0x2A37, in: 0x180D, fixture)
            try await fixture.radio.sleep(for: .seconds(1))
            fixture.sensor.peripheral.disconnect()
            #expect(await failureCode { try await reading.value } == .disconnected)
            #expect(fixture.lines == ["[1, 72]"])
        }
    }

    @Test func cancellingEndsTheSubscription() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            let rate = fixture.sensor.handle(of: 0x2A37, in: 0x180D)
            let reading = fixture.begin { try await AttributesPage.subscribe(connection) }
            try await fixture.settle { !fixture.sensor.server.subscribers(of: rate).isEmpty }
            #expect(await reading.ended() == .cancelled)
            try await fixture.settle { fixture.sensor.server.subscribers(of: rate).isEmpty }
        }
    }

    // MARK: Descriptors

    @Test func descriptors() async throws {
        try await Self.lines(of: AttributesPage.descriptors) { lines, _ in
            #expect(lines.count == 1)
            #expect(lines.first?.hasPrefix("36.5 ") == true)
            #expect(lines.first?.contains("Celsius") == true, "\(lines)")
        }
    }

    // MARK: What ends a call

    @Test func aPeerThatDoesNotAnswer() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            fixture.sensor.peripheral.setMute(true)
            let limited = await fixture.duration {
                #expect(await failureCode { try await AttributesPage.read(connection) } == .timedOut)
            }
            #expect(limited == .seconds(5))
            #expect(await connection.isConnected)
            let other = fixture.begin { try await AttributesPage.write(connection) }
            let end = await connection.disconnected()
            #expect(end.code == .timedOut || end.code == .disconnected)
            #expect(await failureCode { try await other.value } == .disconnected)
        }
    }

    @Test func aRefusal() async throws {
        try await Fixture.withConnection { _, _, connection in
            let error = await #expect(throws: BluetoothError.self) {
                _ = try await connection.read(AttributeHandle(0x7FFF))
            }
            #expect(error?.code == .attributeProtocol)
            #expect(error?.cause == .attribute(.invalidHandle))
        }
    }
}
