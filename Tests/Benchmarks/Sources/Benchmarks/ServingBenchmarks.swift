import BluetoothGATT
import BluetoothLE
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import Synchronization

/// A client at the other end of a channel in memory, which makes no system calls.
private final class BenchmarkClient: L2CAPSocket {
    private struct State {
        var request: [UInt8]?
        var handler: LoopBound<SocketHandler>?
    }

    let peer: BluetoothAddress
    private let state = Mutex(State())
    private let received = Atomic(0)

    init(_ number: Int) { peer = BluetoothAddress(0xC000_0000_0000 + UInt64(number), kind: .random) }

    /// The number of the server's packets.
    var receivedCount: Int { received.load(ordering: .relaxed) }

    func setHandler(_ handler: @escaping SocketHandler, on loop: EventLoop) {
        state.withLock { $0.handler = LoopBound(handler, on: loop) }
    }

    /// Sends the server a packet; called on the loop.
    func request(_ pdu: [UInt8]) {
        let handler = state.withLock { state in
            state.request = pdu
            return state.handler
        }
        handler?.value(.readable)
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        guard let pdu = state.withLock({ $0.request.take() }) else { return .wouldBlock }
        body(pdu.span.bytes)
        return .packet
    }

    func send(_ packet: RawSpan) -> SendOutcome {
        received.store(receivedCount + 1, ordering: .relaxed)
        return .sent
    }

    // It is never full.
    func notifyWhenWritable() {}
    func setReading(_ isOn: Bool) {}
    func close() {}
    func connectionHandle() throws(KernelError) -> UInt16 { 1 }
    func security() throws(KernelError) -> LinkSecurity { LinkSecurity(level: .low, keySize: 0) }

    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        throw KernelError("setsockopt(BT_SECURITY)", .operationNotSupported)
    }

    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) { (672, 672) }
}

/// What a server of many clients costs: the library alone, as the clients' packets are in memory.
func servingBenchmarks(_ harness: Harness) async throws -> Report.Section {
    let radio = SimulatedRadio(time: .real)
    let kernel = InjectingKernel(radio.makeKernel(), [], length: 0)
    let adapter = try await Adapter.open(on: kernel)
    let stored = LocalCharacteristic(
        0x5555, properties: [.read, .notify], value: [UInt8](repeating: 0x55, count: 20))
    let answered = LocalCharacteristic(0x5556, properties: .read).onRead { _ in [UInt8](repeating: 0x55, count: 20) }
    let services = try await adapter.publish([LocalService(0x6000, characteristics: [stored, answered])])
    var incoming = try await adapter.incomingConnections().makeAsyncIterator()
    let clients = (0..<100).map(BenchmarkClient.init)
    var connections: [Connection] = []
    for client in clients {
        await kernel.loop.run { kernel.accept(client).map { client.setHandler($0, on: kernel.loop) } }
        if let connection = try await incoming.next() { connections.append(connection) }
    }
    guard let value = services.handle(of: 0x5555), let other = services.handle(of: 0x5556) else {
        throw CallFailed(call: "publish", number: 0)
    }
    @Sendable func bytes(_ handle: AttributeHandle) -> [UInt8] {
        [UInt8(truncatingIfNeeded: handle.rawValue), UInt8(truncatingIfNeeded: handle.rawValue >> 8)]
    }
    let configuration = AttributeHandle(value.rawValue + 1)
    await kernel.loop.run {
        for client in clients { client.request([0x12] + bytes(configuration) + [1, 0]) }
    }
    let (published, sent) = (services[stored], [UInt8](repeating: 0xAA, count: 20))
    let runner = LoopRunner(loop: kernel.loop)
    let notified = try await withTaskExecutorPreference(kernel.loop) {
        try await harness.measure(
            "one notify to \(clients.count) clients, each", goal: 94, allocationGoal: 1.2, floor: .allocation,
            isolation: nil
        ) { count in
            for _ in 0..<max(1, count / clients.count) { consume(try await published.notify(sent).count) }
        }
    }
    var measurements = [notified]
    for (name, handle, goal) in [("read of a stored value", value, 80.0), ("read answered by a handler", other, 400)] {
        let request = [0x0A] + bytes(handle)
        measurements.append(
            try await runner.measure { _ in
                var requestCount = clients[0].receivedCount
                let measurement = try harness.measure(name, goal: goal, floor: .allocation) { count in
                    for _ in 0..<count { clients[0].request(request) }
                    requestCount += count
                }
                guard clients[0].receivedCount == requestCount else { throw CallFailed(call: "read", number: 0) }
                return measurement
            })
    }
    withExtendedLifetime(connections) {}
    await adapter.close()
    radio.close()
    return Report.Section(title: "Server: \(clients.count) clients in memory", measurements: measurements)
}
