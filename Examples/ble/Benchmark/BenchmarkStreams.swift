import BluetoothLE
import ExampleSupport

/// The measurement of throughput and loss, with the benchmark service of the peer.
///
/// A measurement returns what it has measured also if it fails.
struct BenchmarkStreams: Sendable {
    /// How many notifications may wait for this program.
    static let bufferCapacity = 65_536

    let connection: Connection
    let service: BenchmarkCharacteristics
    let limit: BenchmarkLimit
    /// The maximum time to wait for each response, and for the next packet.
    let timeout: Duration
    var clock = BenchmarkClock()
    /// Receives the number of packets, and of bytes, so far.
    var progress: @Sendable (BenchmarkMeasurement, Int, UInt64) -> Void = { _, _, _ in }

    /// Sends packets of `size` bytes with writes of a type, and reads what the peer has received.
    ///
    /// The time is that until the report has been read, which the peer answers after all writes before it.
    nonisolated(nonsending) func send(
        _ type: WriteType, size: Int, run: UInt8
    ) async -> BenchmarkOutcome<ThroughputResult> {
        let measurement = type == .withResponse ? BenchmarkMeasurement.writeRequests : .writeCommands
        var result = ThroughputResult(measurement: measurement, size: size, sent: 0)
        do {
            try await control(.receive(run: run))
            let start = clock.now()
            var sent = 0
            defer { result.sent = sent }
            repeat {
                try Task.checkCancellation()
                let packet = BenchmarkPacket.data(run: run, number: UInt32(truncatingIfNeeded: sent), size: size)
                try await connection.write(packet.bytes, to: service.sink, type: type, timeout: timeout)
                sent += 1
                progress(measurement, sent, UInt64(sent * size))
            } while limit.allows(sent, after: clock.now() - start)
            let value = try await connection.read(service.control, timeout: timeout)
            result.time = clock.now() - start
            guard let report = BenchmarkReport(value), report.run == run else {
                throw ProgramError(
                    .protocolError, "The device's report is malformed or belongs to another run: \(value.hexadecimal)")
            }
            result.counts = report.counts
            result.isComplete = true
        } catch {
            return (result, error)
        }
        return (result, nil)
    }

    /// Has the peer send packets of `size` bytes, and counts them.
    ///
    /// The time begins with the request, and ends with the last packet.
    nonisolated(nonsending) func receive(
        _ kind: BenchmarkSending, size: Int, run: UInt8
    ) async -> BenchmarkOutcome<ThroughputResult> {
        let measurement = kind == .notifications ? BenchmarkMeasurement.notifications : .indications
        var result = ThroughputResult(measurement: measurement, size: size)
        do {
            let packets = try await connection.subscribe(
                to: service.source, kind: kind == .notifications ? .notification : .indication,
                bufferCapacity: Self.bufferCapacity, timeout: timeout)
            var iterator = packets.makeAsyncIterator()
            let watch = StallWatch()
            async let _: Void = watch.run(timeout, clock) { packets.finish(.stalled(timeout)) }
            var counter = PacketCounter(run: run)
            let start = clock.now()
            var isStopped = false
            result.counts = counter.counts
            defer { result.counts = counter.counts }
            try await control(
                .send(run: run, as: kind, size: UInt16(size), count: UInt32(limit.count ?? 0)))
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
                progress(measurement, Int(counter.counts.received), counter.counts.bytes)
                if !isStopped, !limit.allows(0, after: result.time) {
                    isStopped = true
                    try await control(.stop(run: run))
                }
            }
        } catch {
            return (result, error)
        }
        return (result, nil)
    }

    private nonisolated(nonsending) func control(_ control: BenchmarkControl) async throws {
        try await connection.write(control.bytes, to: service.control, timeout: timeout)
    }
}

/// The characteristics of the benchmark service of a device.
struct BenchmarkCharacteristics: Sendable {
    var control, sink, source, echo: RemoteCharacteristic

    /// Nil if the database has no benchmark service, or not all of it.
    init?(in database: RemoteDatabase) {
        func found(_ uuid: BluetoothUUID) -> RemoteCharacteristic? {
            database.characteristic(uuid, in: BenchmarkService.uuid)
        }
        guard let control = found(BenchmarkService.control), let sink = found(BenchmarkService.sink),
            let source = found(BenchmarkService.source), let echo = found(BenchmarkService.echo)
        else { return nil }
        (self.control, self.sink, self.source, self.echo) = (control, sink, source, echo)
    }
}
