import BluetoothAdvertising
import BluetoothHCI
import BluetoothLE
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets
import CBenchmarkSupport
import Synchronization

/// A simulated kernel with packets injected into its HCI socket, and channels of peers in memory.
final class InjectingKernel: WrappingKernel {
    final class Socket: HCISocket {
        private let base: any HCISocket
        private let handler: LoopBound<SocketHandler>
        private let packets: [UInt8]
        private let length: Int
        private let next = Atomic(0)
        private let end = Atomic(0)

        init(_ base: any HCISocket, _ handler: LoopBound<SocketHandler>, _ packets: [UInt8], length: Int) {
            (self.base, self.handler, self.packets, self.length) = (base, handler, packets, length)
        }

        /// Injects the packets from this number on.
        func inject(_ number: Int, count: Int = 1) {
            next.store(number, ordering: .relaxed)
            end.store(number + count, ordering: .relaxed)
            handler.value(.readable)
        }

        func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
            let number = next.load(ordering: .relaxed)
            guard number < end.load(ordering: .relaxed) else { return base.receive(body) }
            next.store(number + 1, ordering: .relaxed)
            let start = number * length
            let packets = packets
            body(packets.span.bytes.extracting(start..<start + length))
            return .packet
        }

        func send(_ packet: RawSpan) -> SendOutcome { base.send(packet) }
        func notifyWhenWritable() { base.notifyWhenWritable() }
        func setReading(_ isOn: Bool) { base.setReading(isOn) }
        func close() { base.close() }
        func setFilter(_ filter: HCISocketFilter) throws(KernelError) { try base.setFilter(filter) }
    }

    let base: SimulatedKernel
    private let packets: [UInt8]
    private let length: Int
    private let current = Mutex<Socket?>(nil)
    private let accepting = Mutex<[LoopBound<L2CAPAcceptHandler>]>([])

    init(_ base: SimulatedKernel, _ packets: [UInt8], length: Int) {
        (self.base, self.packets, self.length) = (base, packets, length)
    }

    var socket: Socket? { current.withLock { $0 } }

    func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket {
        let socket = Socket(
            try base.openHCI(adapter: adapter, handler), LoopBound(handler, on: loop), packets, length: length)
        current.withLock { $0 = socket }
        return socket
    }

    func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener {
        let listener = try base.listenL2CAP(channel: channel, on: adapter, options: options, accept)
        if channel == .attribute { accepting.withLock { $0.append(LoopBound(accept, on: loop)) } }
        return listener
    }

    /// Injects a channel that a peer has opened; returns the handler of its events. Called on the loop.
    func accept(_ socket: any L2CAPSocket) -> SocketHandler? {
        accepting.withLock { $0.last }?.value(socket)
    }
}

/// Packets of equal length, each with the report of another device.
func reports(of deviceCount: Int, oneInHundredWith service: BluetoothUUID) throws -> [UInt8] {
    var packets: [UInt8] = []
    for index in 0..<deviceCount {
        var payload = AdvertisementDataBuilder()
        try payload.add(.flags([.leGeneralDiscoverable, .brEDRNotSupported]))
        try payload.add(.services([index % 100 == 0 ? service : 0x180F], complete: true))
        try payload.add(.localName("Device-\(10_000 + index)", complete: true))
        var event = AdvertisingReportEvent(layout: .extended)
        try event.append(
            AdvertisingReport(
                address: BluetoothAddress(0xC000_0000_0000 + UInt64(index) * 0x9E37, kind: .random),
                properties: [.connectable, .scannable, .legacy], rssi: -60, data: payload.bytes.span.bytes))
        packets += event.packet
    }
    return packets
}

/// The cost of a report from the socket to the stream, with ten thousand devices that advertise in turn.
func scanBenchmarks(_ harness: Harness) async throws -> Report.Section {
    let deviceCount = 10_000
    let service: BluetoothUUID = 0x180D
    let packets = try reports(of: deviceCount, oneInHundredWith: service)
    let length = packets.count / deviceCount
    let decoded = try harness.measure("event → borrowed report", allocationGoal: 0, floor: .allocation) { count in
        var sum = 0
        for index in 0..<count {
            let start = index % deviceCount * length
            let packet = packets.span.bytes.extracting(start..<start + length)
            if var reports = try HCIEventPacket(decoding: packet).advertisingReports() {
                while let report = try reports.next() { sum &+= report.data.byteCount }
            }
        }
        consume(sum)
    }
    let radio = SimulatedRadio(time: .real)
    let kernel = InjectingKernel(radio.makeKernel(), packets, length: length)
    let adapter = try await Adapter.open(on: kernel)
    let runner = LoopRunner(loop: kernel.loop)

    func measure(
        _ name: String, _ options: ScanOptions, goal: Double, batch: Int = 1
    ) async throws -> Measurement {
        let scan = try await adapter.scan(options)
        defer { withExtendedLifetime(scan) {} }
        return try await runner.measure { _ in
            try harness.measure(name, goal: goal, allocationGoal: 0.1, floor: .allocation) { count in
                for index in stride(from: 0, to: count, by: batch) {
                    let first = index % (deviceCount - deviceCount % batch)
                    kernel.socket?.inject(first, count: min(batch, count - index))
                }
            }
        }
    }

    var filtered = ScanOptions(filter: .service(service), deviceLimit: deviceCount)
    let merged = try await measure("joined, merged, one in 100 passes", filtered, goal: 90)
    filtered.duplicates = .all
    let all = try await measure("joined, every report, one in 100 passes", filtered, goal: 90)
    filtered.filter = .any
    let unfiltered = try await measure("joined, every report, all pass", filtered, goal: 90)
    // As after the 10 ms in which a busy radio receives so many; the timer does not fire meanwhile.
    filtered.batching = .milliseconds(10)
    let batched = try await measure("… read in batches of 25", filtered, goal: 90, batch: 25)
    await adapter.close()
    radio.close()

    var table = DeviceTable(capacity: deviceCount)
    let advertisements = (0..<deviceCount).map { index in
        Advertisement(
            address: BluetoothAddress(0xC000_0000_0000 + UInt64(index) * 0x9E37, kind: .random),
            data: AdvertisementData(advertising: [2, 1, 6]), rssi: -60, time: KernelInstant(nanoseconds: Int64(index)))
    }
    let recorded = try harness.measure("recorded in a table of devices", floor: .allocation) { count in
        for index in 0..<count { table.record(advertisements[index % deviceCount]) }
    }
    return Report.Section(
        title: "Scanning: one report of \(deviceCount) devices in turn, to the stream",
        measurements: [decoded, merged, all, unfiltered, batched, recorded])
}
