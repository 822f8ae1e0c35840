import BluetoothLE
import Glibc
import BluetoothSimulation
import LINBLESimulation
import Synchronization
import TestSupport
import Testing

/// The lines that a snippet has printed.
final class Output: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    func append(_ line: String) { state.withLock { $0.append(line) } }
}

/// A machine with an adapter and the devices around it, in virtual time: a LINBLE-Z1, the guide's heart rate sensor, and a
/// beacon.
struct Fixture: Sendable {
    /// The fixture of snippets that name no kernel.
    @TaskLocal static var current: Fixture?

    let radio: SimulatedRadio
    let kernel: SimulatedKernel
    let output = Output()
    let sensor: Sensor
    let linble: SimulatedLINBLE
    /// The folder for the files of snippets.
    let folder: String
    /// When the story began.
    let start: KernelInstant

    private static let fixtures = Mutex<[ObjectIdentifier: Fixture]>([:])

    /// The fixture of the calling task, or that of the loop on which a handler of a snippet is called.
    static var ofCaller: Fixture? {
        current ?? fixtures.withLock { fixtures in fixtures.values.first { $0.radio.loop.isCurrent } }
    }

    /// Runs a story. A wait that would never end fails it after `stallGrace` of real time: reading from a disk takes no
    /// virtual time, but on a busy machine much real time.
    static func run(
        _ adapters: [SimulatedController] = [.fresh], stallGrace: Duration = .seconds(2),
        _ story: @escaping @Sendable (Fixture) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let fixture = try Fixture(radio.makeKernel(adapters: adapters))
        SimulatedPeripheral(
            on: radio, address: BluetoothAddress(0xC098_E512_0001, kind: .random),
            advertisements: [
                try SimulatedAdvertisement(
                    fields: [.manufacturerData(ManufacturerData(company: .apple, data: [0x02, 0x15, 0, 1]))],
                    isConnectable: false, isScannable: false)
            ], signalStrength: -80)
        try await fixture.run(stallGrace: stallGrace, story)
    }

    /// Runs a story on the radio that the text of a file describes.
    static func run(world text: String, _ story: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        let fixture = try Fixture(SimulationFile(reading: Array(text.utf8)).makeKernel(time: .virtual))
        fixture.sensor.peripheral.remove()
        fixture.linble.peripheral.remove()
        try await fixture.run(stallGrace: .seconds(2), story)
    }

    private init(_ kernel: SimulatedKernel) throws {
        var template = Array("/tmp/guideXXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        (radio, self.kernel, start) = (kernel.radio, kernel, kernel.radio.now)
        sensor = try Sensor(on: radio)
        linble = SimulatedLINBLE(
            on: radio, .init(address: BluetoothAddress(0xC098_E512_3456, kind: .random), signalStrength: -65))
    }

    private func run(stallGrace: Duration, _ story: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        defer { rmdir(folder) }
        Self.fixtures.withLock { $0[ObjectIdentifier(radio)] = self }
        defer { Self.fixtures.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(radio)) } }
        try await Self.$current.withValue(self) {
            try await radio.run(limit: .seconds(600), stallGrace: stallGrace) { try await story(self) }
        }
        radio.close()
    }

    /// Runs a story with an adapter that is on.
    static func withAdapter(
        _ adapters: [SimulatedController] = [.fresh],
        _ story: @escaping @Sendable (Fixture, Adapter) async throws -> Void
    ) async throws {
        try await run(adapters) { fixture in
            let adapter = try await Adapter.open(power: .powerOn)
            try await story(fixture, adapter)
            await adapter.close()
        }
    }

    /// Runs a story with a connection to the sensor.
    static func withConnection(
        _ story: @escaping @Sendable (Fixture, Adapter, Connection) async throws -> Void
    ) async throws {
        try await withAdapter { fixture, adapter in
            let connection = try await adapter.connect(to: fixture.sensor.address)
            try await story(fixture, adapter, connection)
            await connection.disconnect()
        }
    }

    /// The lines printed so far.
    var lines: [String] { output.lines }

    /// Starts a snippet that runs until it is stopped.
    func begin(_ snippet: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
        Task(executorPreference: radio.loop) { try await snippet() }
    }

    /// Advances the time, by a minute at most, until `condition` holds.
    func settle(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: @Sendable () async -> Bool
    ) async throws {
        try await radio.settle(
            step: .milliseconds(10), sourceLocation: sourceLocation, comment: "printed: \(lines)", condition)
    }

    /// Advances the time until `count` lines are printed.
    func settle(printed count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await settle(sourceLocation: sourceLocation) { lines.count >= count }
    }

    /// The duration of `body` on the radio's clock.
    func duration(of body: () async throws -> Void) async rethrows -> Duration {
        try await radio.duration(of: body)
    }
}

extension Task where Success == Void, Failure == any Error {
    /// Cancels the task and returns the code of its error.
    func ended(sourceLocation: SourceLocation = #_sourceLocation) async -> BluetoothError.Code? {
        cancel()
        return await failureCode(sourceLocation: sourceLocation) { try await value }
    }
}
