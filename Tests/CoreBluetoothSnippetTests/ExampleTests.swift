import CoreBluetooth
import BluetoothSimulation
import TestSupport
import Testing

@testable import CoreBluetoothCentral
@testable import CoreBluetoothPeripheral

@Suite struct ExampleTests {
    /// The two examples on one radio, each on a machine of its own.
    @Test func theExamplesTalkToEachOther() async throws {
        try await Fixture.run { fixture in
            let told = Journal<String>()
            nonisolated(unsafe) let sensor = HeartRateSensor(queue: fixture.queue) { told.add("sensor: \($0)") }
            await fixture.wait(for: "sensor: advertising", in: told)
            let other = fixture.radio.makeKernel(adapters: [.fresh])
            await CBLinux.withKernel(other) {
                nonisolated(unsafe) let monitor = HeartRateMonitor(queue: fixture.queue) { told.add("monitor: \($0)") }
                await fixture.wait(for: "sensor: a central subscribed", in: told)
                await fixture.onQueue { sensor.beat() }
                let values = await told.wait(on: fixture.radio.loop) {
                    $0.contains { $0.hasSuffix("beats per minute") }
                }
                #expect(values != nil)
                await fixture.wait(for: "monitor: worn on the wrist", in: told)
                await fixture.onQueue { monitor.stop() }
                await fixture.wait(for: "monitor: disconnected", in: told)
                await fixture.wait(for: "sensor: a central unsubscribed", in: told)
                let order = told.entries.filter { $0.hasPrefix("monitor") && !$0.hasSuffix("minute") }
                #expect(
                    order == [
                        "monitor: scanning for a heart rate sensor", "monitor: found Pulse", "monitor: connected",
                        "monitor: worn on the wrist", "monitor: disconnected",
                    ])
            }
        }
    }
}
