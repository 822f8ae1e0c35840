import BluetoothLE
import BluetoothSimulation
import LINBLE
import LINBLESample
import LINBLESimulation

/// A radio with one machine and a LINBLE with the sample's microcontroller on it, in virtual time.
struct Fixture: Sendable {
    let radio: SimulatedRadio
    let adapter: Adapter
    let linble: SimulatedLINBLE

    /// Runs a story in such a fixture.
    static func run<Result: Sendable>(
        _ attached: any AttachedDevice = SampleMicrocontroller(), splitsAtRandom: Bool = false, seed: UInt64 = 1,
        _ story: @escaping @Sendable (Fixture) async throws -> Result
    ) async throws -> Result {
        let radio = SimulatedRadio(time: .virtual, seed: seed)
        let linble = SimulatedLINBLE(on: radio, .init(attached: attached, splitsAtRandom: splitsAtRandom, seed: seed))
        let kernel = radio.makeKernel(adapters: [.fresh])
        return try await radio.run(limit: .seconds(600)) {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            return try await story(Fixture(radio: radio, adapter: adapter, linble: linble))
        }
    }

    /// The LINBLE's UART, online.
    func openUART() async throws -> UARTConnection {
        try await UARTConnection.open(.address(linble.address), on: adapter)
    }

    /// How long `body` takes.
    func duration(of body: () async throws -> Void) async rethrows -> Duration {
        try await radio.duration(of: body)
    }
}

/// Cuts bytes at random places into pieces of at least one and at most `maximumLength` bytes, as a LINBLE may cut what
/// its UART hands it.
func splitAtRandom(
    _ bytes: [UInt8], maximumLength: Int = .max, using generator: inout some RandomNumberGenerator
) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let length = Int.random(in: 1...max(1, min(maximumLength, rest.count)), using: &generator)
        pieces.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
    }
    return pieces
}
