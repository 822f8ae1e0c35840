import BluetoothGATT
import BluetoothLE
import BluetoothLinux
import BluetoothPrimitives
import BluetoothSimulation

/// What must not grow with a database or with the devices in range: operations among many and among ten.
struct ScaleBenchmarks {
    private let harness: Harness
    private let kernel: LinuxKernel

    init(_ harness: Harness) throws {
        self.harness = harness
        kernel = try LinuxKernel()
    }

    func ratios() async throws -> Report.Section {
        var section = Report.Section(title: "Scale: one operation among many, compared with ten", measurements: [])
        try await add("read by UUID", among: 4000, "services", to: &section, reading)
        try await add("publish and withdraw a service", among: 1000, "services", to: &section, publishing)
        try await add("advertisement heard by one scanner", among: 10_000, "simulated devices", to: &section, hearing)
        return section
    }

    /// Measures an operation among ten and among `count`; again if it costs more than 1.5 times as much.
    private func add(
        _ operation: String, among count: Int, _ surroundings: String, to section: inout Report.Section,
        _ measure: (Int, String) async throws -> Measurement
    ) async throws {
        var (few, many): (Measurement, Measurement)
        var attempts = 0
        repeat {
            few = try await measure(10, "\(operation), 10 \(surroundings)")
            many = try await measure(count, "\(operation), \(number(Double(count))) \(surroundings)")
            attempts += 1
        } while many.cpu > few.cpu * 1.5 && attempts < 3
        section.measurements += [few, many]
        guard few.isMeasured, many.isMeasured else { return }
        let name = "\(operation), \(number(Double(count))) \(surroundings) to 10"
        section.facts.append(Report.Fact(name: name, value: many.cpu / few.cpu, unit: "×", goal: 1.5))
    }

    private func reading(_ count: Int, _ name: String) async throws -> Measurement {
        let last = BluetoothUUID(UInt16(0x6000 + count - 1))
        let services = (0..<count).map { index in
            GATTService(
                BluetoothUUID(UInt16(0x6000 + index)),
                characteristics: [GATTCharacteristic(0x5555, properties: .read, value: .stored([1]))])
        }
        let link = try await Link.make(on: kernel, try AttributeDatabase(services))
        _ = try await link.client.discover()
        let measurement = try await Caller.taskOnLoop.measure(harness, name, floor: .roundTrip, on: kernel.loop) {
            count, _ in
            for _ in 0..<count { consume(try await link.client.read(0x5555, in: last).count) }
        }
        await link.client.disconnect()
        return measurement
    }

    /// The service has a handle of its own, as handles are not used again, and needs security.
    private func publishing(_ count: Int, _ name: String) async throws -> Measurement {
        let radio = SimulatedRadio(time: .real)
        let kernel = radio.makeKernel()
        let adapter = try await Adapter.open(on: kernel)
        func service(_ handle: AttributeHandle?) -> LocalService {
            let value = LocalCharacteristic(
                0x5555, properties: .read, value: [1],
                permissions: handle == nil ? [.read] : [.read, .readEncrypted])
            return LocalService(0x6000, characteristics: [value], handle: handle)
        }
        for _ in 0..<count { try await adapter.publish([service(nil)]) }
        let one = service(0xF000)
        let measurement = try await Caller.taskOnLoop.measure(harness, name, floor: .allocation, on: kernel.loop) {
            count, _ in
            for _ in 0..<count { await (try await adapter.publish([one])).close() }
        }
        await adapter.close()
        radio.close()
        return measurement
    }

    /// Ten devices advertise; the others are silent, so that the scanner remembers ten in both cases.
    private func hearing(_ count: Int, _ name: String) async throws -> Measurement {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let advertisement = SimulatedAdvertisement(data: [2, 1, 6], interval: .milliseconds(100))
        for index in 0..<count { SimulatedPeripheral(on: radio, advertisements: index < 10 ? [advertisement] : []) }
        let measurement = try await radio.run(limit: .seconds(1_000_000)) { [harness] in
            let adapter = try await Adapter.open(on: kernel)
            let scan = try await adapter.scan(ScanOptions(filter: .service(0x180D)))
            defer { withExtendedLifetime(scan) {} }
            let measurement = try await harness.measure(name, floor: .allocation) { count in
                try await radio.sleep(for: .milliseconds(10) * count)
            }
            await adapter.close()
            return measurement
        }
        radio.close()
        return measurement
    }
}
