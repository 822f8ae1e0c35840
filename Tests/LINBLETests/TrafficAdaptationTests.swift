import BluetoothLE
import LINBLE
import Testing

/// The settings of a link after its UART has ended in the middle of a transfer.
@Suite(.timeLimit(.minutes(2))) struct TrafficAdaptationTests {
    private static let slow = ConnectionOptions(use: .lowPower)

    /// Runs a test with a slow link to a device that does not answer.
    private static func run(_ story: @escaping @Sendable (Fixture, Connection) async throws -> Void) async throws {
        try await Fixture.run(.init(attached: .silent)) { fixture in
            try await story(fixture, try await fixture.adapter.connect(to: fixture.linble.address, options: slow))
        }
    }

    /// Whether a link has these settings again, and no adaptation is left.
    private static func isBack(
        _ fixture: Fixture, _ connection: Connection, _ parameters: ConnectionParameters?
    ) async -> Bool {
        guard await connection.parameters == parameters else { return false }
        guard let phys = try? await connection.phys(), phys.transmit == .le1M, phys.receive == .le1M else {
            return false
        }
        return isOver(fixture)
    }

    /// Whether no adaptation is left, as far as this build knows.
    private static func isOver(_ fixture: Fixture) -> Bool {
        #if DEBUG || COUNTS_COMPONENTS
            return fixture.radio.loop.components.alive["TrafficAdaptation"] == nil
        #else
            return true
        #endif
    }

    /// Sends for some time, and releases the UART.
    private static func transfer(_ fixture: Fixture, over connection: Connection, for time: Duration) async throws {
        let uart = try await UARTConnection.attach(to: connection)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await uart.send([UInt8](repeating: 0, count: 1 << 22)) }
            try await fixture.radio.sleep(for: time)
            group.cancelAll()
        }
    }

    /// The change to throughput takes about 1.5 s with these parameters.
    @Test(arguments: [10, 300, 1200, 1500, 2500, 6000])
    func aConnectionThatOutlivesItsUARTGetsItsSettingsBack(milliseconds: Int) async throws {
        try await Self.run { fixture, connection in
            let before = await connection.parameters
            let changes = try await connection.linkChanges()
            try await Self.transfer(fixture, over: connection, for: .milliseconds(milliseconds))
            try await fixture.radio.settle { await Self.isBack(fixture, connection, before) }
            try await fixture.radio.sleep(for: .seconds(30))
            #expect(await Self.isBack(fixture, connection, before))
            #expect(await connection.isConnected)
            changes.finish(nil)
            var intervals: [Duration] = []
            for try await change in changes { intervals += change.parameters.map { [$0.interval] } ?? [] }
            #expect(intervals == [.milliseconds(15), try #require(before).interval])
            // Another UART of the same connection is adapted again.
            let uart = try await UARTConnection.attach(to: connection)
            try await uart.send([UInt8](repeating: 0, count: 20_000))
            try await fixture.radio.settle { await connection.parameters?.interval == .milliseconds(15) }
            await connection.disconnect()
        }
    }

    @Test func aCancelledTransferOfAUARTThatStaysEndsItsTraffic() async throws {
        try await Self.run { fixture, connection in
            let before = await connection.parameters
            let uart = try await UARTConnection.attach(to: connection)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await uart.send([UInt8](repeating: 0, count: 1 << 22)) }
                try await fixture.radio.settle { await connection.parameters?.interval == .milliseconds(15) }
                group.cancelAll()
            }
            try await fixture.radio.settle { await connection.parameters == before }
            #expect(try await connection.phys().transmit == .le1M)
            await uart.disconnect()
        }
    }

    @Test func whatAnotherComponentHasSetMeanwhileStays() async throws {
        try await Self.run { fixture, connection in
            let others = ConnectionParameterRequest(interval: .milliseconds(50)...(.milliseconds(50)))
            do {
                let uart = try await UARTConnection.attach(to: connection)
                try await uart.send([UInt8](repeating: 0, count: 20_000))
                try await fixture.radio.settle { (try? await connection.phys().transmit) == .le2M }
                _ = try await connection.requestParameters(others)
            }
            try await fixture.radio.sleep(for: .seconds(30))
            #expect(await connection.parameters?.interval == .milliseconds(50))
            // The rest goes back.
            #expect(try await connection.phys().transmit == .le1M)
            await connection.disconnect()
        }
    }

    /// The ends of a link while it changes to throughput, is there, or goes back.
    @Test(arguments: [10, 300, 1200, 1500, 2500], [true, false])
    func theEndOfTheLinkEndsItsAdaptation(milliseconds: Int, isReleased: Bool) async throws {
        try await Self.run { fixture, connection in
            if isReleased {
                try await Self.transfer(fixture, over: connection, for: .milliseconds(milliseconds))
                fixture.linble.peripheral.breakLinks()
            } else {
                let uart = try await UARTConnection.attach(to: connection)
                try await uart.send([UInt8](repeating: 0, count: 20_000))
                try await fixture.radio.sleep(for: .milliseconds(milliseconds))
                fixture.linble.peripheral.breakLinks()
            }
            _ = await connection.disconnected()
            try await fixture.radio.settle { Self.isOver(fixture) }
        }
    }

    @Test(arguments: [10, 300, 1200, 1500, 2500])
    func anAdaptationKeepsNoLinkUp(milliseconds: Int) async throws {
        try await Fixture.run(.init(attached: .silent)) { fixture in
            do {
                let connection = try await fixture.adapter.connect(to: fixture.linble.address, options: Self.slow)
                try await Self.transfer(fixture, over: connection, for: .milliseconds(milliseconds))
            }
            // The kernel drops a link two seconds after its last channel is closed.
            let time = try await fixture.duration {
                try await fixture.radio.settle { fixture.linble.peripheral.links.isEmpty }
            }
            #expect(time < .seconds(3))
            try await fixture.radio.settle { Self.isOver(fixture) }
        }
    }
}
