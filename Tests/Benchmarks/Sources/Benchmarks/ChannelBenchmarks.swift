import BluetoothLE
import BluetoothLinux

/// Connection-oriented channels over a pair of local sockets, both ends in this process.
struct ChannelBenchmarks {
    private let harness: Harness
    private let kernel: LinuxKernel

    init(_ harness: Harness) throws {
        self.harness = harness
        kernel = try LinuxKernel()
    }

    /// Bytes in one direction, as fast as possible: one task writes, another reads.
    func throughput() async throws -> Report.Section {
        let pair = try await ChannelPair.make(on: kernel, mtu: 2048)
        let (writer, reader) = (pair.writer, pair.reader)
        var measurements: [Measurement] = []

        let sdu = [UInt8](repeating: 0x55, count: 244)
        let floor = Floor.oneWay(packetsOf: sdu.count)
        for caller in [Caller.taskOnLoop, .pool] {
            measurements.append(
                try await caller.measure(
                    harness, "SDU of 244 bytes, sent and read", goal: caller == .pool ? nil : 400,
                    allocationGoal: caller == .pool ? nil : 3, floor: floor, on: kernel.loop
                ) { count, _ in
                    async let writing: Void = Self.send(sdu, times: count, over: writer)
                    for _ in 0..<count { consume(try await reader.read()?.count ?? 0) }
                    try await writing
                })
        }

        let block = [UInt8](repeating: 0x55, count: 1 << 16)
        let pieces = block.count / 2048
        let blockFloor = Floor.oneWay(times: pieces, packetsOf: 2048)
        for caller in [Caller.taskOnLoop, .pool] {
            measurements.append(
                try await caller.measure(
                    harness, "64 KiB in one write, read in SDUs of 2048",
                    goal: caller == .pool ? nil : 4000, allocationGoal: caller == .pool ? nil : 35, floor: blockFloor,
                    on: kernel.loop
                ) { count, _ in
                    async let writing: Void = Self.write(block, times: count, over: writer)
                    for _ in 0..<count * pieces { consume(try await reader.read()?.count ?? 0) }
                    try await writing
                })
        }
        await writer.close()
        await reader.close()
        let facts = measurements.filter { $0.name.hasPrefix("64 KiB") && $0.isMeasured }.map { measurement in
            Report.Fact(
                name: "throughput on one core, \(measurement.name.split(separator: ", ").last ?? "")",
                value: Double(block.count) / measurement.cpu * 1000, unit: "MB/s")
        }
        return Report.Section(title: "Connection-oriented channel, both ends", measurements: measurements, facts: facts)
    }

    private static func send(
        _ sdu: [UInt8], times count: Int, over channel: ConnectionOrientedChannel
    ) async throws {
        for _ in 0..<count { try await channel.send(sdu) }
    }

    private static func write(
        _ bytes: [UInt8], times count: Int, over channel: ConnectionOrientedChannel
    ) async throws {
        for _ in 0..<count { try await channel.write(bytes) }
    }
}
