import BluetoothLE
import LINBLE
import BluetoothSimulation
import LINBLESimulation
import TestSupport

/// A radio with one machine and one LINBLE, in virtual time.
struct Fixture: Sendable {
    let radio: SimulatedRadio
    let adapter: Adapter
    let linble: SimulatedLINBLE

    /// Runs a test with a fixture.
    static func run<Result: Sendable>(
        _ configuration: SimulatedLINBLE.Configuration = .init(), seed: UInt64 = 1,
        _ story: @escaping @Sendable (Fixture) async throws -> Result
    ) async throws -> Result {
        let radio = SimulatedRadio(time: .virtual, seed: seed)
        let linble = SimulatedLINBLE(on: radio, configuration)
        let kernel = radio.makeKernel(adapters: [.fresh])
        return try await radio.run(limit: .seconds(600)) {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            return try await story(Fixture(radio: radio, adapter: adapter, linble: linble))
        }
    }

    /// A connection to the LINBLE.
    func connect() async throws -> Connection {
        try await adapter.connect(to: linble.address)
    }

    /// The LINBLE's UART, online.
    func openUART(_ options: UARTOptions = UARTOptions()) async throws -> UARTConnection {
        try await UARTConnection.attach(to: try await connect(), options: options)
    }

    /// The duration of `body`.
    func duration(of body: () async throws -> Void) async rethrows -> Duration {
        try await radio.duration(of: body)
    }
}
