import BluetoothLE
import BluetoothSimulation
import LINBLE
import Synchronization
import Testing

/// A machine that offers a UART, and others in its range, in virtual time.
struct ServerFixture: Sendable {
    let radio: SimulatedRadio
    let kernel: SimulatedKernel
    let adapter: Adapter
    let centralKernels: [SimulatedKernel]
    let centrals: [Adapter]
    let server: Task<Void, any Error>
    let events: Events

    /// The server's events, as words.
    final class Events: Sendable {
        private let words = Mutex<[String]>([])
        let failures = Mutex<[BluetoothError.Code?]>([])

        func tell(_ event: UARTServerEvent) {
            switch event.kind {
            case .advertising: words.withLock { $0.append("advertising") }
            case .connected: words.withLock { $0.append("connected") }
            case .online: words.withLock { $0.append("online") }
            case .offline(_, let error):
                words.withLock { $0.append("offline") }
                failures.withLock { $0.append((error as? BluetoothError)?.code) }
            }
        }

        func count(_ word: String) -> Int { words.withLock { $0.count { $0 == word } } }
    }

    static func run(
        _ options: UARTServerOptions = UARTServerOptions(), centrals count: Int = 1,
        serve: @escaping @Sendable (UARTCentral) async throws -> Void = echo,
        _ story: @escaping @Sendable (ServerFixture) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let kernel = radio.makeKernel()
        let kernels = (0..<count).map { _ in radio.makeKernel() }
        try await radio.run(limit: .seconds(3600)) {
            let adapter = try await Adapter.open(configuration: .init(bonds: .store(MemoryBondStore())), on: kernel)
            var centrals: [Adapter] = []
            for kernel in kernels {
                centrals.append(
                    try await Adapter.open(configuration: .init(bonds: .store(MemoryBondStore())), on: kernel))
            }
            let events = Events()
            let server = Task(executorPreference: radio.loop) {
                try await UARTServer.run(on: adapter, options: options, events: { events.tell($0) }, serve: serve)
            }
            let fixture = ServerFixture(
                radio: radio, kernel: kernel, adapter: adapter, centralKernels: kernels, centrals: centrals,
                server: server, events: events)
            try await story(fixture)
            server.cancel()
            _ = await server.result
            await adapter.close()
            for central in centrals { await central.close() }
        }
    }

    @Sendable static func echo(_ central: UARTCentral) async throws {
        for try await bytes in central.received { try await central.send(bytes) }
    }

    /// Opens the UART from a central.
    func open(_ number: Int = 0, _ options: UARTOptions = UARTOptions()) async throws -> UARTConnection {
        try await UARTConnection.open(.name("LINBLE-Z1"), on: centrals[number], options: options)
    }

    /// Waits until a condition holds, for a minute at most.
    func settle(_ condition: () -> Bool) async throws {
        let end = radio.now.advanced(by: .seconds(60))
        while !condition(), radio.now < end { try await radio.sleep(for: .milliseconds(10)) }
        #expect(condition())
    }
}
