import BluetoothLE
import BluetoothSystem
import Testing

@testable import LINBLE

/// What a UART carries, compared with what its link can.
@Suite(.timeLimit(.minutes(2))) struct ThroughputTests {
    /// A link of the guide's table.
    private struct Row: Sendable {
        var phys: LEPHYSet
        /// Whether the UART adapts the link.
        var isAdapted: Bool
        /// The device's ATT_MTU.
        var mtu = 247
        /// The maximum number of packets in a connection event.
        var packetsPerEvent: Int?
        /// The number of bytes that are sent on a link that is adapted meanwhile.
        var byteCount = 1 << 19
    }

    private struct Result: Sendable {
        var phy: LEPHY
        var interval: Duration
        var octets: Int
        /// Bytes a second.
        var capacity: Double
        var rate: Double

        var line: String {
            let share = Int((rate / capacity * 100).rounded(.down))
            let milliseconds = Int(interval / .milliseconds(1))
            return
                "| \(phy), \(milliseconds) ms, \(octets) bytes | \(Int((capacity / 1000).rounded())) kB/s | \(Int((rate / 1000).rounded())) kB/s | \(share) % |"
        }
    }

    /// Sends bytes as `linble send` does: half a mebibyte, less where every packet is small.
    private static func measure(_ row: Row) async throws -> Result {
        try await Fixture.run(.init(attached: .silent, receiveMTU: row.mtu)) { fixture in
            fixture.linble.peripheral.setSupportedPHYs(row.phys)
            fixture.radio.conditions.packetsPerConnectionEvent = row.packetsPerEvent
            let uart = try await fixture.openUART(UARTOptions(adaptsToTraffic: row.isAdapted))
            let bytes = [UInt8](repeating: 0x55, count: row.isAdapted ? row.byteCount : 1 << 16)
            let time = try await fixture.duration {
                try await uart.send(bytes)
                try await uart.flush()
            }
            let connection = uart.connection
            let parameters = try #require(await connection.parameters)
            let phy = try await connection.phys().transmit
            let octets = await connection.dataLength?.transmitOctets ?? 27
            let chunk = await uart.maximumChunkLength
            let link = LinkCapacity(
                interval: Int(parameters.interval / .microseconds(1)), coding: LinkLayerCoding(phy), octets: octets,
                packetsPerEvent: row.packetsPerEvent)
            await uart.disconnect()
            return Result(
                phy: phy, interval: parameters.interval, octets: octets,
                capacity: link.bytesPerSecond(ofValues: chunk), rate: Double(bytes.count) / (time / .seconds(1)))
        }
    }

    @Test func aTransferReachesMostOfWhatItsLinkCanCarryAsTheGuideSays() async throws {
        let root = String(#filePath.dropLast("/Tests/LINBLETests/ThroughputTests.swift".count))
        let page = try SystemFiles.read("\(root)/Docs/Guide/Central/Connecting.md", limit: 1 << 20)
        let guide = String(decoding: try #require(page), as: UTF8.self)
        for row in [
            Row(phys: [.le1M, .le2M], isAdapted: false), Row(phys: .le1M, isAdapted: true),
            Row(phys: [.le1M, .le2M], isAdapted: true),
        ] {
            let result = try await Self.measure(row)
            #expect(result.rate >= result.capacity * 0.85, "\(result.line)")
            #expect(result.rate <= result.capacity, "\(result.line)")
            #expect(guide.contains(result.line), "The guide needs the line \(result.line)")
        }
    }

    /// A short packet counts as much as a long one where a controller has a limit: a device with the longer ATT_MTU is
    /// not slower, from the first byte on.
    @Test(arguments: [nil, 6]) func aLongATTMTUIsAsFastAsOneThatFillsThePackets(_ packetsPerEvent: Int?) async throws {
        var row = Row(
            phys: [.le1M, .le2M], isAdapted: true, packetsPerEvent: packetsPerEvent, byteCount: 1 << 20)
        let short = try await Self.measure(row)
        row.mtu = 517
        let long = try await Self.measure(row)
        #expect(long.rate >= long.capacity * 0.92, "\(long.line)")
        #expect(long.rate >= short.rate, "\(short.line) \(long.line)")
    }

    @Test func aLinkIsAsBeforeOnceTheTrafficHasEnded() async throws {
        try await Fixture.run(.init(attached: .silent)) { fixture in
            let connection = try await fixture.adapter.connect(
                to: fixture.linble.address, options: ConnectionOptions(use: .lowPower))
            let uart = try await UARTConnection.attach(to: connection)
            let before = await connection.parameters
            try await uart.send([UInt8](repeating: 0, count: 20_000))
            try await fixture.radio.settle { await connection.parameters?.interval == .milliseconds(15) }
            try await uart.flush()
            try await fixture.radio.settle { await connection.parameters == before }
            #expect(try await connection.phys().transmit == .le1M)
            // The next transfer has it again.
            try await uart.send([UInt8](repeating: 0, count: 20_000))
            try await fixture.radio.settle { await connection.parameters?.interval == .milliseconds(15) }
            await uart.disconnect()
        }
    }

    @Test func littleTrafficChangesNothing() async throws {
        try await Fixture.run(.init(attached: .silent)) { fixture in
            let uart = try await fixture.openUART()
            let changes = try await uart.connection.linkChanges()
            for _ in 0..<20 {
                try await uart.send([UInt8](repeating: 0, count: 1000))
                try await fixture.radio.sleep(for: .milliseconds(250))
            }
            changes.finish(nil)
            var count = 0
            for try await _ in changes { count += 1 }
            #expect(count == 0)
            await uart.disconnect()
        }
    }

    @Test func trafficIsHeavyFromAnAmountInASecondUntilAPause() {
        var traffic = Traffic()
        func begins(_ count: Int, at now: KernelInstant) -> Bool { traffic.moved(count, at: now) }
        var now = KernelInstant(nanoseconds: 5_000_000_000)
        #expect(traffic.nextCheck(at: now) == nil)
        // Always just below the amount.
        for _ in 0..<10 {
            #expect(!begins(Traffic.heavyByteCount - 1, at: now))
            now = now.advanced(by: Traffic.window)
        }
        #expect(!begins(1, at: now))
        #expect(begins(Traffic.heavyByteCount - 1, at: now.advanced(by: .milliseconds(999))))
        now = now.advanced(by: .seconds(1))
        #expect(!begins(Traffic.heavyByteCount, at: now))
        #expect(traffic.nextCheck(at: now) == now.advanced(by: Traffic.pause))
        #expect(traffic.nextCheck(at: now.advanced(by: Traffic.pause)) == nil)
        traffic.resume()
        #expect(begins(Traffic.heavyByteCount, at: now))
        traffic.disable()
        #expect(traffic.nextCheck(at: now) == nil)
        // The end of the period that this has ended changes nothing.
        traffic.resume()
        #expect(!begins(1 << 30, at: now))
        #expect(traffic.nextCheck(at: now) == nil)
    }
}
