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
        let database = try await connection.discover()
        let run = BenchmarkRun(limit: BenchmarkLimit(count: Self.count), timeout: .seconds(30))
        try await run.run(on: connection, database) { result in
            let (title, count) =
                switch result {
                case .latency(let result): (BenchmarkMeasurement.latency.title, result.durations.count)
                case .throughput(let result): (result.measurement.title, Int(result.counts?.received ?? 0))
                }
            console.message("another machine measures \(title): \(count)")
        }
        await connection.disconnect()
    }
}
