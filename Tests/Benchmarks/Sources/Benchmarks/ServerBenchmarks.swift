import BluetoothATT
import BluetoothLE
import BluetoothPrimitives
import CBenchmarkSupport
import BluetoothGATT
import BluetoothLinux

/// The cost of a request in the server, in memory: bytes in, bytes out, without a socket.
func serverBenchmarks(_ harness: Harness) throws -> Report.Section {
    var measurements: [Measurement] = []
    for serviceCount in [10, 909] {
        var database = try AttributeDatabase.server(serviceCount: serviceCount)
        let name = "\(number(Double(database.attributes.count))) attributes"
        let handles = database.attributes.filter { $0.type == valueType }.map(\.handle.rawValue)
        let reads = requests(to: handles) { [0x0A, $0, $1] }
        let writes = requests(to: handles) { [0x12, $0, $1] + [UInt8](repeating: 0xAA, count: 20) }
        // The last step of a discovery: the attribute of this type is at the end.
        let last = handles.last ?? 1
        let search = requests(to: [last]) { [0x08, $0, $1, 0xFF, 0xFF, 0x55, 0x55] }
        var server = GATTServer(limits: GATTServer.Limits(receiveMTU: 247))
        server.mtu = 247
        var writer = ByteWriter(capacity: 517)
        for (request, all, goal, allocations): (String, [UInt8], Double, Double) in [
            ("Read Request", reads, 18, 0), ("Write Request, 20 bytes", writes, 35, 3), ("Read By Type", search, 28, 0),
        ] {
            let length = all.count / sampleCount
            measurements.append(
                try harness.measure(
                    "\(request), \(name)", goal: goal, allocationGoal: allocations, floor: .allocation
                ) { count in
                    var sum = 0
                    for index in 0..<count {
                        let start = index % sampleCount * length
                        _ = server.receive(
                            all.span.bytes.extracting(start..<start + length), database: &database, into: &writer)
                        sum &+= writer.count
                    }
                    consume(sum)
                })
        }
    }
    return Report.Section(title: "Server: one request answered in memory, ATT_MTU 247", measurements: measurements)
}

/// The cost of a value for all subscribed clients, from the program to each consumer.
func notifyingBenchmarks(_ harness: Harness) async throws -> Report.Section {
    let kernel = try LinuxKernel()
    let value = [UInt8](repeating: 0x55, count: 20)
    var measurements: [Measurement] = []
    allowDescriptors(5000)
    for (clientCount, batch, goal) in [(1, 1, 500.0), (32, 32, 300), (1000, 1, 700)] {
        let database = try AttributeDatabase.benchmark
        var links: [Link] = []
        for _ in 0..<clientCount { links.append(try await Link.make(on: kernel, database)) }
        let all = links
        guard let characteristic = try await all[0].client.discover().first?.characteristics.first else {
            throw CallFailed(call: "discover", number: 0)
        }
        let measurement = try await withTaskExecutorPreference(kernel.loop) {
            var streams: [BoundedStream<[UInt8]>] = []
            for link in all { streams.append(try await link.client.subscribe(to: characteristic)) }
            var iterators = streams.map { $0.makeAsyncIterator() }
            return try await harness.measure(
                "notification of 20 bytes, \(clientCount) clients", goal: goal,
                allocationGoal: 1.2, floor: clientCount == 1000 ? .oneWay(links: 1000) : .oneWay,
                isolation: nil
            ) { count in
                for first in stride(from: 0, to: count, by: batch) {
                    let batch = (first..<min(first + batch, count)).lazy.map { $0 % clientCount }
                    for index in batch { try await all[index].peer.notify(value, at: characteristic.valueHandle) }
                    for index in batch { consume(try await iterators[index].next()?.count ?? 0) }
                }
            }
        }
        measurements.append(measurement)
        for link in all { await link.client.disconnect() }
    }
    return Report.Section(title: "Server: notifications, each awaited at both ends", measurements: measurements)
}

private let sampleCount = 16
private let valueType: BluetoothUUID = 0x5555

/// One request at a time, to handles across the whole database.
private func requests(to handles: [UInt16], _ body: (UInt8, UInt8) -> [UInt8]) -> [UInt8] {
    (0..<sampleCount).flatMap { index -> [UInt8] in
        let handle = handles[index * (handles.count - 1) / (sampleCount - 1)]
        return body(UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8))
    }
}

extension AttributeDatabase {
    /// Services of seven characteristics with a CCCD each: 22 attributes per service.
    fileprivate static func server(serviceCount: Int) throws -> AttributeDatabase {
        try AttributeDatabase(
            (0..<serviceCount).map { index in
                GATTService(
                    BluetoothUUID(UInt16(0x6000 + index))
                ) {
                    for _ in 0..<7 {
                        GATTCharacteristic(
                            valueType, properties: [.read, .write, .notify],
                            value: .stored([UInt8](repeating: 0x55, count: 20)))
                    }
                }
            })
    }
}
