import BluetoothLE
import Glibc
import SimulatedKernel
import SimulatedLINBLE
import Synchronization
import Testing

/// What a snippet has printed, line by line.
final class Output: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    func append(_ line: String) { state.withLock { $0.append(line) } }
}

/// A machine with an adapter, and what is on the air around it, in virtual time.
///
/// A LINBLE-Z1, the heart rate sensor of the guide, a heart rate belt that cannot be connected to, and a beacon.
struct World: Sendable {
    /// Where snippets run that name no kernel.
    @TaskLocal static var current: World?

    let radio: SimulatedRadio
    let kernel: SimulatedKernel
    let output = Output()
    let sensor: Sensor
    let linble: SimulatedLINBLE
    /// Where the files of snippets go.
    let folder: String

    private static let worlds = Mutex<[ObjectIdentifier: World]>([:])

    /// The world of the calling task, or that of the loop on which a handler of a snippet is called.
    static var ofCaller: World? {
        current ?? worlds.withLock { worlds in worlds.values.first { $0.radio.loop.isCurrent } }
    }

    /// Runs a story. A wait that would never end fails it, after `stallGrace` of real time: what is read from a disk takes
    /// no virtual time, and on a busy machine much of the real one.
    static func run(
        _ adapters: [SimulatedController] = [.fresh], stallGrace: Duration = .seconds(2),
        _ story: @escaping @Sendable (World) async throws -> Void
    ) async throws {
        var template = Array("/tmp/guideXXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { rmdir(folder) }
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let world = World(
            radio: radio, kernel: radio.makeKernel(adapters: adapters), sensor: try Sensor(on: radio),
            linble: SimulatedLINBLE(
                on: radio,
                .init(address: BluetoothAddress(0xC098_E512_3456, kind: .random), signalStrength: -65)),
            folder: folder)
        SimulatedPeripheral(
            on: radio, address: BluetoothAddress(0xC098_E512_0001, kind: .random),
            advertisements: [
                try SimulatedAdvertisement(
                    fields: [.manufacturerData(ManufacturerData(company: .apple, data: [0x02, 0x15, 0, 1]))],
                    isConnectable: false, isScannable: false)
            ], signalStrength: -80)
        worlds.withLock { $0[ObjectIdentifier(radio)] = world }
        defer { worlds.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(radio)) } }
        try await $current.withValue(world) {
            try await radio.run(limit: .seconds(600), stallGrace: stallGrace) { try await story(world) }
        }
        radio.tearDown()
    }

    /// Runs a story with an adapter that is on.
    static func withAdapter(
        _ adapters: [SimulatedController] = [.fresh],
        _ story: @escaping @Sendable (World, Adapter) async throws -> Void
    ) async throws {
        try await run(adapters) { world in
            let adapter = try await Adapter.open(power: .powerOn)
            try await story(world, adapter)
            await adapter.close()
        }
    }

    /// Runs a story with a connection to the sensor.
    static func withConnection(
        _ story: @escaping @Sendable (World, Adapter, Connection) async throws -> Void
    ) async throws {
        try await withAdapter { world, adapter in
            let connection = try await adapter.connect(to: world.sensor.address)
            try await story(world, adapter, connection)
            await connection.disconnect()
        }
    }

    /// What was printed so far.
    var lines: [String] { output.lines }

    /// Begins a snippet that goes on until something ends it.
    func begin(_ snippet: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
        Task(executorPreference: radio.loop) { try await snippet() }
    }

    /// Lets time pass, at most a minute, until `condition` holds.
    func settle(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: @Sendable () async -> Bool
    ) async throws {
        for _ in 0..<6000 {
            if await condition() { return }
            try await radio.sleep(for: .milliseconds(10))
        }
        Issue.record("what was waited for did not happen; printed: \(lines)", sourceLocation: sourceLocation)
    }

    /// Lets time pass until so many lines were printed.
    func settle(printed count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await settle(sourceLocation: sourceLocation) { lines.count >= count }
    }

    /// How long `body` takes on the radio's clock.
    func duration(of body: () async throws -> Void) async rethrows -> Duration {
        let start = radio.now
        try await body()
        return start.duration(to: radio.now)
    }
}

/// The code of the error of this library that `body` ends with; nil when it ends without one.
func code(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> BluetoothError.Code? {
    do {
        try await body()
        return nil
    } catch let error as BluetoothError {
        return error.code
    } catch {
        Issue.record("not an error of this library: \(error)", sourceLocation: sourceLocation)
        return nil
    }
}

extension Task where Success == Void, Failure == any Error {
    /// Ends the task by cancelling it; says with which error it ended.
    func ended(sourceLocation: SourceLocation = #_sourceLocation) async -> BluetoothError.Code? {
        cancel()
        return await code(sourceLocation: sourceLocation) { try await value }
    }
}
