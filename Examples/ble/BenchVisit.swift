import BluetoothLE
import ExampleSupport

/// The second machine of `ble serve bench --simulate`: connects, performs all measurements with a few packets, and
/// disconnects.
struct BenchVisit: Sendable {
    private let console: Console

    private static let count = 3

    init(_ console: Console) { self.console = console }

    func run(on adapter: Adapter) async throws {
        let connection = try await adapter.connect(options: ConnectionOptions(timeout: nil)) {
            // The simulated devices have random ones.
            $0.address?.kind == .public
        }
        guard let service = BenchmarkCharacteristics(in: try await connection.discover()) else {
            throw ProgramError(.protocolError, "The second machine finds no benchmark service.")
        }
        let run = BenchmarkRun(
            measurements: BenchmarkMeasurement.allCases, limit: BenchmarkLimit(count: Self.count),
            timeout: .seconds(30))
        try await run.run(on: connection, with: service) { result in
            switch result {
            case .latency(let result):
                console.message("another machine measures \(result.measurement.rawValue): \(result.durations.count)")
            case .throughput(let result):
                console.message(
                    "another machine measures \(result.measurement.rawValue): \(result.counts?.received ?? 0)")
            }
        }
        await connection.disconnect()
    }
}
