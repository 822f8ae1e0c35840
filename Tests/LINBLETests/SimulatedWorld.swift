import LINBLE
import SimulatedKernel
import SimulatedLINBLE

@testable import BluetoothLE

/// A radio with one machine and one LINBLE on it, in virtual time.
struct SimulatedWorld: Sendable {
    let radio: SimulatedRadio
    let kernel: SimulatedKernel
    let linble: SimulatedLINBLE

    /// Runs a story in such a world.
    static func run<Result: Sendable>(
        _ configuration: SimulatedLINBLE.Configuration = .init(), seed: UInt64 = 1,
        _ story: @escaping @Sendable (SimulatedWorld) async throws -> Result
    ) async throws -> Result {
        let radio = SimulatedRadio(time: .virtual, seed: seed)
        let world = SimulatedWorld(
            radio: radio, kernel: radio.makeKernel(), linble: SimulatedLINBLE(on: radio, configuration))
        return try await radio.run(limit: .seconds(600)) { try await story(world) }
    }

    /// A connection to the LINBLE.
    func connect() async throws -> Connection {
        let connection = Connection(
            to: linble.address, database: .empty, receiveMTU: 517, on: kernel.loop, log: .init(label: "test"))
        try await connection.open(
            from: .zero, on: kernel, options: L2CAPOptions(), timeout: .seconds(10))
        try await connection.exchangeMTU(offering: 517, timeout: .seconds(10))
        return connection
    }

    /// The LINBLE's UART, online.
    func openUART(_ options: UARTOptions = UARTOptions()) async throws -> UARTConnection {
        try await UARTConnection.attach(to: try await connect(), options: options)
    }

    /// How long `body` takes.
    func duration(of body: () async throws -> Void) async rethrows -> Duration {
        let start = radio.now
        try await body()
        return start.duration(to: radio.now)
    }
}

/// The code of the error that `body` ends in; nil when it ends in none.
func errorCode(_ body: () async throws -> Void) async -> BluetoothError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? BluetoothError)?.code
    }
}
