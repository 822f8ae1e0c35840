import BluetoothLE
import ExampleSupport

/// The measurements of a link, one after the other.
///
/// A measurement reports what it has measured also if it fails.
struct BenchmarkRun: Sendable {
    /// A result of either kind.
    enum Result: Sendable {
        case latency(LatencyResult)
        case throughput(ThroughputResult)
    }

    /// How many notifications may wait for this program.
    private static let bufferCapacity = 65_536

    var measurements = BenchmarkMeasurement.allCases
    /// The size of a packet; nil for the greatest possible.
    var size: Int?
    var limit: BenchmarkLimit
    /// The maximum time to wait for each response, and for the next packet.
    var timeout: Duration
    var clock = BenchmarkClock()

    /// Receives the number of packets, and of bytes, so far.
    typealias Progress = (BenchmarkMeasurement, Int, UInt64) -> Void

    /// Performs the measurements; without a benchmark service those that any device permits. `report` receives each
    /// result, also that of a measurement that fails.
    nonisolated(nonsending) func run(
        on connection: Connection, _ database: RemoteDatabase, progress: Progress = { _, _, _ in },
        report: (Result) -> Void
    ) async throws {
        let greatest = min(await connection.maximumCommandLength, BenchmarkPacket.greatestSize)
        let size = size ?? greatest
        guard size <= greatest else {
            throw ProgramError(
                .usage,
                "--size \(size) is too long: with the link's ATT_MTU of \(await connection.maximumTransmissionUnit), a packet has at most \(greatest) bytes."
            )
        }
        let service = BenchmarkCharacteristics(in: database)
        for (index, measurement) in measurements.enumerated() {
            let run = UInt8(truncatingIfNeeded: index + 1)
            if measurement == .latency {
                var result = LatencyResult()
                defer { report(.latency(result)) }
                try await read(try Self.readable(in: database), on: connection, &result, progress)
            } else if let service {
                var result = ThroughputResult(measurement: measurement, size: size)
                defer { report(.throughput(result)) }
                if measurement == .up {
                    try await send(to: service, on: connection, run: run, &result, progress)
                } else {
                    try await receive(from: service, on: connection, run: run, &result, progress)
                }
            }
        }
    }

    /// What any device permits to be read: its name, or else another value.
    private static func readable(in database: RemoteDatabase) throws -> RemoteCharacteristic {
        let all = database.services.flatMap(\.characteristics)
        guard
            let readable = database.characteristic(.deviceName, in: .genericAccess)
                ?? all.first(where: { $0.properties.contains(.read) })
        else {
            throw ProgramError(.protocolError, "The device has no readable characteristic, so nothing can be measured.")
        }
        return readable
    }

    /// Repeats a read up to the limit, but at least once.
    private nonisolated(nonsending) func read(
        _ attribute: RemoteCharacteristic, on connection: Connection, _ result: inout LatencyResult,
        _ progress: Progress
    ) async throws {
        let start = clock.now()
        var last = start
        repeat {
            try Task.checkCancellation()
            result.size = try await connection.read(attribute, timeout: timeout).count
            let now = clock.now()
            result.durations.add(now - last)
            last = now
            progress(.latency, result.durations.count, UInt64(result.durations.count * result.size))
        } while limit.allows(result.durations.count, after: last - start)
        result.isComplete = true
    }

    /// Sends packets with Write Commands, and reads what the peer has received.
    ///
    /// The time is that until the report has been read, which the peer answers after all writes before it.
    private nonisolated(nonsending) func send(
        to service: BenchmarkCharacteristics, on connection: Connection, run: UInt8, _ result: inout ThroughputResult,
        _ progress: Progress
    ) async throws {
        try await connection.write(BenchmarkControl.receive(run: run).bytes, to: service.control, timeout: timeout)
        let start = clock.now()
        var sent = 0
        defer { result.sent = sent }
        repeat {
            try Task.checkCancellation()
            let packet = BenchmarkPacket.data(run: run, number: UInt32(truncatingIfNeeded: sent), size: result.size)
            try await connection.writeCommand(packet.bytes, to: service.sink, timeout: timeout)
            sent += 1
            progress(.up, sent, UInt64(sent * result.size))
        } while limit.allows(sent, after: clock.now() - start)
        let value = try await connection.read(service.control, timeout: timeout)
        result.time = clock.now() - start
        guard let report = BenchmarkReport(value), report.run == run else {
            throw ProgramError(
                .protocolError, "The device's report is malformed or belongs to another run: \(value.hexadecimal)")
        }
        result.counts = report.counts
        result.isComplete = true
    }

    /// Has the peer send packets, and counts them.
    ///
    /// The time begins with the request, and ends with the last packet.
    private nonisolated(nonsending) func receive(
        from service: BenchmarkCharacteristics, on connection: Connection, run: UInt8, _ result: inout ThroughputResult,
        _ progress: Progress
    ) async throws {
        func control(_ control: BenchmarkControl) async throws {
            try await connection.write(control.bytes, to: service.control, timeout: timeout)
        }
        let packets = try await connection.subscribe(
            to: service.source, kind: .notification, bufferCapacity: Self.bufferCapacity, timeout: timeout)
        var iterator = packets.makeAsyncIterator()
        let watch = StallWatch()
        async let _: Void = watch.run(timeout, clock) { packets.finish(.stalled(timeout)) }
        var counter = PacketCounter(run: run)
        let start = clock.now()
        var isStopped = false
        defer { result.counts = counter.counts }
        try await control(.send(run: run, size: UInt16(result.size), count: UInt32(limit.count ?? 0)))
        while let bytes = try await iterator.next() {
            watch.advance()
            let packet = BenchmarkPacket(bytes)
            if case .end(run, let sent)? = packet {
                result.sent = Int(sent)
                result.isComplete = true
                break
            }
            result.time = clock.now() - start
            counter.receive(packet)
            progress(.down, Int(counter.counts.received), counter.counts.bytes)
            if !isStopped, !limit.allows(0, after: result.time) {
                isStopped = true
                try await control(.stop(run: run))
            }
        }
    }
}
