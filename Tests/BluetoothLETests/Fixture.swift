import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// A machine on a simulated radio, in virtual time unless a test uses its own threads.
struct Fixture: Sendable {
    let radio: SimulatedRadio
    let kernel: SimulatedKernel

    /// Runs `body` on a machine with these adapters. A wait without end fails the test.
    static func run(
        _ adapters: [SimulatedController] = [SimulatedController()], time: SimulatedTime = .virtual, seed: UInt64 = 1,
        limit: Duration = .seconds(600),
        _ body: @escaping @Sendable (Fixture) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: time, seed: seed)
        let kernel = radio.makeKernel(adapters: adapters)
        try await radio.run(limit: limit, stallGrace: .seconds(2)) {
            try await body(Fixture(radio: radio, kernel: kernel))
        }
        radio.close()
    }

    /// Runs `body` with an open adapter of such a machine.
    static func withAdapter(
        _ adapters: [SimulatedController] = [SimulatedController()],
        _ body: @escaping @Sendable (Fixture, Adapter) async throws -> Void
    ) async throws {
        try await run(adapters) { fixture in try await body(fixture, try await Adapter.open(on: fixture.kernel)) }
    }

    /// A device that accepts connections and has no services.
    func makePeripheral() throws -> SimulatedPeripheral {
        SimulatedPeripheral(on: radio, gatt: try SimulatedGATTServer([]))
    }

    /// Runs `body` with an open adapter, and a device that accepts connections and has no services.
    static func withPeripheral(
        _ adapters: [SimulatedController] = [SimulatedController()],
        _ body: @escaping @Sendable (Fixture, Adapter, SimulatedPeripheral) async throws -> Void
    ) async throws {
        try await run(adapters) { fixture in
            let peripheral = try fixture.makePeripheral()
            try await body(fixture, try await Adapter.open(on: fixture.kernel), peripheral)
        }
    }

    /// Runs `body` with a link to such a device, and ends the link.
    static func withLink(
        _ adapters: [SimulatedController] = [SimulatedController()],
        _ body: @escaping @Sendable (Fixture, Adapter, SimulatedPeripheral, Connection) async throws -> Void
    ) async throws {
        try await withPeripheral(adapters) { fixture, adapter, peripheral in
            let connection = try await adapter.connect(to: peripheral.address)
            try await body(fixture, adapter, peripheral, connection)
            await connection.disconnect()
        }
    }

    /// The duration of `body` on the radio's clock.
    func duration(of body: () async throws -> Void) async rethrows -> Duration {
        try await radio.duration(of: body)
    }

    /// Advances the time, by at most a minute, until `condition` holds.
    func settle(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: @Sendable () async -> Bool
    ) async throws {
        try await radio.settle(sourceLocation: sourceLocation, condition)
    }

    /// Starts `body` as a task on the radio's loop.
    func begin<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) -> Task<Result, any Error> {
        Task(executorPreference: radio.loop) { try await body() }
    }
}
