import BluetoothLE
import BluetoothLinux
import BluetoothLoop
import CBenchmarkSupport

/// The executor of the caller's task.
enum Caller: CaseIterable {
    case actorOnLoop, taskOnLoop, pool

    var name: String {
        switch self {
        case .actorOnLoop: "from an actor on the loop"
        case .taskOnLoop: "from a task that prefers the loop"
        case .pool: "from the global pool"
        }
    }

    /// Measures `body` with the caller on this executor.
    func measure(
        _ harness: Harness, _ name: String, goal: Double? = nil, allocationGoal: Double? = nil, floor: Floor,
        on loop: EventLoop,
        _ body: @escaping @Sendable (Int, isolated (any Actor)?) async throws -> Void
    ) async throws -> Measurement {
        let name = "\(name), \(self.name)"
        switch self {
        case .actorOnLoop:
            return try await LoopRunner(loop: loop).measure { runner in
                try await harness.measure(
                    name, goal: goal, allocationGoal: allocationGoal, floor: floor, isolation: runner
                ) { count in
                    try await body(count, runner)
                }
            }
        case .taskOnLoop:
            return try await withTaskExecutorPreference(loop) {
                try await harness.measure(
                    name, goal: goal, allocationGoal: allocationGoal, floor: floor, isolation: nil
                ) { count in
                    try await body(count, nil)
                }
            }
        case .pool:
            return try await harness.measure(
                name, goal: goal, allocationGoal: allocationGoal, floor: floor, isolation: nil
            ) { count in
                try await body(count, nil)
            }
        }
    }
}

/// The whole stack over a pair of local sockets, both ends in this process.
struct ConnectionBenchmarks {
    private let harness: Harness
    private let kernel: LinuxKernel

    init(_ harness: Harness) throws {
        self.harness = harness
        kernel = try LinuxKernel()
    }

    /// The characteristic of a remote device for the benchmarks.
    private func characteristic(of client: Connection) async throws -> RemoteCharacteristic {
        guard let found = try await client.discover().first?.characteristics.first else {
            throw CallFailed(call: "discover", number: 0)
        }
        return found
    }

    /// Requests with responses, one at a time.
    func reads() async throws -> Report.Section {
        let link = try await Link.make(on: kernel, try .benchmark)
        let client = link.client
        let characteristic = try await characteristic(of: client)
        var measurements: [Measurement] = []
        for caller in Caller.allCases {
            measurements.append(
                try await caller.measure(
                    harness, "read 20 bytes", goal: caller == .pool ? nil : 1000,
                    allocationGoal: caller == .pool ? 5.1 : 3,
                    floor: .roundTrip, on: kernel.loop
                ) { count, _ in
                    for _ in 0..<count { consume(try await client.read(characteristic).count) }
                })
        }
        let value = [UInt8](repeating: 0x55, count: 20)
        measurements.append(
            try await Caller.actorOnLoop.measure(
                harness, "write 20 bytes with response", goal: 1000, allocationGoal: 5, floor: .roundTrip,
                on: kernel.loop
            ) { count, _ in
                for _ in 0..<count { try await client.write(value, to: characteristic) }
            })
        await client.disconnect()
        return Report.Section(
            title: "Connection: requests, both ends awaited, ATT_MTU 247", measurements: measurements)
    }

