import BluetoothLE
import LINBLE
import BluetoothSimulation
import LINBLESimulation

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

extension UARTConnection {
    /// Reads until there are `count` bytes.
    func read(_ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let more = try await read(timeout: .seconds(60)) { bytes += more }
        return bytes
    }
}

/// `count` bytes, depending on `seed`, that differ enough to reveal a wrong order.
func pattern(_ count: Int, seed: Int = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 31 &+ $0 / 251) }
}
