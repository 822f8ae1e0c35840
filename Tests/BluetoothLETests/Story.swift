import SimulatedKernel
import Testing

@testable import BluetoothLE

/// A machine on a radio in virtual time.
struct Story: Sendable {
    let radio: SimulatedRadio
    let kernel: SimulatedKernel

    /// Runs `body` on a machine with these adapters. A wait that would never end fails the test.
    static func run(
        _ adapters: [SimulatedController] = [SimulatedController()], seed: UInt64 = 1, limit: Duration = .seconds(600),
        _ body: @escaping @Sendable (Story) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: seed)
        let kernel = radio.makeKernel(adapters: adapters)
        try await radio.run(limit: limit, stallGrace: .seconds(2)) {
            try await body(Story(radio: radio, kernel: kernel))
        }
        radio.tearDown()
    }

    /// How long `body` takes on the radio's clock.
    func duration(of body: () async throws -> Void) async rethrows -> Duration {
        let start = radio.now
        try await body()
        return start.duration(to: radio.now)
    }

    /// Lets time pass, at most a minute, until `condition` holds.
    func settle(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: @Sendable () async -> Bool
    ) async throws {
        for _ in 0..<600 {
            if await condition() { return }
            try await radio.sleep(for: .milliseconds(100))
        }
        Issue.record("what was waited for did not happen", sourceLocation: sourceLocation)
    }

    /// Begins `body` as a task on the radio's loop.
    func begin<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) -> Task<Result, any Error> {
        Task(executorPreference: radio.loop) { try await body() }
    }
}

/// The error that `body` throws, which has to be one of this library; nil when it throws none.
func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> BluetoothError? {
    do {
        try await body()
        return nil
    } catch let error as BluetoothError {
        return error
    } catch {
        Issue.record("not an error of this library: \(error)", sourceLocation: sourceLocation)
        return nil
    }
}