    /// Values without a response, as fast as possible.
    func streams() async throws -> Report.Section {
        var measurements: [Measurement] = []

        let (server, client) = try await NotifyingServer.make(on: kernel)
        let characteristic = try await characteristic(of: client)
        for length in [20, 244] {
            let value = [UInt8](repeating: 0x55, count: length)
            for caller in length == 20 ? Caller.allCases : [.taskOnLoop] {
                measurements.append(
                    try await caller.measure(
                        harness, "notification of \(length) bytes, received", goal: 180,
                        allocationGoal: caller == .pool ? nil : 1.2, floor: .oneWay, on: kernel.loop
                    ) { count, actor in
                        let stream = try await client.subscribe(to: characteristic, bufferCapacity: 1 << 20)
                        await server.notify(characteristic.valueHandle, value, count: count)
                        var iterator = stream.makeAsyncIterator()
                        for _ in 0..<count { consume(try await iterator.next(isolation: actor)?.count ?? 0) }
                    })
            }
        }
        await client.disconnect()

        let link = try await Link.make(on: kernel, try .benchmark)
        for length in [20, 244] {
            let value = [UInt8](repeating: 0x55, count: length)
            for caller in length == 20 ? Caller.allCases : [.taskOnLoop] {
                measurements.append(
                    try await caller.measure(
                        harness, "write command of \(length) bytes, sent", goal: caller == .pool ? nil : 230,
                        allocationGoal: caller == .pool ? 5.1 : 3, floor: .oneWay, on: kernel.loop
                    ) { count, _ in
                        for _ in 0..<count { try await link.client.writeCommand(value, to: characteristic) }
                        // The response follows all commands.
                        consume(try await link.client.read(characteristic).count)
                    })
            }
        }
        await link.client.disconnect()
        return Report.Section(
            title: "Connection: values without an answer, both ends, ATT_MTU 247", measurements: measurements)
    }

    /// Values that a callback on the loop receives, as Core Bluetooth's classes do, each sent when the last has arrived.
    func callbacks() async throws -> Report.Section {
        let link = try await Link.make(on: kernel, try .benchmark)
        let characteristic = try await characteristic(of: link.client)
        guard let descriptor = characteristic.descriptor(.clientCharacteristicConfiguration) else {
            throw CallFailed(call: "discover", number: 0)
        }
        try await link.client.write([1, 0], to: descriptor)
        let measurement = try await withTaskExecutorPreference(kernel.loop) {
            let receiver = ValueReceiver(link, characteristic)
            return try await harness.measure(
                "notification of 20 bytes, sent and received one by one", goal: 200, allocationGoal: 1.2,
                floor: .oneWay,
                isolation: nil
            ) { count in
                await receiver.receive(count)
            }
        }
        await link.client.disconnect()
        return Report.Section(title: "Connection: values to a callback inside the package", measurements: [measurement])
    }

    /// The discovery of a peer's database.
    func discovery() async throws -> Report.Section {
        let (server, client) = try await NotifyingServer.make(on: kernel)
        let before = await server.packetCount
        let services = try await client.discover()
        let packets = await server.packetCount - before
        let characteristics = services.flatMap(\.characteristics)
        let measurement = try await Caller.actorOnLoop.measure(
            harness, "discover 10 services of 5 characteristics", goal: 6000, allocationGoal: 128,
            floor: .oneWay(times: 14), on: kernel.loop
        ) { count, _ in
            for _ in 0..<count { consume(try await client.discover(cached: false).count) }
        }
        await client.disconnect()
        return Report.Section(
            title: "Connection: discovery, ATT_MTU 247", measurements: [measurement],
            facts: [
                Report.Fact(name: "PDUs, both directions", value: Double(packets), unit: "", goal: 16),
                Report.Fact(name: "services found", value: Double(services.count), unit: ""),
                Report.Fact(name: "characteristics found", value: Double(characteristics.count), unit: ""),
                Report.Fact(
                    name: "descriptors found", value: Double(characteristics.flatMap(\.descriptors).count), unit: ""),
            ])
    }
}

/// A receiver of values that has the peer send the next one.
private final class ValueReceiver: LinkEventReceiver {
    private let peer: Connection
    private let characteristic: AttributeHandle
    private let value = [UInt8](repeating: 0x55, count: 20)
    private var remaining = 0
    private var end: Promise<Void, Never>?

    init(_ link: Link, _ characteristic: RemoteCharacteristic) {
        (peer, self.characteristic) = (link.peer, characteristic.valueHandle)
        link.client.sendEvents(to: self)
    }

    /// Returns when `count` values have arrived.
    nonisolated(nonsending) func receive(_ count: Int) async {
        let end = Promise<Void, Never>()
        (remaining, self.end) = (count, end)
        sendNext()
        await end.value(ifCancelled: ())
    }

    func receive(_ event: LinkEvent) {
        guard case .value(let value, _) = event else { return }
        consume(value.count)
        remaining -= 1
        if remaining > 0 { sendNext() } else { end?.succeed() }
    }

    private func sendNext() {
        if !peer.notifyAtOnce(value, at: characteristic) { end?.succeed() }
    }
}
