import BluetoothAdvertising
import BluetoothLE
import BluetoothHCI
import BluetoothPrimitives
import BluetoothSimulation

/// The cost of resolving private addresses with the keys of 100 bonds: from the socket to a scan for the last of the devices,
/// each report with an address that is new or has been evicted from the cache.
func resolvingBenchmarks(_ harness: Harness) async throws -> Report.Section {
    let addressCount = 4096
    var generator = SystemRandomNumberGenerator()
    let keys = (0..<100).map { _ in SecurityKey.random(using: &generator) }
    let bonds = keys.indices.map { number in
        Bond(
            identity: BluetoothAddress(0xC0DE_0000_0000 + UInt64(number), kind: .random), resolvedBy: keys[number])
    }
    let resolver = PrivateAddressResolver()
    let stranger = SecurityKey.random(using: &generator)
    let last = bonds[99]
    var packets: [UInt8] = []
    for index in 0..<addressCount {
        // Every other report is from the device whose key is tried last; the others match no key.
        let key = index % 2 == 0 ? stranger : keys[99]
        guard let address = resolver.address(with: key, using: &generator) else { continue }
        var event = AdvertisingReportEvent(layout: .extended)
        let payload: [UInt8] = [2, 1, 6]
        try event.append(
            AdvertisingReport(
                address: address, properties: [.connectable, .scannable, .legacy], rssi: -60, data: payload.span.bytes))
        packets += event.packet
    }
    let length = packets.count / addressCount

    func measure(_ name: String, _ bonds: [Bond], goal: Double?) async throws -> Measurement {
        let radio = SimulatedRadio(time: .real)
        let kernel = InjectingKernel(radio.makeKernel(), packets, length: length)
        let own = try await Adapter.open(on: kernel)
        let store = MemoryBondStore(bonds, of: own.information.address)
        await own.close()
        let adapter = try await Adapter.open(configuration: .init(bonds: .store(store)), on: kernel)
        let runner = LoopRunner(loop: kernel.loop)
        let scan = try await adapter.scan(
            ScanOptions(filter: .address(last.identity), duplicates: .all, deviceLimit: addressCount))
        let measurement = try await runner.measure { _ in
            // Each repetition continues after the previous one: addresses are evicted before they recur.
            var number = 0
            return try harness.measure(name, goal: goal, allocationGoal: 1, floor: .allocation) { count in
                for _ in 0..<count {
                    kernel.socket?.inject(number)
                    number = (number + 1) % addressCount
                }
            }
        }
        withExtendedLifetime(scan) {}
        await adapter.close()
        radio.close()
        return measurement
    }

    return Report.Section(
        title: "Private addresses: one report of \(addressCount) in turn, all new",
        measurements: [
            try await measure("no bonds", [], goal: nil),
            try await measure("among the keys of 100 bonds", bonds, goal: 1800),
        ])
}
