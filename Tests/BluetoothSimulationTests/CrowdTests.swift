import BluetoothHCI
import BluetoothSimulation
import Testing

/// Radios with many devices.
@Suite(.timeLimit(.minutes(2))) struct CrowdTests {
    private struct Cost {
        /// The real time to add a device.
        var device: Duration
        /// The real time of an advertisement that a scanner hears.
        var report: Duration
    }

    /// Lets devices advertise for a time, heard by one scanner.
    private static func measure(deviceCount: Int, for time: Duration) async throws -> Cost {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()
        let clock = ContinuousClock()
        let advertisement = SimulatedAdvertisement(data: [2, 1, 6], interval: .milliseconds(10_240))
        let addition = clock.measure {
            for _ in 0..<deviceCount { SimulatedPeripheral(on: radio, advertisements: [advertisement]) }
        }
        let passing = try await radio.run(limit: time + .seconds(60)) {
            let scanner = try kernel.hci()
            _ = try await scanner.perform(extendedScan)
            _ = try await scanner.perform(LESetExtendedScanEnable(isEnabled: true))
            let start = clock.now
            try await radio.sleep(for: time)
            scanner.socket.close()
            return clock.now - start
        }
        let count = radio.statistics.advertisementsSent
        #expect(count >= deviceCount * Int(time / .seconds(11)))
        radio.close()
        return Cost(device: addition / deviceCount, report: passing / count)
    }

    @Test func aHundredThousandAdvertisersRunAVirtualMinuteAtTheCostOfTen() async throws {
        let few = try await Self.measure(deviceCount: 10, for: .seconds(20_000))
        let many = try await Self.measure(deviceCount: 10_000, for: .seconds(20))
        _ = try await Self.measure(deviceCount: 100_000, for: .seconds(60))
        // By the former walk of all devices for each report and each new device it was 30 and 100 times as much. The
        // rest is the processor's cache, and what else this machine does.
        #expect(many.report < few.report * 4 + .microseconds(5), "\(few), \(many)")
        #expect(many.device < few.device * 4 + .microseconds(5), "\(few), \(many)")
    }
}
