import ArgumentParser
import BluetoothLE
import BluetoothSimulation
import ExampleSupport
import Testing

@testable import ble

/// `ble bench` and `ble serve bench` on the simulated radio.
@Suite(.serialized) struct BenchTests {
    @Test func aDeviceWithoutTheServiceIsOnlyRead() async throws {
        let ended = try await run("ble", ["bench", "--simulate", "-n", "Pulse-Z1", "latency", "up", "--count", "2"])
        #expect(ended.status == 76)
        #expect(ended.messages.contains("ble serve bench"), "\(ended.messages)")
        #expect(ended.output.contains("ATT_MTU      517 bytes\n"), "\(ended.output)")
        #expect(ended.output.contains("RSSI         -5"), "\(ended.output)")
        #expect(ended.lines.last?.hasPrefix("read                  8      2") == true, "\(ended.output)")
    }

    @Test(
        arguments: [
            (["--size", "0"], "8 to 512"), (["--size", "7"], "8 to 512"), (["--size", "513"], "8 to 512"),
            (["--count", "0"], "1 to 1000000000"), (["--count=-1"], "1 to 1000000000"), (["--for", "0"], "above 0"),
            (["sideways"], "sideways"),
        ] as [([String], String)])
    func invalidArgumentsAreRejected(_ arguments: [String], _ words: String) throws {
        let error = #expect(throws: (any Error).self) { try BenchCommand.parse(arguments) }
        let message = BenchCommand.message(for: try #require(error))
        #expect(message.contains(words), "\(message)")
    }

    @Test func ctrlCPrintsWhatWasMeasured() async throws {
        let ended = try await run("ble", ["bench", "--simulate", "up", "--for", "60"], signal: "INT", after: "RSSI")
        #expect(ended.status == 130)
        #expect(ended.output.contains("write commands (incomplete)"), "\(ended.output)")
        // Nothing is drawn where there is no terminal.
        #expect(ended.messages == "ble bench: interrupted\n")
    }

    // MARK: In virtual time

    /// Serves on one machine, and runs `body` with the link of another and what it has to measure.
    private func withLink(
        maximumTransmissionUnit: Int = 517,
        _ body: @escaping @Sendable (Connection, BenchmarkRun, SimulatedRadio, Adapter) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio()
        let (own, other) = (radio.makeKernel(), radio.makeKernel())
        try await radio.run {
            let server = try await Adapter.open(on: own)
            let adapter = try await Adapter.open(on: other)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await BenchServer(on: server, nil).run(once: false) }
                group.addTask {
                    var options = ConnectionOptions()
                    options.maximumTransmissionUnit = maximumTransmissionUnit
                    let connection = try await adapter.connect(options: options) { $0.localName == "Bench" }
                    let run = BenchmarkRun(
                        limit: BenchmarkLimit(count: 50), timeout: .seconds(10),
                        clock: BenchmarkClock(loop: adapter.loop))
                    try await body(connection, run, radio, adapter)
                    await connection.disconnect(timeout: .zero)
                }
                defer { group.cancelAll() }
                try await group.next()
            }
            await server.close()
            await adapter.close()
        }
    }

    /// The results, and the error that has ended the measurements.
    private nonisolated(nonsending) func results(
        of run: BenchmarkRun, on connection: Connection, progress: BenchmarkRun.Progress = { _, _, _ in }
    ) async throws -> (latencies: [LatencyResult], throughputs: [ThroughputResult], failure: (any Error)?) {
        let database = try await connection.discover()
        var results: [BenchmarkRun.Result] = []
        var failure: (any Error)?
        do {
            try await run.run(on: connection, database, progress: progress) { results.append($0) }
        } catch {
            failure = error
        }
        return (
            results.compactMap { if case .latency(let result) = $0 { result } else { nil } },
            results.compactMap { if case .throughput(let result) = $0 { result } else { nil } }, failure
        )
    }

    @Test(arguments: [23, 517]) func anIntactLinkLosesNothing(_ mtu: Int) async throws {
        try await withLink(maximumTransmissionUnit: mtu) { connection, run, _, _ in
            let (latencies, throughputs, failure) = try await results(of: run, on: connection)
            #expect(failure == nil)
            #expect(latencies.map(\.durations.count) == [50])
            // A request and its response are in different connection events.
            let interval = try #require(await connection.parameters).interval
            for result in latencies {
                let median = try #require(result.durations.percentile(50))
                #expect(median >= interval && median <= interval * 4, "\(median)")
            }
            let bytes = Int(min(mtu - 3, 512))
            for result in throughputs {
                #expect(result.isComplete)
                #expect(result.sent == 50)
                #expect(result.counts == PacketCounts(received: 50, bytes: UInt64(50 * bytes)))
                #expect(result.lost == 0)
            }
            // More than one packet goes out in each connection event.
            let rates = throughputs.compactMap(\.rate)
            try #require(rates.count == 2)
            #expect(rates.allSatisfy { $0 > Double(bytes) / (interval / .seconds(1)) }, "\(rates)")
        }
    }

    /// How long a link carries what a sender's kernel and controller may still hold when a measurement is stopped, with
    /// two round trips. A packet costs a socket 1280 of its 212 992 bytes, and three of the controller's dozen buffers.
    private static func drainTime(of connection: Connection, size: Int) async throws -> Duration {
        let packets = (212_992 + 1279) / 1280 + 12 / 3
        let interval = try #require(await connection.parameters).interval
        let link = LinkCapacity(
            interval: Int(interval / .microseconds(1)), coding: .le1M,
            octets: await connection.dataLength?.transmitOctets ?? 27)
        return .seconds(Double(packets * size) / link.bytesPerSecond(ofValues: size)) + interval * 4
    }

    @Test func aMeasurementEndsAfterItsTime() async throws {
        try await withLink { connection, run, _, _ in
            var run = run
            run.limit = BenchmarkLimit(duration: .seconds(2))
            let (latencies, throughputs, failure) = try await results(of: run, on: connection)
            #expect(failure == nil)
            #expect(latencies.allSatisfy { $0.durations.count > 10 })
            let most = try await Self.drainTime(of: connection, size: 512)
            for result in throughputs {
                #expect(result.time >= .seconds(2) && result.time < .seconds(2) + most, "\(result)")
                #expect(result.lost == 0 && (result.sent ?? 0) > 100, "\(result)")
            }
        }
    }

    @Test func aPacketThatDoesNotFitIsRefused() async throws {
        try await withLink(maximumTransmissionUnit: 100) { connection, run, _, _ in
            var run = run
            (run.size, run.measurements) = (98, [.up])
            let (latencies, _, failure) = try await results(of: run, on: connection)
            #expect(latencies.isEmpty)
            let error = try #require(failure as? ProgramError)
            #expect(error.status == .usage)
            #expect(error.message.contains("at most 97 bytes"), "\(error.message)")
        }
    }

    /// After each number of packets the link is lost, and a new one measures everything.
    @Test func aLostLinkLeavesPartialResultsAndAConsistentServer() async throws {
        try await withLink { first, run, radio, adapter in
            var connection = first
            let address = first.peer
            for measurement in BenchmarkMeasurement.allCases {
                for packets in [1, 2, 7] {
                    var run = run
                    run.measurements = [measurement]
                    let own = adapter.information.address
                    let (latencies, throughputs, failure) = try await results(of: run, on: connection) { _, count, _ in
                        if count == packets { radio.breakLink(own, address) }
                    }
                    #expect((failure as? BluetoothError)?.code == .disconnected, "\(measurement): \(failure as Any)")
                    #expect(latencies.count + throughputs.count == 1)
                    #expect(latencies.allSatisfy { !$0.isComplete && $0.durations.count >= packets })
                    #expect(throughputs.allSatisfy { !$0.isComplete && $0.lost == nil })
                    connection = try await adapter.connect(to: address)
                }
            }
            let (_, throughputs, failure) = try await results(of: run, on: connection)
            #expect(failure == nil)
            #expect(throughputs.map(\.lost) == [0, 0])
            await connection.disconnect(timeout: .zero)
        }
    }

    @Test func nonsenseIsRefusedAndChangesNothing() async throws {
        try await withLink { connection, run, _, _ in
            let service = try #require(BenchmarkCharacteristics(in: try await connection.discover()))
            for (value, code) in [
                ([], 0x0D), ([1, 1, 0], 0x80), ([2, 9, 0], 0x81), ([2, 1], 0x0D),
                ([2, 2, 0, 20, 0, 0, 0, 0, 0], 0xFD), ([2, 2, 0, 255, 255, 0, 0, 0, 0], 0xFF),
                ([UInt8](repeating: 0xFF, count: 300), 0x80),
            ] as [([UInt8], UInt8)] {
                let error = await #expect(throws: BluetoothError.self) {
                    try await connection.write(value, to: service.control)
                }
                guard let refusal = error?.cause?.attributeErrorCode else {
                    Issue.record("\(value): \(error as Any)")
                    continue
                }
                #expect(refusal.rawValue == code, "\(value)")
            }
            for value in [[], [0], [UInt8](repeating: 0xAA, count: 512)] {
                try await connection.writeCommand(value, to: service.sink)
            }
            let (_, throughputs, failure) = try await results(of: run, on: connection)
            #expect(failure == nil)
            #expect(throughputs.map(\.counts?.corrupted) == [0, 0])
        }
    }

    @Test func aCentralThatUnsubscribesEndsItsRun() async throws {
        try await withLink { connection, run, _, _ in
            let service = try #require(BenchmarkCharacteristics(in: try await connection.discover()))
            let packets = try await connection.subscribe(to: service.source, kind: .notification)
            let start = BenchmarkControl.send(run: 9, size: 20, count: 0)
            try await connection.write(start.bytes, to: service.control)
            for try await packet in packets {
                // Neither stopped nor limited.
                if BenchmarkPacket(packet) == .data(run: 9, number: 5, size: 20) { break }
            }
            let (_, throughputs, failure) = try await results(of: run, on: connection)
            #expect(failure == nil)
            #expect(throughputs.map(\.lost) == [0, 0])
        }
    }

    @Test func twoCentralsAreMeasuredSeparately() async throws {
        try await withLink { connection, run, radio, _ in
            let adapter = try await Adapter.open(on: radio.makeKernel())
            let second = try await adapter.connect(to: connection.peer)
            async let others = results(of: run, on: second)
            let own = try await results(of: run, on: connection)
            for (latencies, throughputs, failure) in [own, try await others] {
                #expect(failure == nil)
                #expect(latencies.map(\.durations.count) == [50])
                #expect(throughputs.map(\.counts?.received) == [50, 50])
                #expect(throughputs.map(\.counts?.corrupted) == [0, 0])
            }
            await second.disconnect(timeout: .zero)
            await adapter.close()
        }
    }
}
