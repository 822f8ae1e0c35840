import CoreBluetooth
import SimulatedKernel
import TestSupport
import Testing

@testable import CoreBluetoothCentral
@testable import CoreBluetoothPeripheral

@Suite struct ExampleTests {
    /// The two examples on one radio, each on a machine of its own.
    @Test func theExamplesTalkToEachOther() async throws {
        try await World.run { world in
            let told = Journal<String>()
            nonisolated(unsafe) let sensor = HeartRateSensor(queue: world.queue) { told.add("sensor: \($0)") }
            await world.wait(for: "sensor: advertising", in: told)
            let other = world.radio.makeKernel(adapters: [.fresh])
            await CBLinux.withKernel(other, hold: TimeHold(radio: world.radio)) {
                nonisolated(unsafe) let monitor = HeartRateMonitor(queue: world.queue) { told.add("monitor: \($0)") }
                await world.wait(for: "sensor: a central listens", in: told)
                await world.onQueue { sensor.beat() }
                let values = await told.wait(on: world.radio.loop) { $0.contains { $0.hasSuffix("beats per minute") } }
                #expect(values != nil)
                await world.wait(for: "monitor: worn on the wrist", in: told)
                await world.onQueue { monitor.stop() }
                await world.wait(for: "monitor: disconnected", in: told)
                await world.wait(for: "sensor: a central listens no more", in: told)
                let order = told.entries.filter { $0.hasPrefix("monitor") && !$0.hasSuffix("minute") }
                #expect(
                    order == [
                        "monitor: looking for a heart rate sensor", "monitor: found Pulse", "monitor: connected",
                        "monitor: worn on the wrist", "monitor: disconnected",
                    ])
            }
        }
    }
}
