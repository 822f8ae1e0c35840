import BluetoothLE
import BluetoothSimulation
import LINBLE
import LINBLESimulation
import TestSupport
import Testing

/// A radio with one machine, whose packets are counted, and one LINBLE, in virtual time.
struct KeptFixture: Sendable {
    let radio: SimulatedRadio
    let kernel: SimulatedKernel
    let faults: FaultingKernel
    let adapter: Adapter
    let linble: SimulatedLINBLE

    /// Runs a test with a fixture.
    static func run<Result: Sendable>(
        _ configuration: SimulatedLINBLE.Configuration = .init(), limit: Duration = .seconds(86_400),
        _ story: @escaping @Sendable (KeptFixture) async throws -> Result
    ) async throws -> Result {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let linble = SimulatedLINBLE(on: radio, configuration)
        let kernel = radio.makeKernel()
        let faults = FaultingKernel(kernel)
        return try await radio.run(limit: limit) {
            let adapter = try await Adapter.open(
                power: .keepOn, configuration: .init(bonds: .store(MemoryBondStore())), on: faults)
            return try await story(
                KeptFixture(radio: radio, kernel: kernel, faults: faults, adapter: adapter, linble: linble))
        }
    }

    /// A UART that is connected again without delay.
    func keep(
        _ device: UARTDevice = .name("LINBLE-Z1"), sendCapacity: Int = 65_536,
        whileOffline: KeptUARTOptions.OfflineBehavior = .buffer, uart: UARTOptions = UARTOptions()
    ) -> KeptUART {
        UARTConnection.keep(
            device, on: adapter,
            options: KeptUARTOptions(
                uart: uart, policy: ReconnectionPolicy(initialDelay: .zero), sendCapacity: sendCapacity,
                whileOffline: whileOffline))
    }

    /// Waits until a UART has a link, or has none.
    func settle(_ uart: KeptUART, isOnline: Bool = true) async throws {
        try await radio.settle { await (uart.connection != nil) == isOnline }
    }
}

extension KeptUART {
    /// Reads until there are `count` bytes.
    func read(_ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let more = try await read(timeout: .seconds(60)) { bytes += more }
        return bytes
    }

    /// Waits until everything is confirmed or lost.
    func flushAll() async throws {
        while true {
            let error = await failure { try await flush() }
            guard let error else { return }
            guard error.code == .disconnected else { throw error }
        }
    }
}

/// A device that records what it receives, and echoes it.
struct RecordingDevice: AttachedDevice {
    var bytes: [UInt8] = []

    mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] {
        self.bytes += bytes
        return [.send(bytes)]
    }
}

/// Bytes whose place is known: words that count.
enum CountingWords {
    static func bytes(_ count: Int) -> [UInt8] {
        (0..<UInt32(count / 4)).flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    static func words(_ bytes: [UInt8]) -> [Int] {
        stride(from: 0, to: bytes.count - 3, by: 4).map { start in
            (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
        }
    }
}

/// The events of a UART, as words.
struct KeptEvents {
    private var events: BoundedStream<KeptUART.Event>.Iterator

    init(_ events: BoundedStream<KeptUART.Event>) {
        self.events = events.makeAsyncIterator()
    }

    private func words(_ event: KeptUART.Event) -> String {
        switch event.kind {
        case .connecting(let attempt): "connecting \(attempt)"
        case .online: "online"
        case .offline(let reason, let count): "offline \(reason.code) \(count)"
        case .failed(let reason, let delay): "failed \(reason.code) \(delay)"
        case .waitingForAdapter(let reason): "waiting \(reason.code)"
        }
    }

    /// The next event.
    mutating func next() async throws -> String? { try await events.next().map(words) }

    /// The events until the end.
    func rest() async throws -> [String] {
        var (all, events) = ([String](), events)
        while let event = try await events.next() { all.append(words(event)) }
        return all
    }
}
