import BluetoothGATT
import BluetoothLE
import BluetoothLinux
import Glibc
import LINBLE

/// Calls from the main actor, which is on the event loop unless the program was told otherwise.
@MainActor
func mainActorBenchmarks(_ harness: Harness) async throws -> Report.Section {
    let kernel = try LinuxKernel.shared
    let isOnLoop = kernel.loop.isCurrent
    let place = isOnLoop ? "from the main actor on the loop" : "from a plain main actor"
    let value = [UInt8](repeating: 0x55, count: 20)
    let properties: CharacteristicProperties = [.read, .writeWithoutResponse]
    let profile = UARTProfile.linble
    let services = [
        GATTService(
            profile.service,
            characteristics: [
                GATTCharacteristic(profile.toDevice, properties: properties, value: .stored(value)),
                GATTCharacteristic(profile.fromDevice, properties: .notify, value: .stored(value)),
            ]),
        GATTService(
            0x6000, characteristics: [GATTCharacteristic(0x5555, properties: properties, value: .stored(value))]),
    ]
    let link = try await Link.make(on: kernel, try AttributeDatabase(services))
    let client = link.client
    guard let characteristic = try await client.discover().last?.characteristics.first else {
        throw CallFailed(call: "discover", number: 0)
    }
    // A link without an adapter cannot be adapted.
    var options = UARTOptions()
    options.adaptsToTraffic = false
    let uart = try await UARTConnection.attach(to: client, options: options)
    let chunk = [UInt8](repeating: 0x55, count: await uart.maximumChunkLength)

    var section = Report.Section(title: "Calls from the main actor, ATT_MTU 247", measurements: [])
    func add(
        _ name: String, goal: Double, allocationGoal: Double, floor: Floor,
        _ body: @MainActor (Int) async throws -> Void
    ) async throws {
        var (calls, switches) = (0, 0)
        let measurement = try await harness.measure(
            "\(name), \(place)", goal: isOnLoop ? goal : nil, allocationGoal: allocationGoal + (isOnLoop ? 0 : 1),
            floor: floor
        ) { count in
            let before = threadSwitches()
            try await body(count)
            (calls, switches) = (calls + count, switches + threadSwitches() - before)
            // The response follows all commands.
            consume(try await client.read(characteristic).count)
        }
        section.measurements.append(measurement)
        guard measurement.isMeasured else { return }
        section.facts.append(
            Report.Fact(
                name: "thread switches of each \(measurement.name)", value: Double(switches) / Double(calls), unit: "",
                goal: isOnLoop ? 0.01 : nil))
    }
    try await add("read 20 bytes", goal: 1000, allocationGoal: 3.1, floor: .roundTrip) { count in
        for _ in 0..<count { consume(try await client.read(characteristic).count) }
    }
    try await add("write command of 20 bytes", goal: 230, allocationGoal: 2.1, floor: .oneWay) { count in
        for _ in 0..<count { try await client.writeCommand(value, to: characteristic) }
    }
    try await add(
        "UART chunk of \(chunk.count) bytes", goal: 320, allocationGoal: 3.1,
        floor: .oneWay(packetsOf: chunk.count + 3)
    ) { count in
        for _ in 0..<count { try await uart.send(chunk) }
    }
    await client.disconnect()
    return section
}

/// The voluntary changes of threads of this process so far.
private func threadSwitches() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_nvcsw
}
