import BluetoothLE
import ExampleSupport

/// The measurements of a link, one after the other.
struct BenchmarkRun: Sendable {
    /// A result of either kind.
    enum Result: Sendable {
        case latency(LatencyResult)
        case throughput(ThroughputResult)
    }

    var measurements: [BenchmarkMeasurement]
    /// The size of a packet; nil for 20 bytes in round trips, and for the greatest possible in streams.
    var size: Int?
    var limit: BenchmarkLimit
    var timeout: Duration
    var clock = BenchmarkClock()
    /// Receives the number of packets, and of bytes, so far.
    var progress: @Sendable (BenchmarkMeasurement, Int, UInt64) -> Void = { _, _, _ in }

    private static let latencySize = 20

    /// Performs the measurements. `report` receives each result, also that of a measurement that fails.
    nonisolated(nonsending) func run(
        on connection: Connection, with service: BenchmarkCharacteristics, report: (Result) async -> Void
    ) async throws {
        let greatest = min(await connection.maximumCommandLength, BenchmarkPacket.greatestSize)
        if let size, size > greatest {
            throw ProgramError(
                .usage,
                "--size \(size) is too long: with the link's ATT_MTU of \(await connection.maximumTransmissionUnit), a packet has at most \(greatest) bytes."
            )
        }
        let latencySize = size ?? Self.latencySize
        let trips = roundTrips(on: connection)
        let streams = BenchmarkStreams(
            connection: connection, service: service, limit: limit, timeout: timeout, clock: clock, progress: progress)
        for (index, measurement) in measurements.enumerated() {
            let run = UInt8(truncatingIfNeeded: index + 1)
            let failure: (any Error)?
            switch measurement {
            case .writeLatency, .readLatency, .echoLatency:
                let outcome =
                    switch measurement {
                    case .writeLatency: await trips.writes(to: service.echo, size: latencySize)
                    case .readLatency: await trips.reads(ofWritten: service.echo, size: latencySize)
                    default: await trips.echoes(from: service.echo, size: latencySize)
                    }
                await report(.latency(outcome.result))
                failure = outcome.failure
            case .writeCommands, .writeRequests, .notifications, .indications:
                let size = size ?? greatest
                let outcome =
                    switch measurement {
                    case .writeCommands: await streams.send(.withoutResponse, size: size, run: run)
                    case .writeRequests: await streams.send(.withResponse, size: size, run: run)
                    case .notifications: await streams.receive(.notifications, size: size, run: run)
                    default: await streams.receive(.indications, size: size, run: run)
                    }
                await report(.throughput(outcome.result))
                failure = outcome.failure
            }
            if let failure { throw failure }
        }
    }

    /// Measures what any device permits: reads of its name, or else of another readable value.
    nonisolated(nonsending) func run(
        on connection: Connection, readingFrom database: RemoteDatabase, report: (Result) async -> Void
    ) async throws {
        let all = database.services.flatMap(\.characteristics)
        guard
            let readable = database.characteristic(.deviceName, in: .genericAccess)
                ?? all.first(where: { $0.properties.contains(.read) })
        else {
            throw ProgramError(.protocolError, "The device has no readable characteristic, so nothing can be measured.")
        }
        let outcome = await roundTrips(on: connection).reads(of: readable)
        await report(.latency(outcome.result))
        if let failure = outcome.failure { throw failure }
    }

    private func roundTrips(on connection: Connection) -> RoundTrips {
        RoundTrips(connection: connection, limit: limit, timeout: timeout, clock: clock, progress: progress)
    }
}
