import BluetoothLE
import BluetoothLinux
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import BluetoothSystem
import CBenchmarkSupport
import Glibc

/// A process that sends the packets of a controller, in turn.
private final class Injector: Sendable {
    /// This process's end of a pair of sockets, which does not block.
    let socket: CInt

    init(_ packets: [UInt8], length: Int) throws {
        socket = benchmark_start_injector(packets, length, packets.count / length)
        guard socket >= 0 else { throw CallFailed(call: "fork") }
    }

    deinit { close(socket) }

    /// Has it send `count` packets, one in each `interval` of nanoseconds; with 0, as fast as they are received.
    func inject(_ count: Int, interval: Int) {
        var order = (Int64(count), Int64(interval))
        consume(send(socket, &order, MemoryLayout.size(ofValue: order), 0))
    }
}

/// A simulated kernel on a Linux kernel's loop, whose HCI socket receives the packets of an injector as well.
private final class GatewayKernel: WrappingKernel {
    private final class Socket: HCISocket {
        private let commands: any HCISocket
        private let reports: any PacketSocket

        init(_ commands: any HCISocket, _ reports: any PacketSocket) {
            (self.commands, self.reports) = (commands, reports)
        }

        func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
            reports.receive(body) == .packet ? .packet : commands.receive(body)
        }

        func setReading(_ isOn: Bool) {
            commands.setReading(isOn)
            reports.setReading(isOn)
        }

        func close() {
            commands.close()
            reports.close()
        }

        func send(_ packet: RawSpan) -> SendOutcome { commands.send(packet) }
        func notifyWhenWritable() { commands.notifyWhenWritable() }
        func setFilter(_ filter: HCISocketFilter) throws(KernelError) { try commands.setFilter(filter) }
    }

    let base: SimulatedKernel
    private let linux: LinuxKernel
    private let injector: Injector

    init(_ injector: Injector) throws {
        linux = try LinuxKernel()
        base = SimulatedRadio(on: linux.loop).makeKernel()
        self.injector = injector
    }

    func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket {
        Socket(
            try base.openHCI(adapter: adapter, handler),
            try linux.unixSocket(FileDescriptor(dup(injector.socket)), to: .zero, handler))
    }
}

extension Floor {
    /// A packet of an injector, received alone, or with those of a pause.
    fileprivate static func reading(_ injector: Injector, interval: Int, pause: Duration) -> Floor {
        let nanoseconds = Int(pause / .nanoseconds(1))
        return Floor(name: pause > .zero ? "recv, after each pause" : "epoll_wait + recv", isSystemCalls: true) {
            let epoll = try Epoll([injector.socket])
            return { count in
                injector.inject(count, interval: interval)
                var received = 0
                withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer in
                    while received < count {
                        if nanoseconds > 0 {
                            var time = timespec(tv_sec: 0, tv_nsec: nanoseconds)
                            nanosleep(&time, nil)
                        }
                        consume(epoll.wait())
                        repeat {
                            guard recv(injector.socket, buffer.baseAddress, buffer.count, 0) > 0 else { break }
                            received += 1
                        } while nanoseconds > 0
                    }
                }
            }
        }
    }
}

/// The cost of a busy radio: each report is a packet of another process, and is awaited by the program.
func gatewayBenchmarks(_ harness: Harness) async throws -> Report.Section {
    // A millisecond of reading takes a second, or less.
    var options = harness.options
    (options.repetitions, options.repetitionMilliseconds) = (min(options.repetitions, 7), 3)
    let gateway = try await Gateway(Harness(options: options))
    let memory = try await gateway.memory()
    let alone = try await withTaskExecutorPreference(gateway.loop) {
        try await gateway.measure("report, read one by one, awaited by a task that prefers the loop")
    }
    let batch = Duration.milliseconds(10)
    let batches = try await withTaskExecutorPreference(gateway.loop) {
        try await gateway.measure("report, read in batches, awaited by a task that prefers the loop", batch)
    }
    let pool = try await gateway.measure("report, read in batches, awaited on the global pool", batch)
    await gateway.close()
    let all = [alone, batches, pool]
    let share = all.filter(\.isMeasured).map {
        Report.Fact(
            name: "\($0.name), share of a core", value: $0.cpu * Double(Gateway.rate) / 1e7, unit: "%")
    }
    return Report.Section(
        title: "Gateway: \(number(Double(Gateway.rate))) reports/s of 10,000 devices, from another process",
        measurements: all,
        facts: share + [Report.Fact(name: "memory of a known device", value: memory, unit: "bytes", goal: 250)])
}

/// The injectors, and a program that scans.
private struct Gateway {
    static let rate = 2660
    private static let interval = 1_000_000_000 / rate
    private static let deviceCount = 10_000

    private let harness: Harness
    private let injector: Injector
    /// The one that is read without the library.
    private let bare: Injector
    private let kernel: GatewayKernel
    private let adapter: Adapter

    init(_ harness: Harness) async throws {
        self.harness = harness
        let packets = try reports(of: Self.deviceCount, oneInHundredWith: 0x180D)
        injector = try Injector(packets, length: packets.count / Self.deviceCount)
        bare = try Injector(packets, length: packets.count / Self.deviceCount)
        kernel = try GatewayKernel(injector)
        adapter = try await Adapter.open(on: kernel)
    }

    var loop: EventLoop { kernel.loop }

    func close() async {
        await adapter.close()
        kernel.base.radio.close()
    }

    /// A scan that has heard all devices, and the memory of each.
    private func scan(
        _ duplicates: DuplicatePolicy, _ batching: Duration = .zero
    ) async throws -> (iterator: BoundedStream<Advertisement>.Iterator, memory: Double) {
        let scan = try await adapter.scan(
            ScanOptions(
                duplicates: duplicates, batching: batching, bufferCapacity: Self.deviceCount,
                deviceLimit: Self.deviceCount))
        var iterator = scan.makeAsyncIterator()
        benchmark_start_counting()
        let burst = 100
        for number in 0..<Self.deviceCount {
            // So few that the stream's buffer does not grow with them.
            if number.isMultiple(of: burst) { injector.inject(burst, interval: 0) }
            consume(try await iterator.next()?.rssi ?? 0)
        }
        return (iterator, Double(benchmark_stop_counting().bytes) / Double(Self.deviceCount))
    }

    /// The memory of a device that a scan with the default policy knows.
    func memory() async throws -> Double { try await scan(.merge).memory }

    /// Measures a report that the caller awaits.
    func measure(_ name: String, _ batching: Duration = .zero) async throws -> Measurement {
        var (iterator, _) = try await scan(.all, batching)
        let floor = Floor.reading(bare, interval: Self.interval, pause: batching)
        return try await harness.measure(
            name, goal: batching > .zero ? 600 : 1000, allocationGoal: 0.1, floor: floor, isolation: nil
        ) { count in
            injector.inject(count, interval: Self.interval)
            for _ in 0..<count { consume(try await iterator.next()?.rssi ?? 0) }
        }
    }
}
