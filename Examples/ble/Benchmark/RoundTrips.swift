import BluetoothLE

/// The measurement of round trips, one after the other, on any connection.
///
/// A measurement returns what it has measured also if it fails.
struct RoundTrips: Sendable {
    let connection: Connection
    let limit: BenchmarkLimit
    /// The maximum time to wait for each response.
    let timeout: Duration
    var clock = BenchmarkClock()
    /// Receives the number of packets, and of bytes, so far.
    var progress: @Sendable (BenchmarkMeasurement, Int, UInt64) -> Void = { _, _, _ in }

    /// Measures Write Requests.
    nonisolated(nonsending) func writes(
        to attribute: RemoteCharacteristic, size: Int
    ) async -> BenchmarkOutcome<LatencyResult> {
        await measure(.writeLatency, size: size) { result in
            try await repeatTrips(&result) { number in
                try await connection.write(Self.value(number, size), to: attribute, timeout: timeout)
                return true
            }
        }
    }

    /// Measures reads of a value that was written before.
    nonisolated(nonsending) func reads(
        ofWritten attribute: RemoteCharacteristic, size: Int
    ) async -> BenchmarkOutcome<LatencyResult> {
        await measure(.readLatency, size: size) { result in
            let value = Self.value(0, size)
            try await connection.write(value, to: attribute, timeout: timeout)
            try await repeatTrips(&result) { _ in try await connection.read(attribute, timeout: timeout) == value }
        }
    }

    /// Measures reads of any value.
    nonisolated(nonsending) func reads(
        of attribute: RemoteCharacteristic
    ) async -> BenchmarkOutcome<LatencyResult> {
        await measure(.readLatency, size: 0) { result in
            result.size = try await connection.read(attribute, timeout: timeout).count
            try await repeatTrips(&result) { _ in
                _ = try await connection.read(attribute, timeout: timeout)
                return true
            }
        }
    }

    /// Measures from a Write Command to the notification with the same value.
    nonisolated(nonsending) func echoes(
        from attribute: RemoteCharacteristic, size: Int
    ) async -> BenchmarkOutcome<LatencyResult> {
        await measure(.echoLatency, size: size) { result in
            let echoes = try await connection.subscribe(to: attribute, kind: .notification, timeout: timeout)
            var iterator = echoes.makeAsyncIterator()
            let watch = StallWatch()
            async let _: Void = watch.run(timeout, clock) { echoes.finish(.stalled(timeout)) }
            try await repeatTrips(&result) { number in
                let value = Self.value(number, size)
                try await connection.writeCommand(value, to: attribute, timeout: timeout)
                guard let echo = try await iterator.next(isolation: #isolation) else { throw CancellationError() }
                watch.advance()
                return echo == value
            }
        }
    }

    private static func value(_ number: UInt32, _ size: Int) -> [UInt8] {
        BenchmarkPacket.data(run: 0, number: number, size: size).bytes
    }

    private nonisolated(nonsending) func measure(
        _ measurement: BenchmarkMeasurement, size: Int,
        _ body: nonisolated(nonsending) (inout LatencyResult) async throws -> Void
    ) async -> BenchmarkOutcome<LatencyResult> {
        var result = LatencyResult(measurement: measurement, size: size)
        do {
            try await body(&result)
            result.isComplete = true
            return (result, nil)
        } catch {
            return (result, error)
        }
    }

    /// Repeats a round trip up to the limit, but performs at least one.
    private nonisolated(nonsending) func repeatTrips(
        _ result: inout LatencyResult, _ trip: nonisolated(nonsending) (UInt32) async throws -> Bool
    ) async throws {
        let start = clock.now()
        var last = start
        var number: UInt32 = 0
        repeat {
            try Task.checkCancellation()
            let isCorrect = try await trip(number)
            let now = clock.now()
            result.durations.add(now - last)
            if !isCorrect { result.corrupted += 1 }
            (last, number) = (now, number &+ 1)
            progress(result.measurement, result.durations.count, UInt64(result.durations.count * result.size))
        } while limit.allows(result.durations.count, after: last - start)
    }
}
